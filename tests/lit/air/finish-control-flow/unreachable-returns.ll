; RUN: pewter-opt -passes=finish-control-flow %s | FileCheck %s
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; CHECK-LABEL: define void @k(
; CHECK-NOT: unreachable
; CHECK-NOT: llvm.assume
; CHECK-NOT: llvm.lifetime
; CHECK-COUNT-2: ret void
define void @k(i1 %c) {
  %a = alloca i32
  call void @llvm.lifetime.start.p0(ptr %a)
  call void @llvm.assume(i1 %c)
  br i1 %c, label %one, label %two
one:
  ret void
two:
  unreachable
}
