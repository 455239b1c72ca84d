; RUN: pewter-opt -passes=expand-memory %s | FileCheck %s
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; Elements are as wide as those of the private array, whatever the alignment would allow.
; CHECK-LABEL: define void @copy(
; CHECK-COUNT-4: load i16, ptr addrspace(1)
; CHECK-COUNT-4: store i16
; CHECK-NOT: call void @llvm.memcpy
define void @copy(ptr addrspace(1) %from) {
  %array = alloca [4 x half], align 8
  call void @llvm.memcpy.p0.p1.i64(ptr align 8 %array, ptr addrspace(1) align 8 %from, i64 8, i1 false)
  ret void
}

; CHECK-LABEL: define void @set(
; CHECK-COUNT-3: store i32 16843009, ptr
; CHECK-NOT: call void @llvm.memset
define void @set() {
  %array = alloca [3 x float], align 4
  call void @llvm.memset.p0.i64(ptr align 4 %array, i8 1, i64 12, i1 false)
  ret void
}

; An overlapping move loads everything before it stores anything.
; CHECK-LABEL: define void @move(
; CHECK-COUNT-2: load i32
; CHECK-COUNT-2: store i32
; CHECK-NOT: call void @llvm.memmove
define void @move(ptr addrspace(3) %p) {
  %q = getelementptr i8, ptr addrspace(3) %p, i64 4
  call void @llvm.memmove.p3.p3.i64(ptr addrspace(3) align 4 %q, ptr addrspace(3) align 4 %p, i64 8, i1 false)
  ret void
}

; CHECK-LABEL: define void @long(
; CHECK: br i1
; CHECK: phi i64
; CHECK-NOT: call void @llvm.memcpy
define void @long(ptr addrspace(1) %a, ptr addrspace(1) %b, i64 %n) {
  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) %a, ptr addrspace(1) %b, i64 %n, i1 false)
  ret void
}
