// SPDX-License-Identifier: Apache-2.0
//
// Two steps, each over the whole module: operations on narrow floats are rewritten as float
// operations between conversions; then the conversions and fma that the target lacks are expanded.
//
// fma(a, b, c) in a wider format W: the product is exact in W (twice the digits fit), the sum is
// not. The error of the sum is known exactly (Knuth's two-sum); where it is not zero and the sum's
// last bit is even, the sum is moved one step towards the exact value, which makes it "rounded to
// odd". Such a value, rounded to a format with at least two digits fewer, gives the correctly
// rounded result (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).
//
// Tested by LowerArithmetic_test.cpp.
#include "cpu/codegen/target/LowerArithmetic.h"
#include <cmath>
#include <llvm/ADT/APFloat.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace pewter::cpu::codegen {
namespace {

using llvm::Instruction;
using llvm::Type;
using llvm::Value;
using llvm::Intrinsic::ID;

/// `shape` with its elements replaced: a vector stays a vector of the same length.
Type *withElement(Type *shape, Type *element) {
  if (auto *vector = llvm::dyn_cast<llvm::VectorType>(shape))
    return llvm::VectorType::get(element, vector->getElementCount());
  return element;
}

class Expander {
public:
  Expander(llvm::IRBuilder<> &builder) : b_(builder) {}

  Value *halfToFloat(Value *half) {
    Type *intType = ints(half->getType(), 32);
    Type *floatType = floats(half->getType());
    Value *bits = b_.CreateZExt(b_.CreateBitCast(half, ints(half->getType(), 16)), intType);
    Value *sign = b_.CreateShl(b_.CreateAnd(bits, 0x8000), 16);
    Value *magnitude = b_.CreateAnd(bits, 0x7fff);
    Value *shifted = b_.CreateShl(magnitude, 13);
    constexpr uint32_t rebias = 112u << 23;
    Value *normal = b_.CreateAdd(shifted, constant(intType, rebias));
    Value *special = b_.CreateAdd(shifted, constant(intType, rebias * 2));
    Value *isNaN = b_.CreateICmpUGT(magnitude, constant(intType, 0x7c00));
    special = b_.CreateSelect(isNaN, b_.CreateOr(special, 0x400000), special); // Made quiet.
    Value *tiny = b_.CreateFMul(b_.CreateSIToFP(magnitude, floatType),
                                llvm::ConstantFP::get(floatType, 0x1p-24));
    Value *result =
        b_.CreateSelect(b_.CreateICmpUGE(magnitude, constant(intType, 0x7c00)), special, normal);
    result = b_.CreateSelect(b_.CreateICmpULT(magnitude, constant(intType, 0x400)),
                             b_.CreateBitCast(tiny, intType), result);
    return b_.CreateBitCast(b_.CreateOr(result, sign), floatType);
  }

  Value *floatToHalf(Value *value) {
    Type *intType = ints(value->getType(), 32);
    Value *bits = b_.CreateBitCast(value, intType);
    Value *sign = b_.CreateAnd(b_.CreateLShr(bits, 16), 0x8000);
    Value *magnitude = b_.CreateAnd(bits, 0x7fffffff);
    Value *kept = b_.CreateLShr(magnitude, 13);
    // Half the last kept digit, or one less where the kept value is even: ties go to even.
    Value *rounded =
        b_.CreateAdd(b_.CreateAdd(magnitude, constant(intType, 0xfff)), b_.CreateAnd(kept, 1));
    Value *normal = b_.CreateSub(b_.CreateLShr(rounded, 13), constant(intType, 112u << 10));
    // Below 2^-14 the last digit is 2^-24, which is also that of a float in [0.5, 1).
    Type *floatType = value->getType();
    Value *sum = b_.CreateFAdd(b_.CreateBitCast(magnitude, floatType),
                               llvm::ConstantFP::get(floatType, 0.5));
    Value *tiny = b_.CreateSub(b_.CreateBitCast(sum, intType), constant(intType, 0x3f000000));
    Value *nan = b_.CreateOr(b_.CreateAnd(kept, 0x3ff), 0x7e00);
    Value *result =
        b_.CreateSelect(b_.CreateICmpULT(magnitude, constant(intType, 0x38800000)), tiny, normal);
    result = b_.CreateSelect(b_.CreateICmpUGE(magnitude, constant(intType, 0x477ff000)),
                             constant(intType, 0x7c00), result);
    result =
        b_.CreateSelect(b_.CreateICmpUGT(magnitude, constant(intType, 0x7f800000)), nan, result);
    result = b_.CreateTrunc(b_.CreateOr(result, sign), ints(value->getType(), 16));
    return b_.CreateBitCast(result, withElement(value->getType(), b_.getHalfTy()));
  }

