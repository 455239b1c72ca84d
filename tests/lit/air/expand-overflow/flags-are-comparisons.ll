; RUN: pewter-opt -passes=expand-overflow %s | FileCheck %s

; CHECK-LABEL: define i1 @signed_sum(
; CHECK: %[[SUM:.*]] = add i32 %a, %b
; CHECK: icmp slt i32
; CHECK-NOT: with.overflow
define i1 @signed_sum(i32 %a, i32 %b, ptr %to) {
  %both = call { i32, i1 } @llvm.sadd.with.overflow.i32(i32 %a, i32 %b)
  %sum = extractvalue { i32, i1 } %both, 0
  %flag = extractvalue { i32, i1 } %both, 1
  store i32 %sum, ptr %to
  ret i1 %flag
}

; CHECK-LABEL: define i1 @difference(
; CHECK: icmp ult i16 %a, %b
define i1 @difference(i16 %a, i16 %b) {
  %both = call { i16, i1 } @llvm.usub.with.overflow.i16(i16 %a, i16 %b)
  %flag = extractvalue { i16, i1 } %both, 1
  ret i1 %flag
}

; Both results in one value.
; CHECK-LABEL: define { i32, i1 } @product(
; CHECK: mul i64
; CHECK: insertvalue
define { i32, i1 } @product(i32 %a, i32 %b) {
  %both = call { i32, i1 } @llvm.umul.with.overflow.i32(i32 %a, i32 %b)
  ret { i32, i1 } %both
}
