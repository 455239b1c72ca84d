// SPDX-License-Identifier: Apache-2.0
//
// Integer operations, and all/any/select of booleans. Products of 64-bit operands are made of 32-bit
// halves, because a 128-bit type has no vector form on any machine.
#include "air/ir/MathCall.h"

namespace pewter::air::ir {
using namespace llvm;

namespace {

unsigned widthOf(Value *value) { return value->getType()->getScalarSizeInBits(); }

Value *lowest(MathCall &math, Value *a, Value *b) {
  return math.intrinsic(math.name.isUnsigned() ? Intrinsic::umin : Intrinsic::smin, {a, b});
}
Value *highest(MathCall &math, Value *a, Value *b) {
  return math.intrinsic(math.name.isUnsigned() ? Intrinsic::umax : Intrinsic::smax, {a, b});
}

Value *widened(MathCall &math, Value *value) {
  Type *wide = withElement(value->getType(), math.build.getIntNTy(2 * widthOf(value)));
  return math.name.isUnsigned() ? math.build.CreateZExt(value, wide)
                                : math.build.CreateSExt(value, wide);
}

/// The high 64 bits of the product of two 64-bit values.
Value *highProduct64(MathCall &math, Value *a, Value *b) {
  IRBuilder<> &build = math.build;
  auto low = [&](Value *x) { return build.CreateAnd(x, math.integer(x, 0xffffffff)); };
  auto high = [&](Value *x) { return build.CreateLShr(x, math.integer(x, 32)); };
  Value *al = low(a), *ah = high(a), *bl = low(b), *bh = high(b);
  Value *middle = build.CreateAdd(build.CreateMul(ah, bl), high(build.CreateMul(al, bl)));
  Value *other = build.CreateAdd(build.CreateMul(al, bh), low(middle));
  Value *top = build.CreateAdd(build.CreateMul(ah, bh), high(middle));
  top = build.CreateAdd(top, high(other));
  if (math.name.isUnsigned())
    return top;
  // A negative factor counts as 2^64 more than it is.
  Value *sixtyThree = math.integer(a, 63);
  top = build.CreateSub(top, build.CreateAnd(build.CreateAShr(a, sixtyThree), b));
  return build.CreateSub(top, build.CreateAnd(build.CreateAShr(b, sixtyThree), a));
}

Value *highProduct(MathCall &math, Value *a, Value *b) {
  if (widthOf(a) == 64)
    return highProduct64(math, a, b);
  IRBuilder<> &build = math.build;
  Value *product = build.CreateMul(widened(math, a), widened(math, b));
  return build.CreateTrunc(build.CreateLShr(product, math.integer(product, widthOf(a))),
                           a->getType());
}

Value *saturatedMultiplyAdd(MathCall &math, Value *a, Value *b, Value *c) {
  IRBuilder<> &build = math.build;
  unsigned width = widthOf(a);
  bool isUnsigned = math.name.isUnsigned();
  APInt least = isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width);
  APInt most = isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  Value *leastValue = ConstantInt::get(a->getType(), least);
  Value *mostValue = ConstantInt::get(a->getType(), most);
  if (width < 64) {
    Value *sum = build.CreateAdd(build.CreateMul(widened(math, a), widened(math, b)),
                                 widened(math, c));
    sum = lowest(math, sum, widened(math, mostValue));
    sum = highest(math, sum, widened(math, leastValue));
    return build.CreateTrunc(sum, a->getType());
  }
  Value *low = build.CreateMul(a, b), *high = highProduct64(math, a, b);
  Value *sum = build.CreateAdd(low, c);
  Value *carry = build.CreateZExt(build.CreateICmpULT(sum, low), a->getType());
  high = build.CreateAdd(high, carry);
  if (isUnsigned)
    return math.select(build.CreateICmpEQ(high, math.integer(high, 0)), sum, mostValue);
  high = build.CreateAdd(high, build.CreateAShr(c, math.integer(c, 63)));
  Value *fits = build.CreateICmpEQ(high, build.CreateAShr(sum, math.integer(sum, 63)));
  Value *limit = math.select(build.CreateICmpSLT(high, math.integer(high, 0)), leastValue, mostValue);
  return math.select(fits, sum, limit);
}

/// Offset and count as values of x's type, within its width so that no shift is out of range.
Value *bitPosition(MathCall &math, Value *x, Value *amount) {
  amount = math.spread(amount, x->getType());
  return math.build.CreateZExtOrTrunc(amount, x->getType());
}
Value *shiftedLeft(MathCall &math, Value *x, Value *by) {
  Value *inside = math.build.CreateICmpULT(by, math.integer(by, widthOf(x)));
  Value *safe = math.select(inside, by, math.integer(by, 0));
  return math.select(inside, math.build.CreateShl(x, safe), math.integer(x, 0));
}
Value *shiftedRight(MathCall &math, Value *x, Value *by, bool arithmetic) {
  Value *last = math.integer(by, widthOf(x) - 1);
  Value *inside = math.build.CreateICmpULE(by, last);
  Value *safe = math.select(inside, by, last);
  if (arithmetic)
    return math.build.CreateAShr(x, safe);
  return math.select(inside, math.build.CreateLShr(x, safe), math.integer(x, 0));
}

Value *extractBits(MathCall &math, Value *x, Value *offset, Value *count) {
  IRBuilder<> &build = math.build;
  offset = bitPosition(math, x, offset);
  count = bitPosition(math, x, count);
  // Up against the top, then down again with the sign or zeros.
  Value *width = math.integer(x, widthOf(x));
  Value *above = build.CreateSub(build.CreateSub(width, offset), count);
  Value *top = shiftedLeft(math, x, above);
  Value *result = shiftedRight(math, top, build.CreateSub(width, count), !math.name.isUnsigned());
  return math.select(build.CreateICmpEQ(count, math.integer(x, 0)), math.integer(x, 0), result);
}

Value *insertBits(MathCall &math, Value *base, Value *inserted, Value *offset, Value *count) {
  IRBuilder<> &build = math.build;
  offset = bitPosition(math, base, offset);
  count = bitPosition(math, base, count);
  Value *ones = shiftedLeft(math, ConstantInt::getAllOnesValue(base->getType()), count);
  Value *mask = shiftedLeft(math, build.CreateNot(ones), offset);
  Value *bits = build.CreateAnd(shiftedLeft(math, inserted, offset), mask);
  return build.CreateOr(build.CreateAnd(base, build.CreateNot(mask)), bits);
}

Value *absoluteDifference(MathCall &math, Value *a, Value *b) {
  return math.build.CreateSub(highest(math, a, b), lowest(math, a, b));
}

/// all and any of a boolean vector.
Value *reduceBooleans(MathCall &math, bool all) {
  auto *vector = dyn_cast<FixedVectorType>(math.arg(0)->getType());
  Value *result = math.component(math.arg(0), 0);
  for (unsigned i = 1; vector && i < vector->getNumElements(); ++i) {
    Value *next = math.component(math.arg(0), static_cast<int>(i));
    result = all ? math.build.CreateAnd(result, next) : math.build.CreateOr(result, next);
  }
  return result;
}

Value *lowerUnary(MathCall &math, Value *x) {
  IRBuilder<> &build = math.build;
  StringRef operation = math.name.operation;
  if (operation == "abs")
    return math.name.isUnsigned() ? x : build.CreateBinaryIntrinsic(Intrinsic::abs, x, build.getFalse());
  if (operation == "popcount")
    return math.intrinsic(Intrinsic::ctpop, {x});
  if (operation == "reverse_bits")
    return math.intrinsic(Intrinsic::bitreverse, {x});
  return nullptr;
}

Value *lowerBinary(MathCall &math, Value *a, Value *b) {
  IRBuilder<> &build = math.build;
  StringRef operation = math.name.operation;
  bool isUnsigned = math.name.isUnsigned();
  if (operation == "min")
    return lowest(math, a, b);
  if (operation == "max")
    return highest(math, a, b);
  if (operation == "abs_diff" || operation == "absdiff")
    return absoluteDifference(math, a, b);
  if (operation == "add_sat" || operation == "addsat")
    return math.intrinsic(isUnsigned ? Intrinsic::uadd_sat : Intrinsic::sadd_sat, {a, b});
  if (operation == "sub_sat" || operation == "subsat")
    return math.intrinsic(isUnsigned ? Intrinsic::usub_sat : Intrinsic::ssub_sat, {a, b});
  if (operation == "mul_hi" || operation == "mulhi")
    return highProduct(math, a, b);
  if (operation == "rotate")
    return math.intrinsic(Intrinsic::fshl, {a, a, b});
  if (operation == "mul24")
    return build.CreateMul(a, b);
  bool up = operation == "rhadd";
  if (operation == "hadd" || up) {
    Value *common = up ? build.CreateOr(a, b) : build.CreateAnd(a, b);
    Value *different = build.CreateXor(a, b), *one = math.integer(a, 1);
    Value *half = isUnsigned ? build.CreateLShr(different, one) : build.CreateAShr(different, one);
    return up ? build.CreateSub(common, half) : build.CreateAdd(common, half);
  }
  return nullptr;
}

Value *lowerTernary(MathCall &math, Value *a, Value *b, Value *c) {
  StringRef operation = math.name.operation;
  if (operation == "clamp")
    return lowest(math, highest(math, a, b), c);
  if (operation == "min3")
    return lowest(math, lowest(math, a, b), c);
  if (operation == "max3")
    return highest(math, highest(math, a, b), c);
  if (operation == "median3")
    return highest(math, lowest(math, a, b), lowest(math, highest(math, a, b), c));
  if (operation == "mad_hi" || operation == "madhi")
    return math.build.CreateAdd(highProduct(math, a, b), c);
  if (operation == "mad_sat" || operation == "madsat")
    return saturatedMultiplyAdd(math, a, b, c);
  if (operation == "mad24")
    return math.build.CreateAdd(math.build.CreateMul(a, b), c);
  return nullptr;
}

} // namespace

