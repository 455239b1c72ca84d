; RUN: pewter-opt -passes=strip-untrusted %s | FileCheck %s
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; Buffers may be bound twice, infinities are used, blocks are read through other types.
; CHECK-LABEL: define void @k(ptr addrspace(1) %a, ptr addrspace(2) %c)
; CHECK-SAME: #[[KERNEL:[0-9]+]] {
define void @k(ptr addrspace(1) noalias noundef "air-buffer-no-alias" %a, ptr addrspace(2) dereferenceable(4) %c) #0 {
; CHECK: %x = load float, ptr addrspace(1) %a, align 4
; CHECK-NOT: !tbaa
; CHECK-NOT: !alias.scope
  %x = load float, ptr addrspace(1) %a, align 4, !tbaa !0, !alias.scope !3, !noalias !3
; CHECK: %y = load float, ptr addrspace(2) %c, align 4, !invariant.load
  %y = load float, ptr addrspace(2) %c, align 4, !tbaa !0
; CHECK: %m = fmul reassoc nsz arcp contract afn float %x, %y
  %m = fmul fast float %x, %y
; CHECK: %t = fcmp reassoc nsz arcp contract afn oeq float %m, 0xFFF0000000000000
  %t = fcmp fast oeq float %m, 0xFFF0000000000000
; CHECK: %s = fadd float %m, %x
  %s = fadd nnan float %m, %x
; CHECK: %r = call reassoc nsz arcp contract afn float @air.simd_sum.f32(float %s){{$}}
  %r = tail call fast float @air.simd_sum.f32(float noundef %s) #1
; CHECK: store i32 32,
  %w = call i32 @air.get_simdgroup_size.i32()
  store i32 %w, ptr addrspace(1) %a
  call void @llvm.assume(i1 %t)
  ret void
}
; CHECK: declare float @air.simd_sum.f32(float) #[[LANES:[0-9]+]]
declare float @air.simd_sum.f32(float) #1
declare i32 @air.get_simdgroup_size.i32()
declare void @llvm.assume(i1)
; CHECK: attributes #[[KERNEL]] = { convergent nounwind "no-builtins" }
; CHECK: attributes #[[LANES]] = { convergent nocallback nounwind willreturn memory(none) }
attributes #0 = { convergent mustprogress "unsafe-fp-math"="true" "no-nans-fp-math"="true" }
attributes #1 = { convergent nounwind willreturn }
!0 = !{!1, !1, i64 0}
!1 = !{!"float", !2, i64 0}
!2 = !{!"root"}
!3 = !{!4}
!4 = distinct !{!4, !5}
!5 = distinct !{!5}
