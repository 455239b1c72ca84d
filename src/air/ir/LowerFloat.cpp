// SPDX-License-Identifier: Apache-2.0
//
// Float operations: math, relational and geometric. An operation whose library function works on f32
// serves half and bfloat by widening, which is exact, and one rounding of the result; where that would
// be wrong (nextafter, fract, fma) it has its own code.
#include "air/ir/MathCall.h"
#include "air/ir/MathLibrary.h"
#include <llvm/ADT/StringSwitch.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

bool isFloatShaped(Type *type) {
  Type *element = type->getScalarType();
  return element->isFloatTy() || element->isHalfTy() || element->isBFloatTy();
}

Value *minimum(MathCall &math, Value *a, Value *b) {
  return math.intrinsic(Intrinsic::minnum, {a, b});
}
Value *maximum(MathCall &math, Value *a, Value *b) {
  return math.intrinsic(Intrinsic::maxnum, {a, b});
}

/// Operations that are exact or a single rounding in any float format: instructions and intrinsics.
/// `x`, `y`, `z` are the widened operands; `y` and `z` may be null.
Value *lowerElementary(MathCall &math, ArrayRef<Value *> v) {
  IRBuilder<> &build = math.build;
  StringRef operation = math.name.operation;
  if (v.size() == 1) {
    auto id = StringSwitch<Intrinsic::ID>(operation)
                  .Cases({"fabs", "abs"}, Intrinsic::fabs)
                  .Case("floor", Intrinsic::floor)
                  .Case("ceil", Intrinsic::ceil)
                  .Case("trunc", Intrinsic::trunc)
                  .Cases({"rint", "nearbyint"}, Intrinsic::rint)
                  .Case("sqrt", Intrinsic::sqrt)
                  .Default(Intrinsic::not_intrinsic);
    if (id != Intrinsic::not_intrinsic)
      return math.intrinsic(id, v);
    if (operation == "saturate")
      return minimum(math, maximum(math, v[0], math.real(v[0], 0)), math.real(v[0], 1));
    if (operation == "recip")
      return build.CreateFDiv(math.real(v[0], 1), v[0]);
    if (operation == "rsqrt" && math.name.fast)
      return build.CreateFDiv(math.real(v[0], 1), math.intrinsic(Intrinsic::sqrt, v));
  }
  if (v.size() == 2) {
    if (operation == "fmin" || operation == "min")
      return minimum(math, v[0], v[1]);
    if (operation == "fmax" || operation == "max")
      return maximum(math, v[0], v[1]);
    if (operation == "copysign")
      return math.intrinsic(Intrinsic::copysign, v);
    if (operation == "divide")
      return build.CreateFDiv(v[0], v[1]);
    if (operation == "step")
      return math.select(build.CreateFCmpOLT(v[1], v[0]), math.real(v[0], 0), math.real(v[0], 1));
  }
  if (v.size() == 3) {
    if (operation == "fmin3" || operation == "min3")
      return minimum(math, minimum(math, v[0], v[1]), v[2]);
    if (operation == "fmax3" || operation == "max3")
      return maximum(math, maximum(math, v[0], v[1]), v[2]);
    if (operation == "fmedian3" || operation == "median3")
      return maximum(math, minimum(math, v[0], v[1]),
                     minimum(math, maximum(math, v[0], v[1]), v[2]));
    if (operation == "clamp")
      return minimum(math, maximum(math, v[0], v[1]), v[2]);
    if (operation == "mix")
      return build.CreateFAdd(v[0], build.CreateFMul(build.CreateFSub(v[1], v[0]), v[2]));
    if (operation == "smoothstep") {
      Value *t = build.CreateFDiv(build.CreateFSub(v[2], v[0]), build.CreateFSub(v[1], v[0]));
      t = minimum(math, maximum(math, t, math.real(t, 0)), math.real(t, 1));
      Value *s = build.CreateFSub(math.real(t, 3), build.CreateFMul(t, math.real(t, 2)));
      return build.CreateFMul(build.CreateFMul(t, t), s);
    }
  }
  return nullptr;
}

/// These keep their bits strict unless the name says fast: Metal promises a bound for each.
bool hasPreciseForm(StringRef operation) {
  return operation == "sqrt" || operation == "divide" || operation == "recip" ||
         operation == "rsqrt";
}

