; RUN: pewter-opt -passes=inline-helpers %s | FileCheck %s
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; The barrier of the innermost helper ends up in the kernel, and no helper is left.
; CHECK-NOT: define internal
; CHECK-LABEL: define void @k
; CHECK-COUNT-2: call void @air.wg.barrier
; CHECK-NOT: call void @outer
define void @k(ptr addrspace(1) %a) {
  call void @outer(ptr addrspace(1) %a)
  call void @outer(ptr addrspace(1) %a)
  ret void
}
define internal fastcc void @inner(ptr addrspace(1) %a) noinline optnone {
  call void @air.wg.barrier(i32 2, i32 1)
  ret void
}
define internal void @outer(ptr addrspace(1) %a) {
  call fastcc void @inner(ptr addrspace(1) %a)
  ret void
}
declare void @air.wg.barrier(i32, i32)
