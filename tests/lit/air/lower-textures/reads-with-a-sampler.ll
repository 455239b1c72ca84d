; RUN: pewter-opt -passes='lower-textures,function(instsimplify)' %s | FileCheck %s
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; AIR 2.8 gives a read a sampler, which says nothing, and an offset.
; CHECK-LABEL: define void @k(
; CHECK-NOT: get_read_sampler
; CHECK: add i32 %x, 1
; CHECK-NOT: air.read_texture
define void @k(ptr addrspace(1) %t, ptr addrspace(1) %a, <2 x i32> %at, i32 %x, ptr addrspace(1) %out) {
  %s = call ptr addrspace(2) @air.get_read_sampler()
  %place = insertelement <2 x i32> %at, i32 %x, i64 0
  %r = call { <4 x float>, i8 } @air.read_texture_2d.v4f32(ptr addrspace(1) %t, ptr addrspace(2) %s, <2 x i32> %place, <2 x i32> <i32 1, i32 0>, i32 0, i32 1)
  %v = extractvalue { <4 x float>, i8 } %r, 0
  %q = call { <4 x float>, i8 } @air.read_texture_2d_array.v4f32(ptr addrspace(1) %a, ptr addrspace(2) %s, <2 x i32> %place, i32 3, <2 x i32> zeroinitializer, i32 0, i32 1)
  %w = extractvalue { <4 x float>, i8 } %q, 0
  %sum = fadd <4 x float> %v, %w
  store <4 x float> %sum, ptr addrspace(1) %out
  ret void
}
declare ptr addrspace(2) @air.get_read_sampler()
declare { <4 x float>, i8 } @air.read_texture_2d.v4f32(ptr addrspace(1), ptr addrspace(2), <2 x i32>, <2 x i32>, i32, i32)
declare { <4 x float>, i8 } @air.read_texture_2d_array.v4f32(ptr addrspace(1), ptr addrspace(2), <2 x i32>, i32, <2 x i32>, i32, i32)
