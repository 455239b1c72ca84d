; RUN: not pewter-opt -passes=specialize-constants %s 2>&1 | FileCheck %s
; CHECK: Static initialiser "init" of kernel "k" cannot be evaluated
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @init, ptr null }]
define internal void @init() {
  br label %loop
loop:
  br label %loop
}
define void @k() { ret void }
!air.kernel = !{!0}
!0 = !{ptr @k, !1, !1}
!1 = !{}