  Value *floatToBFloat(Value *value) {
    Type *intType = ints(value->getType(), 32);
    Value *bits = b_.CreateBitCast(value, intType);
    Value *kept = b_.CreateLShr(bits, 16);
    Value *rounded =
        b_.CreateAdd(b_.CreateAdd(bits, constant(intType, 0x7fff)), b_.CreateAnd(kept, 1));
    Value *isNaN = b_.CreateICmpUGT(b_.CreateAnd(bits, 0x7fffffff), constant(intType, 0x7f800000));
    Value *result = b_.CreateSelect(isNaN, b_.CreateOr(kept, 0x40), b_.CreateLShr(rounded, 16));
    result = b_.CreateTrunc(result, ints(value->getType(), 16));
    return b_.CreateBitCast(result, withElement(value->getType(), b_.getBFloatTy()));
  }

  Value *bfloatToFloat(Value *value) {
    Value *bits = b_.CreateZExt(b_.CreateBitCast(value, ints(value->getType(), 16)),
                                ints(value->getType(), 32));
    return b_.CreateBitCast(b_.CreateShl(bits, 16), floats(value->getType()));
  }

  /// a * b + c rounded to odd; the operands have a format whose products are exact.
  Value *fmaToOdd(Value *a, Value *b, Value *c) {
    Type *type = a->getType();
    bool isDouble = type->getScalarType()->isDoubleTy();
    Type *intType = ints(type, isDouble ? 64 : 32);
    Value *product = b_.CreateFMul(a, b);
    Value *sum = b_.CreateFAdd(product, c);
    Value *cPart = b_.CreateFSub(sum, product);
    Value *productPart = b_.CreateFSub(sum, cPart);
    Value *error = b_.CreateFAdd(b_.CreateFSub(product, productPart), b_.CreateFSub(c, cPart));
    Value *zero = llvm::ConstantFP::get(type, 0.0);
    // An infinite or NaN sum has a NaN error, for which the ordered comparison is false.
    Value *isInexact = b_.CreateFCmpONE(error, zero);
    Value *bits = b_.CreateBitCast(sum, intType);
    Value *isEven = b_.CreateICmpEQ(b_.CreateAnd(bits, 1), constant(intType, 0));
    // Away from zero when the exact value is larger in magnitude than the sum.
    Value *isAway = b_.CreateICmpEQ(b_.CreateFCmpOGT(error, zero), b_.CreateFCmpOGT(sum, zero));
    Value *step =
        b_.CreateSelect(isAway, constant(intType, 1), llvm::ConstantInt::getSigned(intType, -1));
    Value *adjusted = b_.CreateAdd(bits, step);
    bits = b_.CreateSelect(b_.CreateAnd(isInexact, isEven), adjusted, bits);
    return b_.CreateBitCast(bits, type);
  }

private:
  Type *ints(Type *shape, unsigned width) { return withElement(shape, b_.getIntNTy(width)); }
  Type *floats(Type *shape) { return withElement(shape, b_.getFloatTy()); }
  Value *constant(Type *type, uint64_t value) { return llvm::ConstantInt::get(type, value); }

  llvm::IRBuilder<> &b_;
};

class Lowering {
public:
  Lowering(llvm::Module &module, const ArithmeticSupport &support)
      : support_(support), isX86_(module.getTargetTriple().isX86()), builder_(module.getContext()),
        expand_(builder_) {}

