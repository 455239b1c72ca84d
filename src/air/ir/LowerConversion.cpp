// SPDX-License-Identifier: Apache-2.0
//
// air.convert.<kind>.<type>.<kind>.<type>[.rte|.rtz|.rtp|.rtn][.sat], kinds f, s, u.
//
// Float to integer rounds to zero, saturates, and turns NaN into 0, whether .sat is there or not: that
// is what every device does here for what Metal leaves open. Integer to integer wraps unless .sat.
// Anything to bool is a comparison with zero. Roundings to nearest are LLVM's; a directed rounding is
// the nearest one, moved by one place where it went the wrong way. Integers of more than 24 bits reach
// bfloat, whose conversion LLVM makes through float, by a float rounded to odd.
#include "air/ir/MathCall.h"

namespace pewter::air::ir {
using namespace llvm;

namespace {

enum class Rounding { Default, Nearest, Zero, Up, Down };

struct Conversion {
  char to, from; // 'f', 's' or 'u'
  Rounding rounding = Rounding::Default;
  bool saturated = false;
};

bool isKind(StringRef part) { return part == "f" || part == "s" || part == "u"; }

std::optional<Conversion> parseConversion(const AirName &name) {
  // The first kind may have been taken for the operation's sign.
  SmallVector<StringRef, 8> parts;
  if (name.sign)
    parts.push_back(name.sign == 's' ? "s" : "u");
  parts.append(name.rest.begin(), name.rest.end());
  if (parts.size() < 4 || !isKind(parts[0]) || !isKind(parts[2]))
    return std::nullopt;
  Conversion conversion{parts[0][0], parts[2][0]};
  for (StringRef suffix : drop_begin(parts, 4)) {
    if (suffix == "sat")
      conversion.saturated = true;
    else if (suffix == "rte")
      conversion.rounding = Rounding::Nearest;
    else if (suffix == "rtz")
      conversion.rounding = Rounding::Zero;
    else if (suffix == "rtp")
      conversion.rounding = Rounding::Up;
    else if (suffix == "rtn")
      conversion.rounding = Rounding::Down;
    else
      return std::nullopt;
  }
  return conversion;
}

bool matches(char kind, Type *type) {
  return kind == 'f' ? type->isFPOrFPVectorTy() : type->isIntOrIntVectorTy();
}

unsigned elements(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector ? vector->getNumElements() : 0;
}

Type *bitsOf(MathCall &math, Type *type) {
  return withElement(type, math.build.getIntNTy(type->getScalarSizeInBits()));
}

/// `value` with its bits moved by `step` (+1: away from zero, -1: towards it) where `condition`.
Value *moved(MathCall &math, Value *value, Value *condition, int64_t step) {
  Value *bits = math.build.CreateBitCast(value, bitsOf(math, value->getType()));
  Value *other = math.build.CreateAdd(bits, ConstantInt::getSigned(bits->getType(), step));
  return math.build.CreateBitCast(math.select(condition, other, bits), value->getType());
}

Value *isNegative(MathCall &math, Value *value) {
  Value *bits = math.build.CreateBitCast(value, bitsOf(math, value->getType()));
  return math.build.CreateICmpSLT(bits, math.integer(bits, 0));
}

/// float to a narrower format.
Value *narrowFloat(MathCall &math, Value *value, Type *to, Rounding rounding) {
  IRBuilder<> &build = math.build;
  Value *nearest = build.CreateFPTrunc(value, to);
  Value *back = math.widen(nearest);
  switch (rounding) {
  case Rounding::Default:
  case Rounding::Nearest:
    return nearest;
  case Rounding::Zero: {
    Value *past = build.CreateFCmpOGT(math.intrinsic(Intrinsic::fabs, {back}),
                                      math.intrinsic(Intrinsic::fabs, {value}));
    return moved(math, nearest, past, -1);
  }
  case Rounding::Up: {
    Value *below = build.CreateFCmpOLT(back, value), *negative = isNegative(math, nearest);
    Value *up = moved(math, nearest, build.CreateAnd(below, build.CreateNot(negative)), 1);
    return moved(math, up, build.CreateAnd(below, negative), -1);
  }
  case Rounding::Down: {
    Value *above = build.CreateFCmpOGT(back, value), *negative = isNegative(math, nearest);
    Value *down = moved(math, nearest, build.CreateAnd(above, negative), 1);
    return moved(math, down, build.CreateAnd(above, build.CreateNot(negative)), -1);
  }
  }
  return nearest;
}

Value *floatToFloat(MathCall &math, Value *value, Type *to, Rounding rounding) {
  if (value->getType() == to)
    return value;
  value = math.widen(value);
  return value->getType() == to ? value : narrowFloat(math, value, to, rounding);
}

Value *floatToInteger(MathCall &math, Value *value, const Conversion &conversion) {
  IRBuilder<> &build = math.build;
  if (math.type()->getScalarSizeInBits() == 1)
    return build.CreateFCmpUNE(value, math.real(value, 0));
  value = math.widen(value);
  switch (conversion.rounding) {
  case Rounding::Default:
  case Rounding::Zero:
    break;
  case Rounding::Nearest:
    value = math.intrinsic(Intrinsic::rint, {value});
    break;
  case Rounding::Up:
    value = math.intrinsic(Intrinsic::ceil, {value});
    break;
  case Rounding::Down:
    value = math.intrinsic(Intrinsic::floor, {value});
    break;
  }
  Intrinsic::ID id = conversion.to == 'u' ? Intrinsic::fptoui_sat : Intrinsic::fptosi_sat;
  return build.CreateIntrinsic(id, {math.type(), value->getType()}, {value});
}

/// An integer of up to 64 bits as a float whose magnitude is rounded to zero; `inexact` says where.
Value *truncatedToFloat(MathCall &math, Value *value, bool isUnsigned, Value *&inexact) {
  IRBuilder<> &build = math.build;
  Type *floats = withElement(value->getType(), build.getFloatTy());
  unsigned width = value->getType()->getScalarSizeInBits();
  Value *size = isUnsigned ? value
                           : build.CreateBinaryIntrinsic(Intrinsic::abs, value, build.getFalse());
  Value *zeros = build.CreateBinaryIntrinsic(Intrinsic::ctlz, size, build.getFalse());
  Value *excess = build.CreateSub(math.integer(size, width > 24 ? width - 24 : 0), zeros);
  excess = math.intrinsic(Intrinsic::smax, {excess, math.integer(excess, 0)});
  Value *kept = build.CreateShl(build.CreateLShr(size, excess), excess);
  inexact = build.CreateICmpNE(kept, size);
  Value *result = build.CreateUIToFP(kept, floats);
  if (isUnsigned)
    return result;
  Value *negative = build.CreateICmpSLT(value, math.integer(value, 0));
  return math.select(negative, build.CreateFNeg(result), result);
}

Value *integerToFloat(MathCall &math, Value *value, const Conversion &conversion) {
  IRBuilder<> &build = math.build;
  Type *to = math.type();
  bool isUnsigned = conversion.from == 'u' || value->getType()->getScalarSizeInBits() == 1;
  unsigned width = value->getType()->getScalarSizeInBits();
  bool nearest = conversion.rounding == Rounding::Default || conversion.rounding == Rounding::Nearest;
  Type *floats = withElement(to, build.getFloatTy());
  if (width <= 16) { // exact in float
    Value *exact = isUnsigned ? build.CreateUIToFP(value, floats) : build.CreateSIToFP(value, floats);
    return floatToFloat(math, exact, to, conversion.rounding);
  }
  // A half is infinite where a float of an integer is inexact, so only bfloat is at risk.
  bool isFloat = to == floats;
  if (nearest && (isFloat || to->getScalarType()->isHalfTy())) {
    Value *result = isUnsigned ? build.CreateUIToFP(value, floats) : build.CreateSIToFP(value, floats);
    return floatToFloat(math, result, to, conversion.rounding);
  }
  Value *inexact = nullptr;
  Value *result = truncatedToFloat(math, value, isUnsigned, inexact);
  if (!isFloat) { // to odd, then the rounding asked for
    Value *bits = build.CreateBitCast(result, bitsOf(math, floats));
    bits = build.CreateOr(bits, build.CreateZExt(inexact, bits->getType()));
    return narrowFloat(math, build.CreateBitCast(bits, floats), to, conversion.rounding);
  }
  Value *negative = isNegative(math, result);
  if (conversion.rounding == Rounding::Up)
    return moved(math, result, build.CreateAnd(inexact, build.CreateNot(negative)), 1);
  if (conversion.rounding == Rounding::Down)
    return moved(math, result, build.CreateAnd(inexact, negative), 1);
  return result;
}

Value *integerToInteger(MathCall &math, Value *value, const Conversion &conversion) {
  IRBuilder<> &build = math.build;
  Type *to = math.type();
  unsigned width = to->getScalarSizeInBits(), from = value->getType()->getScalarSizeInBits();
  if (width == 1)
    return from == 1 ? value : build.CreateICmpNE(value, math.integer(value, 0));
  bool isUnsigned = conversion.from == 'u' || from == 1;
  if (conversion.saturated) {
    // Clamp to the target's range as far as the source can leave it.
    bool toUnsigned = conversion.to == 'u';
    APInt most = toUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
    APInt least = toUnsigned ? APInt(width, 0) : APInt::getSignedMinValue(width);
    unsigned sourceBits = isUnsigned ? from : from - 1, targetBits = toUnsigned ? width : width - 1;
    if (!isUnsigned && (toUnsigned || from > width)) {
      APInt limit = toUnsigned ? APInt(from, 0) : least.sextOrTrunc(from);
      value = math.intrinsic(Intrinsic::smax, {value, ConstantInt::get(value->getType(), limit)});
    }
    if (sourceBits > targetBits)
      value = math.intrinsic(isUnsigned ? Intrinsic::umin : Intrinsic::smin,
                             {value, ConstantInt::get(value->getType(), most.zextOrTrunc(from))});
  }
  return isUnsigned ? build.CreateZExtOrTrunc(value, to) : build.CreateSExtOrTrunc(value, to);
}

} // namespace

Value *lowerConversion(MathCall &math) {
  if (!math.is("convert") || math.count() != 1)
    return nullptr;
  std::optional<Conversion> conversion = parseConversion(math.name);
  Value *value = math.arg(0);
  if (!conversion || !matches(conversion->to, math.type()) ||
      !matches(conversion->from, value->getType()) ||
      elements(math.type()) != elements(value->getType()))
    return nullptr;
  auto isDouble = [](Type *type) { return type->getScalarType()->isDoubleTy(); };
  if (isDouble(math.type()) || isDouble(value->getType()))
    return nullptr;
  if (conversion->from == 'f')
    return conversion->to == 'f' ? floatToFloat(math, value, math.type(), conversion->rounding)
                                 : floatToInteger(math, value, *conversion);
  return conversion->to == 'f' ? integerToFloat(math, value, *conversion)
                               : integerToInteger(math, value, *conversion);
}

} // namespace pewter::air::ir
