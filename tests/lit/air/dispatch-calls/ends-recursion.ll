; RUN: pewter-opt -passes=dispatch-calls %s | FileCheck %s
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; A function that calls through the table it stands in is inlined once; within it, it is no choice any more.
; CHECK-LABEL: define void @k
; CHECK-COUNT-2: switch i64
; CHECK-NOT: switch i64
; CHECK-NOT: call i32
; CHECK-NOT: define
define void @k(ptr addrspace(1) %out, ptr addrspace(2) %table) {
  %word = load i64, ptr addrspace(2) %table, align 8
  %f = inttoptr i64 %word to ptr
  %y = call i32 %f(i32 5, ptr addrspace(2) %table)
  store i32 %y, ptr addrspace(1) %out, align 4
  ret void
}
define i32 @down(i32 %n, ptr addrspace(2) %table) {
  %word = load i64, ptr addrspace(2) %table, align 8
  %f = inttoptr i64 %word to ptr
  %less = sub i32 %n, 1
  %y = call i32 %f(i32 %less, ptr addrspace(2) %table)
  %z = add i32 %y, %n
  ret i32 %z
}
!air.kernel = !{!0}
!pewter.table = !{!5}
!0 = !{ptr @k, !1, !2}
!1 = !{}
!2 = !{!3, !4}
!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_name", !"int", !"air.arg_name", !"out"}
!4 = !{i32 1, !"air.visible_function_table", !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 2, !"air.arg_type_name", !"t", !"air.arg_name", !"table"}
!5 = !{ptr @down}