  bool run(llvm::Function &function) {
    bool changed = forEach(function, [&](Instruction &i) { return widen(i); });
    changed |= forEach(function, [&](Instruction &i) { return expandFma(i); });
    changed |= forEach(function, [&](Instruction &i) { return expandSaturation(i); });
    changed |= forEach(function, [&](Instruction &i) { return expandConversion(i); });
    return changed;
  }

private:
  template <class Step> bool forEach(llvm::Function &function, Step step) {
    llvm::SmallVector<Instruction *, 64> all;
    for (Instruction &instruction : llvm::instructions(function))
      all.push_back(&instruction);
    bool changed = false;
    for (Instruction *instruction : all) {
      builder_.SetInsertPoint(instruction);
      builder_.setFastMathFlags({});
      Value *replacement = step(*instruction);
      if (!replacement)
        continue;
      if (auto *named = llvm::dyn_cast<Instruction>(replacement))
        named->takeName(instruction);
      instruction->replaceAllUsesWith(replacement);
      instruction->eraseFromParent();
      changed = true;
    }
    return changed;
  }

  /// Narrow floats whose arithmetic is done in float here.
  bool isNarrow(Type *type) const {
    Type *element = type->getScalarType();
    return element->isBFloatTy() || element->isHalfTy();
  }
  Value *toFloat(Value *value) {
    return builder_.CreateFPExt(value, withElement(value->getType(), builder_.getFloatTy()));
  }
  Value *fromFloat(Value *value, Type *type) { return builder_.CreateFPTrunc(value, type); }

  Value *bitOperation(Instruction &i, unsigned kind, Value *other) {
    Type *intType = withElement(i.getType(), builder_.getInt16Ty());
    auto asBits = [&](Value *value) { return builder_.CreateBitCast(value, intType); };
    Value *bits = asBits(i.getOperand(0));
    if (kind == 0)
      bits = builder_.CreateXor(bits, 0x8000);
    else
      bits = builder_.CreateAnd(bits, 0x7fff);
    if (other)
      bits = builder_.CreateOr(bits, builder_.CreateAnd(asBits(other), 0x8000));
    return builder_.CreateBitCast(bits, i.getType());
  }

