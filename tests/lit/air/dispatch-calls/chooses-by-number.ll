; RUN: pewter-opt -passes=dispatch-calls %s | FileCheck %s
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; Functions of the call's type, in the table's order, then those whose address is taken. Others are no choice,
; and what fits no number gives zero.
; CHECK-LABEL: define void @k
; CHECK: switch i64 {{.*}}, label %[[NONE:.*]] [
; CHECK-NEXT: i64 1, label
; CHECK-NEXT: i64 4294967296, label
; CHECK-NEXT: ]
; CHECK: phi float
; CHECK-SAME: [ 0.000000e+00, %[[NONE]] ]
; CHECK-NOT: define
define void @k(ptr addrspace(1) %out, ptr addrspace(2) %table, float %x, i1 %own) {
  %word = load i64, ptr addrspace(2) %table, align 8
  %entry = inttoptr i64 %word to ptr
  %f = select i1 %own, ptr @third, ptr %entry
  %y = call float %f(float %x)
  store float %y, ptr addrspace(1) %out, align 4
  ret void
}
define float @first(float %x) {
  %y = fadd float %x, 1.000000e+00
  ret float %y
}
define i32 @second(i32 %x) {
  ret i32 %x
}
define internal float @third(float %x) {
  %y = fmul float %x, 3.000000e+00
  ret float %y
}
!air.kernel = !{!0}
!pewter.table = !{!7, !8}
!0 = !{ptr @k, !1, !2}
!1 = !{}
!2 = !{!3, !4, !5, !6}
!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_name", !"float", !"air.arg_name", !"out"}
!4 = !{i32 1, !"air.visible_function_table", !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 2, !"air.arg_type_name", !"visible_function_table<float(float)>", !"air.arg_name", !"table"}
!5 = !{i32 2, !"air.other", !"air.arg_type_name", !"float", !"air.arg_name", !"x"}
!6 = !{i32 3, !"air.other", !"air.arg_type_name", !"bool", !"air.arg_name", !"own"}
!7 = !{ptr @first}
!8 = !{ptr @second}
