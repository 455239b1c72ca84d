; RUN: pewter-opt -passes=canonicalize %s | FileCheck %s
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; A counted loop over a private array unrolls whatever its size, so the array becomes values.
; CHECK-LABEL: define void @k(
; CHECK-NOT: alloca
; CHECK-NOT: br i1
; CHECK-COUNT-16: store float
define void @k(ptr addrspace(1) %a) {
entry:
  %y = alloca [16 x float], align 4
  br label %fill
fill:
  %i = phi i32 [ 0, %entry ], [ %i1, %fill ]
  %x = sext i32 %i to i64
  %from = getelementptr inbounds float, ptr addrspace(1) %a, i64 %x
  %v = load float, ptr addrspace(1) %from
  %to = getelementptr inbounds [16 x float], ptr %y, i64 0, i64 %x
  store float %v, ptr %to
  %i1 = add nsw i32 %i, 1
  %more = icmp slt i32 %i1, 16
  br i1 %more, label %fill, label %drain
drain:
  %j = phi i32 [ 0, %fill ], [ %j1, %drain ]
  %z = sext i32 %j to i64
  %at = getelementptr inbounds [16 x float], ptr %y, i64 0, i64 %z
  %w = load float, ptr %at
  %d = fmul float %w, 2.0
  %out = getelementptr inbounds float, ptr addrspace(1) %a, i64 %z
  store float %d, ptr addrspace(1) %out
  %j1 = add nsw i32 %j, 1
  %on = icmp slt i32 %j1, 16
  br i1 %on, label %drain, label %done
done:
  ret void
}
!air.kernel = !{!0}
!0 = !{ptr @k, !1, !2}
!1 = !{}
!2 = !{!3}
!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_name", !"float", !"air.arg_name", !"a"}