  Value *widen(Instruction &i) {
    if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&i))
      return widenIntrinsic(*call);
    if (auto *compare = llvm::dyn_cast<llvm::FCmpInst>(&i)) {
      if (!isNarrow(compare->getOperand(0)->getType()))
        return nullptr;
      return builder_.CreateFCmp(compare->getPredicate(), toFloat(compare->getOperand(0)),
                                 toFloat(compare->getOperand(1)));
    }
    switch (i.getOpcode()) {
    case Instruction::FNeg:
      return isNarrow(i.getType()) ? bitOperation(i, 0, nullptr) : nullptr;
    case Instruction::FAdd:
    case Instruction::FSub:
    case Instruction::FMul:
    case Instruction::FDiv:
    case Instruction::FRem: {
      if (!isNarrow(i.getType()))
        return nullptr;
      Value *result = builder_.CreateBinOp(Instruction::BinaryOps(i.getOpcode()),
                                           toFloat(i.getOperand(0)), toFloat(i.getOperand(1)));
      return fromFloat(result, i.getType());
    }
    case Instruction::SIToFP:
    case Instruction::UIToFP:
      if (!isNarrow(i.getType()))
        return nullptr;
      return fromFloat(builder_.CreateCast(Instruction::CastOps(i.getOpcode()), i.getOperand(0),
                                           withElement(i.getType(), builder_.getFloatTy())),
                       i.getType());
    case Instruction::FPToSI:
    case Instruction::FPToUI:
      if (!isNarrow(i.getOperand(0)->getType()))
        return nullptr;
      return builder_.CreateCast(Instruction::CastOps(i.getOpcode()), toFloat(i.getOperand(0)),
                                 i.getType());
    default:
      return nullptr;
    }
  }

  Value *widenIntrinsic(llvm::IntrinsicInst &call) {
    ID id = call.getIntrinsicID();
    Type *type = call.getType();
    switch (id) {
    case llvm::Intrinsic::fabs:
      return isNarrow(type) ? bitOperation(call, 1, nullptr) : nullptr;
    case llvm::Intrinsic::copysign:
      return isNarrow(type) ? bitOperation(call, 1, call.getArgOperand(1)) : nullptr;
    case llvm::Intrinsic::fptosi_sat:
    case llvm::Intrinsic::fptoui_sat: {
      if (!isNarrow(call.getArgOperand(0)->getType()))
        return nullptr;
      Value *wide = toFloat(call.getArgOperand(0));
      return builder_.CreateIntrinsic(id, {type, wide->getType()}, {wide});
    }
    case llvm::Intrinsic::fma: {
      Type *element = type->getScalarType();
      if (!element->isHalfTy() && !element->isBFloatTy())
        return nullptr;
      // A product of two bfloats needs 16 digits and has room in float, but not always its
      // exponent.
      Type *wide =
          withElement(type, element->isHalfTy() ? builder_.getFloatTy() : builder_.getDoubleTy());
      Value *operands[3];
      for (unsigned k = 0; k < 3; ++k)
        operands[k] = builder_.CreateFPExt(toFloat(call.getArgOperand(k)), wide);
      Value *odd = expand_.fmaToOdd(operands[0], operands[1], operands[2]);
      if (element->isBFloatTy())
        odd = doubleToFloatOdd(odd);
      return fromFloat(odd, type);
    }
    case llvm::Intrinsic::sqrt:
    case llvm::Intrinsic::floor:
    case llvm::Intrinsic::ceil:
    case llvm::Intrinsic::trunc:
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::nearbyint:
    case llvm::Intrinsic::roundeven:
    case llvm::Intrinsic::round:
    case llvm::Intrinsic::canonicalize:
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::maxnum:
    case llvm::Intrinsic::minimum:
    case llvm::Intrinsic::maximum:
    case llvm::Intrinsic::minimumnum:
    case llvm::Intrinsic::maximumnum: {
      if (!isNarrow(type))
        return nullptr;
      llvm::SmallVector<Value *, 2> operands;
      for (Value *operand : call.args())
        operands.push_back(toFloat(operand));
      return fromFloat(builder_.CreateIntrinsic(id, {operands[0]->getType()}, operands), type);
    }
    default:
      return nullptr;
    }
  }

  /// A double that is rounded to odd, as a float rounded to odd: truncate, then keep "inexact" in
  /// the last bit.
  Value *doubleToFloatOdd(Value *value) {
    Type *floatType = withElement(value->getType(), builder_.getFloatTy());
    Type *intType = withElement(value->getType(), builder_.getInt32Ty());
    Value *nearest = builder_.CreateFPTrunc(value, floatType);
    Value *back = builder_.CreateFPExt(nearest, value->getType());
    Value *bits = builder_.CreateBitCast(nearest, intType);
    Value *one = llvm::ConstantInt::get(intType, 1);
    Value *fabsBack = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back);
    Value *fabsValue = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
    Value *isTooLarge = builder_.CreateFCmpOGT(fabsBack, fabsValue);
    Value *truncated = builder_.CreateSelect(isTooLarge, builder_.CreateSub(bits, one), bits);
    Value *isInexact = builder_.CreateFCmpONE(back, value);
    Value *odd = builder_.CreateSelect(isInexact, builder_.CreateOr(truncated, 1), truncated);
    return builder_.CreateBitCast(odd, floatType);
  }

  Value *expandFma(Instruction &i) {
    auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    if (!call || call->getIntrinsicID() != llvm::Intrinsic::fma || support_.fma ||
        !call->getType()->getScalarType()->isFloatTy())
      return nullptr;
    Type *wide = withElement(call->getType(), builder_.getDoubleTy());
    Value *operands[3];
    for (unsigned k = 0; k < 3; ++k)
      operands[k] = builder_.CreateFPExt(call->getArgOperand(k), wide);
    return builder_.CreateFPTrunc(expand_.fmaToOdd(operands[0], operands[1], operands[2]),
                                  call->getType());
  }

  /// On x86, LLVM does saturating conversions of vectors element by element.
  Value *expandSaturation(Instruction &i) {
    auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    if (!isX86_ || !call || !call->getType()->isVectorTy() ||
        (call->getIntrinsicID() != llvm::Intrinsic::fptosi_sat && call->getIntrinsicID() != llvm::Intrinsic::fptoui_sat))
      return nullptr;
    const bool isSigned = call->getIntrinsicID() == llvm::Intrinsic::fptosi_sat;
    Value *value = call->getArgOperand(0);
    Type *type = call->getType(), *floatType = value->getType();
    const unsigned bits = type->getScalarSizeInBits();
    // Both are powers of two, or zero: exact.
    auto bound = [&](double number) { return llvm::ConstantFP::get(floatType, number); };
    Value *isLow = builder_.CreateFCmpOLT(value, bound(isSigned ? -std::ldexp(1.0, int(bits) - 1) : 0.0));
    Value *isHigh = builder_.CreateFCmpOGE(value, bound(std::ldexp(1.0, int(bits) - isSigned)));
    Value *isNumber = builder_.CreateFCmpORD(value, value);
    Value *isInside = builder_.CreateAnd(isNumber, builder_.CreateNot(builder_.CreateOr(isLow, isHigh)));
    Value *inside = builder_.CreateSelect(isInside, value, bound(0));
    Value *result = isSigned ? builder_.CreateFPToSI(inside, type) : builder_.CreateFPToUI(inside, type);
    auto limit = [&](const llvm::APInt &number) { return llvm::ConstantInt::get(type, number); };
    if (isSigned)
      result = builder_.CreateSelect(isLow, limit(llvm::APInt::getSignedMinValue(bits)), result);
    return builder_.CreateSelect(
        isHigh, limit(isSigned ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits)), result);
  }

  /// LLVM loads a single half by inserting it into a register that happens to be there, and then waits
  /// for whatever that register holds: in a loop, often for the sums of the turn before.
  Value *loadedHalfToFloat(Value *half) {
    Value *bits = builder_.CreateZExt(builder_.CreateBitCast(half, builder_.getInt16Ty()),
                                      builder_.getInt32Ty());
    auto *type = llvm::FunctionType::get(builder_.getFloatTy(), {builder_.getInt32Ty()}, false);
    auto *code = llvm::InlineAsm::get(type, "vmovd $1, $0\n\tvcvtph2ps $0, $0", "=v,r",
                                      /*hasSideEffects=*/false);
    return builder_.CreateCall(type, code, {bits});
  }

  Value *expandConversion(Instruction &i) {
    if (i.getOpcode() == Instruction::FPExt) {
      Value *source = i.getOperand(0);
      Type *from = source->getType()->getScalarType();
      Value *wide = nullptr;
      if (from->isBFloatTy())
        wide = expand_.bfloatToFloat(source);
      else if (from->isHalfTy() && !support_.halfConversion)
        wide = expand_.halfToFloat(source);
      else if (isX86_ && source->getType()->isHalfTy() && llvm::isa<llvm::LoadInst>(source))
        wide = loadedHalfToFloat(source);
      if (wide && i.getType() != wide->getType())
        wide = builder_.CreateFPExt(wide, i.getType());
      return wide;
    }
    if (i.getOpcode() == Instruction::FPTrunc) {
      Value *source = i.getOperand(0);
      Type *to = i.getType()->getScalarType();
      bool isHalf = to->isHalfTy() && !support_.halfConversion;
      if (!isHalf && !to->isBFloatTy())
        return nullptr;
      if (source->getType()->getScalarType()->isDoubleTy())
        source = doubleToFloatOdd(source);
      return isHalf ? expand_.floatToHalf(source) : expand_.floatToBFloat(source);
    }
    return nullptr;
  }

  ArithmeticSupport support_;
  bool isX86_;
  llvm::IRBuilder<> builder_;
  Expander expand_;
};

} // namespace

ArithmeticSupport arithmeticSupport(compiler::TargetKind kind) {
  if (kind == compiler::TargetKind::CpuBaseline)
    return {.fma = false, .halfConversion = false};
  return {};
}

bool lowerArithmetic(llvm::Module &module, const ArithmeticSupport &support) {
  Lowering lowering(module, support);
  bool changed = false;
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      changed |= lowering.run(function);
  return changed;
}

} // namespace pewter::cpu::codegen