Value *lowerIntegerOperation(MathCall &math) {
  StringRef operation = math.name.operation;
  if (operation == "get_simdgroup_size" && math.count() == 0 && math.type()->isIntegerTy())
    return ConstantInt::get(math.type(), 32);
  if (math.count() == 0 || !math.arg(0)->getType()->isIntOrIntVectorTy() ||
      !math.type()->isIntOrIntVectorTy())
    return nullptr;
  if ((operation == "all" || operation == "any") && math.type()->isIntegerTy(1) &&
      widthOf(math.arg(0)) == 1)
    return reduceBooleans(math, operation == "all");
  if (math.type() != math.arg(0)->getType())
    return nullptr;
  if ((operation == "clz" || operation == "ctz") && math.count() <= 2)
    return math.build.CreateBinaryIntrinsic(operation == "clz" ? Intrinsic::ctlz : Intrinsic::cttz,
                                            math.arg(0), math.build.getFalse());
  if (operation == "extract_bits" && math.count() == 3)
    return extractBits(math, math.arg(0), math.arg(1), math.arg(2));
  if (operation == "insert_bits" && math.count() == 4)
    return insertBits(math, math.arg(0), math.arg(1), math.arg(2), math.arg(3));
  if (operation == "select" && math.count() == 3 && widthOf(math.arg(2)) == 1)
    return math.select(math.arg(2), math.arg(1), math.arg(0));
  for (Value *value : math.call.args())
    if (value->getType() != math.type())
      return nullptr;
  switch (math.count()) {
  case 1:
    return lowerUnary(math, math.arg(0));
  case 2:
    return lowerBinary(math, math.arg(0), math.arg(1));
  case 3:
    return lowerTernary(math, math.arg(0), math.arg(1), math.arg(2));
  default:
    return nullptr;
  }
}

} // namespace pewter::air::ir
