// SPDX-License-Identifier: Apache-2.0
// Tested by tests/lit/air/guard-arithmetic.
#include "air/ir/GuardArithmetic.h"
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Support/KnownBits.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

constexpr const char *kGuarded = "pewter.guarded";

bool isSigned(const BinaryOperator &operation) {
  return operation.getOpcode() == Instruction::SDiv || operation.getOpcode() == Instruction::SRem;
}
bool isRemainder(const BinaryOperator &operation) {
  return operation.getOpcode() == Instruction::SRem || operation.getOpcode() == Instruction::URem;
}

/// Every element of a constant divisor is safe, whatever the dividend.
bool isSafeConstant(const Value *divisor, bool withSign) {
  const auto *constant = dyn_cast<Constant>(divisor);
  if (!constant)
    return false;
  auto safe = [&](const Constant *element) {
    const auto *integer = dyn_cast_or_null<ConstantInt>(element);
    return integer && !integer->isZero() && !(withSign && integer->isMinusOne());
  };
  const auto *vector = dyn_cast<FixedVectorType>(constant->getType());
  if (!vector)
    return safe(constant);
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    if (!safe(constant->getAggregateElement(i)))
      return false;
  return true;
}

void guardDivision(BinaryOperator &division) {
  IRBuilder<> builder(&division);
  Value *dividend = division.getOperand(0), *divisor = division.getOperand(1);
  Type *type = division.getType();
  Constant *zero = Constant::getNullValue(type), *one = ConstantInt::get(type, 1);
  // Poison compared twice may differ; one frozen value is one value.
  if (!isGuaranteedNotToBeUndefOrPoison(divisor))
    divisor = builder.CreateFreeze(divisor);
  Value *unsafe = builder.CreateICmpEQ(divisor, zero);
  Value *minusOne = nullptr;
  if (isSigned(division)) {
    minusOne = builder.CreateICmpEQ(divisor, Constant::getAllOnesValue(type));
    unsafe = builder.CreateOr(unsafe, minusOne);
  }
  division.setOperand(1, builder.CreateSelect(unsafe, one, divisor));
  division.setIsExact(false);
  division.setMetadata(kGuarded, MDNode::get(type->getContext(), {}));
  if (!minusOne)
    return;
  builder.SetInsertPoint(division.getNextNode());
  Value *whenMinusOne = isRemainder(division) ? zero : builder.CreateNeg(dividend);
  auto *result = cast<Instruction>(builder.CreateSelect(minusOne, whenMinusOne, &division));
  division.replaceUsesWithIf(result, [&](Use &use) { return use.getUser() != result; });
}

void guardShift(BinaryOperator &shift, const DataLayout &layout) {
  Value *amount = shift.getOperand(1);
  Type *type = shift.getType();
  const unsigned width = type->getScalarSizeInBits();
  if (!isPowerOf2_32(width) || computeKnownBits(amount, layout).getMaxValue().ult(width))
    return;
  IRBuilder<> builder(&shift);
  shift.setOperand(1, builder.CreateAnd(amount, ConstantInt::get(type, width - 1)));
}

void guardConversion(CastInst &conversion) {
  if (conversion.getType()->getScalarType()->isIntegerTy(1))
    return;
  IRBuilder<> builder(&conversion);
  const Intrinsic::ID id =
      isa<FPToSIInst>(conversion) ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat;
  Value *saturated = builder.CreateIntrinsic(id, {conversion.getType(), conversion.getSrcTy()},
                                             {conversion.getOperand(0)});
  conversion.replaceAllUsesWith(saturated);
  conversion.eraseFromParent();
}

} // namespace

bool isSafeDivision(const BinaryOperator &division) {
  if (division.getMetadata(kGuarded) || isSafeConstant(division.getOperand(1), isSigned(division)))
    return true;
  const Value *divisor = division.getOperand(1);
  const DataLayout &layout = division.getModule()->getDataLayout();
  // Facts from dominating conditions do not count: lanes that did not take the branch divide too.
  if (!isGuaranteedNotToBeUndefOrPoison(divisor) || !isKnownNonZero(divisor, layout))
    return false;
  return !isSigned(division) || computeKnownBits(divisor, layout).isNonNegative();
}

PreservedAnalyses GuardArithmeticPass::run(Function &function, FunctionAnalysisManager &) {
  SmallVector<BinaryOperator *, 16> divisions, shifts;
  SmallVector<CastInst *, 16> conversions;
  for (Instruction &instruction : instructions(function)) {
    switch (instruction.getOpcode()) {
    case Instruction::SDiv:
    case Instruction::UDiv:
    case Instruction::SRem:
    case Instruction::URem:
      if (auto *division = cast<BinaryOperator>(&instruction); !isSafeDivision(*division))
        divisions.push_back(division);
      break;
    case Instruction::Shl:
    case Instruction::LShr:
    case Instruction::AShr:
      shifts.push_back(cast<BinaryOperator>(&instruction));
      break;
    case Instruction::FPToSI:
    case Instruction::FPToUI:
      conversions.push_back(cast<CastInst>(&instruction));
      break;
    default:
      break;
    }
  }
  const DataLayout &layout = function.getParent()->getDataLayout();
  for (BinaryOperator *shift : shifts)
    guardShift(*shift, layout);
  for (BinaryOperator *division : divisions)
    guardDivision(*division);
  for (CastInst *conversion : conversions)
    guardConversion(*conversion);
  if (divisions.empty() && shifts.empty() && conversions.empty())
    return PreservedAnalyses::all();
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return preserved;
}

} // namespace pewter::air::ir
