; RUN: pewter-opt -passes=guard-arithmetic %s | FileCheck %s
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; CHECK-LABEL: define i32 @shift(
; CHECK: [[N:%.*]] = and i32 %n, 31
; CHECK: %r = shl i32 %x, [[N]]
define i32 @shift(i32 %x, i32 %n) {
  %r = shl i32 %x, %n
  ret i32 %r
}

; CHECK-LABEL: define <2 x i64> @wide(
; CHECK: and <2 x i64> %n, splat (i64 63)
define <2 x i64> @wide(<2 x i64> %x, <2 x i64> %n) {
  %r = ashr <2 x i64> %x, %n
  ret <2 x i64> %r
}

; CHECK-LABEL: define i32 @bounded(
; CHECK-NEXT: %m = and i32 %n, 7
; CHECK-NEXT: %r = lshr i32 %x, %m
define i32 @bounded(i32 %x, i32 %n) {
  %m = and i32 %n, 7
  %r = lshr i32 %x, %m
  ret i32 %r
}

; CHECK-LABEL: define i32 @convert(
; CHECK: call i32 @llvm.fptosi.sat.i32.f32(float %x)
define i32 @convert(float %x) {
  %r = fptosi float %x to i32
  ret i32 %r
}

; CHECK-LABEL: define <4 x i8> @convert_vector(
; CHECK: call <4 x i8> @llvm.fptoui.sat.v4i8.v4f16(<4 x half> %x)
define <4 x i8> @convert_vector(<4 x half> %x) {
  %r = fptoui <4 x half> %x to <4 x i8>
  ret <4 x i8> %r
}
