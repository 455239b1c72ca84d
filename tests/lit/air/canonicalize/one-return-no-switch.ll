; RUN: pewter-opt -passes=canonicalize %s | FileCheck %s
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; CHECK-LABEL: define void @k(
; CHECK-NOT: switch
; CHECK: ret void
; CHECK-NOT: ret void
define void @k(ptr addrspace(1) %a, i32 %n) {
  switch i32 %n, label %other [
    i32 0, label %zero
    i32 1, label %one
    i32 5, label %five
  ]
zero:
  store i32 10, ptr addrspace(1) %a
  ret void
one:
  store i16 11, ptr addrspace(1) %a
  ret void
five:
  store i8 12, ptr addrspace(1) %a
  ret void
other:
  unreachable
}
!air.kernel = !{!0}
!0 = !{ptr @k, !1, !2}
!1 = !{}
!2 = !{!3, !4}
!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_name", !"int", !"air.arg_name", !"a"}
!4 = !{i32 1, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"n"}
