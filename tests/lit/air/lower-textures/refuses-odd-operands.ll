; RUN: not pewter-opt -passes=lower-textures %s 2>&1 | FileCheck %s
; CHECK: Kernel "k" calls "air.write_texture_2d.v4f32" with operands that are not supported.
define void @k(ptr addrspace(1) %t) {
  call void @air.write_texture_2d.v4f32(ptr addrspace(1) %t, <3 x i32> zeroinitializer, <4 x float> zeroinitializer, i32 0, i32 2)
  ret void
}
declare void @air.write_texture_2d.v4f32(ptr addrspace(1), <3 x i32>, <4 x float>, i32, i32)