/// fma of half and bfloat: the product of floats is exact; the sum is rounded to odd, then once more.
Value *lowerFma(MathCall &math, ArrayRef<Value *> v) {
  if (math.type()->getScalarType()->isFloatTy())
    return math.intrinsic(Intrinsic::fma, v);
  return math.library("pewter_soft_fma_odd_f16", v[0]->getType(), v);
}

/// The neighbour of x towards y for 16-bit formats, on their bits.
Value *lowerNextAfter(MathCall &math) {
  IRBuilder<> &build = math.build;
  Value *x = math.arg(0), *y = math.arg(1);
  Type *bitsType = withElement(x->getType(), build.getInt16Ty());
  auto ordered = [&](Value *value) {
    Value *bits = build.CreateBitCast(value, bitsType);
    Value *flipped = build.CreateSub(math.integer(bits, 0x8000), bits);
    return math.select(build.CreateICmpSLT(bits, math.integer(bits, 0)), flipped, bits);
  };
  Value *from = ordered(x), *to = ordered(y);
  Value *step = math.select(build.CreateICmpSLT(from, to), math.integer(from, 1),
                            ConstantInt::getAllOnesValue(bitsType));
  Value *next = build.CreateAdd(from, step);
  Value *negative = build.CreateICmpSLT(next, math.integer(next, 0));
  Value *bits = math.select(negative, build.CreateSub(math.integer(next, 0x8000), next), next);
  Value *moved = build.CreateBitCast(bits, x->getType());
  Value *zero = math.intrinsic(Intrinsic::copysign, {math.real(x, 0), x});
  moved = math.select(build.CreateICmpEQ(next, math.integer(next, 0)), zero, moved);
  Value *result = math.select(build.CreateFCmpOEQ(x, y), y, moved);
  result = math.select(build.CreateFCmpUNO(y, y), y, result);
  return math.select(build.CreateFCmpUNO(x, x), x, result);
}

/// In 16 bits the fraction may round up to 1, which Metal excludes.
Value *lowerNarrowFract(MathCall &math) {
  IRBuilder<> &build = math.build;
  Value *wide = math.widen(math.arg(0));
  Value *part = math.narrow(math.library("fract", wide->getType(), {wide}), math.type());
  Value *below = math.real(part, math.type()->getScalarType()->isHalfTy() ? 0x1.ffcp-1 : 0x1.fep-1);
  return math.select(build.CreateFCmpOGE(part, math.real(part, 1)), below, part);
}

/// sincos, modf and frexp, which store a second result.
Value *lowerPair(MathCall &math) {
  IRBuilder<> &build = math.build;
  Value *wide = math.widen(math.arg(0)), *second = nullptr;
  bool integral = math.is("frexp");
  Type *other = integral ? static_cast<Type *>(build.getInt32Ty()) : build.getFloatTy();
  Value *first = math.libraryPair(math.name.operation, wide, other, second);
  if (!integral)
    second = math.narrow(second, math.type());
  Align alignment(second->getType()->getScalarSizeInBits() / 8);
  build.CreateAlignedStore(second, math.arg(1), alignment);
  return math.narrow(first, math.type());
}

Value *lowerLibrary(MathCall &math, ArrayRef<Value *> v) {
  static const char *const kUnary[] = {
      "exp",  "exp2",  "exp10", "log",  "log2", "log10", "sin",   "cos",  "tan",
      "asin", "acos",  "atan",  "sinh", "cosh", "tanh",  "asinh", "acosh", "atanh",
      "sinpi", "cospi", "tanpi", "rsqrt", "fract", "round", "sign", "logb"};
  static const char *const kBinary[] = {"pow", "powr", "atan2", "fmod", "nextafter", "fdim"};
  StringRef operation = math.name.operation;
  if ((v.size() == 1 && is_contained(kUnary, operation)) ||
      (v.size() == 2 && is_contained(kBinary, operation)))
    return math.library(operation, v[0]->getType(), v);
  return nullptr;
}

