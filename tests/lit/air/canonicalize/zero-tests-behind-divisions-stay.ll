; RUN: pewter-opt -passes=canonicalize %s | FileCheck %s
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; The program divides first and asks for zero afterwards; Metal defines that, LLVM does not.
; CHECK-LABEL: define void @k(
; CHECK: icmp eq i32 {{.*}}, 0
; CHECK: store i32
define void @k(ptr addrspace(1) %a, ptr addrspace(2) %n) {
  %d = load i32, ptr addrspace(2) %n
  %x = load i32, ptr addrspace(1) %a
  %q = udiv i32 %x, %d
  %z = icmp eq i32 %d, 0
  %r = select i1 %z, i32 99, i32 %q
  store i32 %r, ptr addrspace(1) %a
  ret void
}
!air.kernel = !{!0}
!0 = !{ptr @k, !1, !2}
!1 = !{}
!2 = !{!3, !4}
!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_name", !"int", !"air.arg_name", !"a"}
!4 = !{i32 1, !"air.buffer", !"air.buffer_size", i32 4, !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 2, !"air.arg_type_name", !"int", !"air.arg_name", !"n"}
