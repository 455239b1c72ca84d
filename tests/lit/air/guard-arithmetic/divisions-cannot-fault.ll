; RUN: pewter-opt -passes=guard-arithmetic %s | FileCheck %s
; RUN: pewter-opt -passes=guard-arithmetic,guard-arithmetic %s | FileCheck %s
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; CHECK-LABEL: define i32 @signed(
; CHECK: [[D:%.*]] = freeze i32 %d
; CHECK: [[ZERO:%.*]] = icmp eq i32 [[D]], 0
; CHECK: [[MINUS:%.*]] = icmp eq i32 [[D]], -1
; CHECK: [[BAD:%.*]] = or i1 [[ZERO]], [[MINUS]]
; CHECK: [[SAFE:%.*]] = select i1 [[BAD]], i32 1, i32 [[D]]
; CHECK: %q = sdiv i32 %x, [[SAFE]], !pewter.guarded
; CHECK: [[NEG:%.*]] = sub i32 0, %x
; CHECK: [[R:%.*]] = select i1 [[MINUS]], i32 [[NEG]], i32 %q
; CHECK: ret i32 [[R]]
define i32 @signed(i32 %x, i32 %d) {
  %q = sdiv i32 %x, %d
  ret i32 %q
}

; CHECK-LABEL: define i32 @signed_remainder(
; CHECK: %q = srem i32 %x,
; CHECK: select i1 {{%.*}}, i32 0, i32 %q
define i32 @signed_remainder(i32 %x, i32 noundef %d) {
  %q = srem i32 %x, %d
  ret i32 %q
}

; CHECK-LABEL: define <2 x i16> @vector(
; CHECK: [[ZERO:%.*]] = icmp eq <2 x i16> %d, zeroinitializer
; CHECK: [[SAFE:%.*]] = select <2 x i1> [[ZERO]], <2 x i16> splat (i16 1), <2 x i16> %d
; CHECK: %q = udiv <2 x i16> %x, [[SAFE]]
define <2 x i16> @vector(<2 x i16> %x, <2 x i16> noundef %d) {
  %q = udiv exact <2 x i16> %x, %d
  ret <2 x i16> %q
}

; What is safe already stays as it is.
; CHECK-LABEL: define i32 @safe(
; CHECK-NEXT: %a = sdiv i32 %x, 7
; CHECK-NEXT: %o = or i32 %d, 1
; CHECK-NEXT: %b = udiv i32 %a, %o
; CHECK-NEXT: ret i32 %b
define i32 @safe(i32 %x, i32 noundef %d) {
  %a = sdiv i32 %x, 7
  %o = or i32 %d, 1
  %b = udiv i32 %a, %o
  ret i32 %b
}

; Division by the constant -1 overflows for one dividend.
; CHECK-LABEL: define i32 @minus_one(
; CHECK: sub i32 0, %x
define i32 @minus_one(i32 %x) {
  %q = sdiv i32 %x, -1
  ret i32 %q
}