/// From the left, as written: contraction into fused operations is the back-end's by the flags.
Value *lowerDot(MathCall &math) {
  auto *vector = dyn_cast<FixedVectorType>(math.arg(0)->getType());
  if (!vector || math.arg(1)->getType() != vector)
    return nullptr;
  Value *x = math.widen(math.arg(0)), *y = math.widen(math.arg(1));
  Value *product = math.build.CreateFMul(x, y);
  Value *sum = math.component(product, 0);
  for (unsigned i = 1; i < vector->getNumElements(); ++i)
    sum = math.build.CreateFAdd(sum, math.component(product, static_cast<int>(i)));
  return math.narrow(sum, math.type());
}

/// isnan and its kin: Metal's headers expand them, yet the names exist.
Value *lowerClassification(MathCall &math) {
  IRBuilder<> &build = math.build;
  Value *x = math.arg(0);
  StringRef operation = math.name.operation;
  if (operation == "isordered")
    return build.CreateFCmpORD(x, math.arg(1));
  if (operation == "isunordered")
    return build.CreateFCmpUNO(x, math.arg(1));
  Value *size = math.intrinsic(Intrinsic::fabs, {x});
  Value *infinity = ConstantFP::getInfinity(x->getType());
  if (operation == "isnan")
    return build.CreateFCmpUNO(x, x);
  if (operation == "isinf")
    return build.CreateFCmpOEQ(size, infinity);
  if (operation == "isfinite")
    return build.CreateFCmpOLT(size, infinity);
  if (operation == "isnormal") {
    APFloat least = APFloat::getSmallestNormalized(x->getType()->getScalarType()->getFltSemantics());
    return build.CreateAnd(build.CreateFCmpOGE(size, ConstantFP::get(x->getType(), least)),
                           build.CreateFCmpOLT(size, infinity));
  }
  if (operation == "signbit") {
    unsigned width = x->getType()->getScalarSizeInBits();
    Value *bits = build.CreateBitCast(x, withElement(x->getType(), build.getIntNTy(width)));
    return build.CreateICmpSLT(bits, math.integer(bits, 0));
  }
  return nullptr;
}

} // namespace

Value *lowerFloatOperation(MathCall &math) {
  if (math.count() == 0 || !isFloatShaped(math.arg(0)->getType()))
    return nullptr;
  StringRef operation = math.name.operation;
  if (Type *element = math.type()->getScalarType(); element->isIntegerTy()) {
    if (operation == "ilogb") {
      Value *wide = math.widen(math.arg(0));
      return math.library(operation, withElement(wide->getType(), math.build.getInt32Ty()), {wide});
    }
    if (math.type()->getScalarSizeInBits() != 1)
      return nullptr;
    return lowerClassification(math);
  }
  if (!isFloatShaped(math.type()))
    return nullptr;
  if (math.name.fast || !hasPreciseForm(operation))
    math.build.setFastMathFlags(math.permissions());
  if (operation == "dot" && math.count() == 2)
    return lowerDot(math);
  if (operation == "select" && math.count() == 3 &&
      math.arg(2)->getType()->getScalarSizeInBits() == 1)
    return math.select(math.arg(2), math.arg(1), math.arg(0));
  if ((operation == "sincos" || operation == "modf" || operation == "frexp") && math.count() == 2 &&
      math.arg(1)->getType()->isPointerTy())
    return lowerPair(math);
  bool narrow = !math.type()->getScalarType()->isFloatTy();
  if (narrow && operation == "nextafter" && math.count() == 2)
    return lowerNextAfter(math);
  if (narrow && operation == "fract")
    return lowerNarrowFract(math);
  if (operation == "ldexp" && math.count() == 2) {
    Value *wide = math.widen(math.arg(0));
    Value *exponent = math.arg(1);
    exponent = math.build.CreateSExtOrTrunc(
        exponent, withElement(exponent->getType(), math.build.getInt32Ty()));
    return math.narrow(
        math.library(operation, wide->getType(), {wide, math.spread(exponent, wide->getType())}),
        math.type());
  }
  SmallVector<Value *, 3> values;
  for (Value *value : math.call.args()) {
    if (!isFloatShaped(value->getType()))
      return nullptr;
    values.push_back(math.spread(math.widen(value), math.type()));
  }
  Value *result = operation == "fma" && values.size() == 3 ? lowerFma(math, values)
                                                           : lowerElementary(math, values);
  if (!result)
    result = lowerLibrary(math, values);
  return result ? math.narrow(result, math.type()) : nullptr;
}

} // namespace pewter::air::ir
