; RUN: pewter-opt -passes=strip-untrusted %s | FileCheck %s
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; A barrier that claims to touch no memory is not believed; an atomic touches its own pointer only.
define void @k(ptr addrspace(1) %a) {
  call void @air.wg.barrier(i32 2, i32 1)
  %o = call i32 @air.atomic.global.add.u.i32(ptr addrspace(1) %a, i32 1, i32 0, i32 2, i1 true)
  %e = call float @air.exp.f32(float 1.0)
  ret void
}
; CHECK: declare void @air.wg.barrier(i32, i32) #[[BARRIER:[0-9]+]]
declare void @air.wg.barrier(i32, i32) #0
; CHECK: declare i32 @air.atomic.global.add.u.i32({{.*}}) #[[ATOMIC:[0-9]+]]
declare i32 @air.atomic.global.add.u.i32(ptr addrspace(1), i32, i32, i32, i1) #0
; CHECK: declare float @air.exp.f32(float) #[[MATH:[0-9]+]]
declare float @air.exp.f32(float) #1
; CHECK: attributes #[[BARRIER]] = { convergent nocallback nounwind willreturn }
; CHECK: attributes #[[ATOMIC]] = { nocallback nounwind willreturn memory(argmem: readwrite) }
; CHECK: attributes #[[MATH]] = { nocallback nounwind willreturn memory(none) }
attributes #0 = { memory(none) }
attributes #1 = { convergent }
