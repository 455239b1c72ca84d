; RUN: pewter-opt -passes='lower-textures,function(simplifycfg)' %s | FileCheck %s
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; The runtime binds an argument, so it is not null; a texture of an argument buffer may be. Descriptors do not
; change, texels may.
; CHECK-LABEL: define void @argument(ptr addrspace(1) nonnull %t, ptr addrspace(1) %out)
; CHECK-NOT: call
; CHECK: load i32, ptr addrspace(1) {{.*}}, !invariant.load
define void @argument(ptr addrspace(1) %t, ptr addrspace(1) %out) {
  %w = call i32 @air.get_width_texture_2d(ptr addrspace(1) %t, i32 0)
  store i32 %w, ptr addrspace(1) %out
  ret void
}
; CHECK-LABEL: define void @loaded(ptr addrspace(2) %bundle, ptr addrspace(1) %out)
; CHECK: icmp eq ptr addrspace(1) %t, null
define void @loaded(ptr addrspace(2) %bundle, ptr addrspace(1) %out) {
  %t = load ptr addrspace(1), ptr addrspace(2) %bundle
  %r = call { <4 x float>, i8 } @air.read_texture_2d.v4f32(ptr addrspace(1) %t, <2 x i32> zeroinitializer, i32 0, i32 1)
  %v = extractvalue { <4 x float>, i8 } %r, 0
  store <4 x float> %v, ptr addrspace(1) %out
  ret void
}
declare i32 @air.get_width_texture_2d(ptr addrspace(1), i32)
declare { <4 x float>, i8 } @air.read_texture_2d.v4f32(ptr addrspace(1), <2 x i32>, i32, i32)
