// SPDX-License-Identifier: Apache-2.0
//
// When is ext(base + pattern) = ext(base) + pattern? Three proofs, from the strongest:
//   * the pattern lies below the base's low zero bits, so that nothing carries;
//   * the largest value that any lane can have leaves room for the pattern;
//   * the value is made from such a value by additions, multiplications and shifts that may not wrap
//     in the sense of the extension. Their flags speak for active lanes only, so then the base must
//     be taken from an active lane (`byFlags`).
// A phi is exact when all its inputs are, assumed of itself. Everything else is answered "no", and
// the extension gets a correction. Tested by Uniformity_test.cpp.
#include "cpu/codegen/analysis/Uniformity.h"
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Operator.h>

using namespace llvm;

namespace pewter::cpu::codegen {

namespace {

class ExtensionProof {
public:
  ExtensionProof(const Uniformity &shapes, const DataLayout &layout, bool isSigned)
      : shapes_(shapes), layout_(layout), isSigned_(isSigned) {}

  bool prove(const Value *value) {
    const ValueShape &shapes = shapes_.shapeOf(value);
    if (shapes.size() != 1 || shapes[0].isUnknown())
      return shapes.empty() || shapes[0].isUnknown();
    const Shape &shape = shapes[0];
    if (shape.isUniform() || shape.constant || shape.isDisjoint())
      return true;
    if (!shape.isPattern() || shape.wraps())
      return false;
    if (hasRoom(value, shape))
      return true;
    if (!visited_.insert(value).second)
      return true;
    if (auto *phi = dyn_cast<PHINode>(value))
      return all_of(phi->incoming_values(), [&](const Use &use) { return prove(use.get()); });
    return proveByFlags(value);
  }

  bool usedFlags() const { return usedFlags_; }

private:
  bool hasRoom(const Value *value, const Shape &shape) {
    if (value->getType()->isVectorTy())
      return false;
    KnownBits known = computeKnownBits(value, layout_);
    unsigned bits = known.getBitWidth();
    uint64_t spread = uint64_t(shape.maximum()) - uint64_t(shape.minimum());
    unsigned limit = isSigned_ ? bits - 1 : bits;
    if (limit < 2 || known.countMinLeadingZeros() < 2 || spread >= (uint64_t(1) << (limit - 1)))
      return false;
    usedFlags_ = true; // Known bits may come from flags.
    return known.getMaxValue().ult(APInt::getOneBitSet(bits, limit - 1));
  }

  bool proveByFlags(const Value *value) {
    auto *instruction = dyn_cast<Instruction>(value);
    if (!instruction)
      return false;
    switch (instruction->getOpcode()) {
    case Instruction::Add:
    case Instruction::Sub:
    case Instruction::Mul:
    case Instruction::Shl: {
      auto *operation = cast<OverflowingBinaryOperator>(instruction);
      if (isSigned_ ? !operation->hasNoSignedWrap() : !operation->hasNoUnsignedWrap())
        return false;
      usedFlags_ = true;
      return prove(instruction->getOperand(0)) && prove(instruction->getOperand(1));
    }
    case Instruction::Or:
      if (!cast<PossiblyDisjointInst>(instruction)->isDisjoint())
        return false;
      usedFlags_ = true;
      return prove(instruction->getOperand(0)) && prove(instruction->getOperand(1));
    case Instruction::ZExt: // Exact itself, since it carries no correction.
      usedFlags_ = true;
      return true;
    case Instruction::SExt:
      usedFlags_ = true;
      return isSigned_;
    case Instruction::Trunc: {
      auto *trunc = cast<TruncInst>(instruction);
      if (isSigned_ ? !trunc->hasNoSignedWrap() : !trunc->hasNoUnsignedWrap())
        return false;
      usedFlags_ = true;
      return prove(instruction->getOperand(0));
    }
    case Instruction::Select:
      return prove(instruction->getOperand(1)) && prove(instruction->getOperand(2));
    default:
      return false;
    }
  }

  const Uniformity &shapes_;
  const DataLayout &layout_;
  bool isSigned_;
  bool usedFlags_ = false;
  SmallPtrSet<const Value *, 16> visited_;
};

} // namespace

bool Uniformity::extendsExactly(const Value *value, bool isSigned, bool &byFlags) const {
  for (bool asSigned : {isSigned, !isSigned}) {
    // A value without a sign bit extends alike both ways.
    if (asSigned != isSigned &&
        !(value->getType()->isIntegerTy() && computeKnownBits(value, layout_).isNonNegative()))
      break;
    ExtensionProof proof(*this, layout_, asSigned);
    if (proof.prove(value)) {
      byFlags = proof.usedFlags();
      return true;
    }
  }
  return false;
}

} // namespace pewter::cpu::codegen
