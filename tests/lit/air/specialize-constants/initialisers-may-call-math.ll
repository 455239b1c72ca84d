; RUN: pewter-opt -passes=specialize-constants -constant=0=9 %s | FileCheck %s
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; CHECK: @root = internal addrspace(2) constant float 3.000000e+00
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @init, ptr null }]
@root = internal addrspace(2) global float undef
@n.MTL_FC_INIT_0_i = internal addrspace(2) externally_initialized constant i32 undef, section "air.fc_initializer"
define internal void @init() {
  %n = load i32, ptr addrspace(2) @n.MTL_FC_INIT_0_i
  %f = call float @air.convert.f.f32.s.i32(i32 %n)
  %r = call float @air.sqrt.f32(float %f)
  store float %r, ptr addrspace(2) @root
  ret void
}
define void @k(ptr addrspace(1) %out) {
  %v = load float, ptr addrspace(2) @root
  store float %v, ptr addrspace(1) %out
  ret void
}
declare float @air.convert.f.f32.s.i32(i32)
declare float @air.sqrt.f32(float)
!air.kernel = !{!0}
!air.function_constants = !{!4}
!0 = !{ptr @k, !1, !2}
!1 = !{}
!2 = !{!3}
!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_name", !"float", !"air.arg_name", !"out"}
!4 = !{ptr addrspace(2) @n.MTL_FC_INIT_0_i, !"int", !"n", i32 0}
