// SPDX-License-Identifier: Apache-2.0
//
// LaneBuilder: an IRBuilder that knows the number of lanes: splats, patterns, masks, and shuffles
// that never span more than two registers' worth of elements at once (LLVM lowers wider ones badly).
// One per function under construction.
#pragma once
#include "cpu/codegen/transform/LaneValue.h"
#include <functional>
#include <llvm/IR/IRBuilder.h>

namespace pewter::cpu::codegen {

class LaneBuilder : public llvm::IRBuilder<> {
public:
  LaneBuilder(llvm::LLVMContext &context, unsigned lanes, unsigned registerBytes)
      : llvm::IRBuilder<>(context), lanes_(lanes), registerBytes_(registerBytes) {}

  unsigned lanes() const { return lanes_; }
  llvm::FixedVectorType *vectorOf(llvm::Type *element) const {
    return llvm::FixedVectorType::get(element, lanes_);
  }
  llvm::IntegerType *bitsType() { return getIntNTy(lanes_); }
  llvm::FixedVectorType *maskType() { return vectorOf(getInt1Ty()); }

  llvm::Value *splat(llvm::Value *scalar) { return CreateVectorSplat(lanes_, scalar); }
  /// The integer vector pattern[lane] + addend; zeros for a null pattern.
  llvm::Constant *patternVector(const LanePattern *pattern, llvm::Type *element,
                                int64_t addend = 0);

  // Masks.
  llvm::ConstantInt *fullBits() { return llvm::ConstantInt::get(bitsType(), -1, true); }
  static bool isFull(const llvm::Value *bits);
  static bool isFull(const LaneMask &mask) { return mask.bits && isFull(mask.bits); }
  /// Bits of a vector of i1; lanes whose bit is poison get an arbitrary one.
  llvm::Value *bitsOf(llvm::Value *vector);
  llvm::Value *vectorOfBits(llvm::Value *bits);
  LaneMask fullMask() { return {fullBits(), llvm::Constant::getAllOnesValue(maskType())}; }
  llvm::Value *bits(LaneMask &mask);
  llvm::Value *vector(LaneMask &mask);
  llvm::Value *any(llvm::Value *bits);
  /// Index of the lowest and of the highest set bit, as i32; the mask is not empty.
  llvm::Value *lowestLane(llvm::Value *bits);
  llvm::Value *highestLane(llvm::Value *bits);

  // Shuffles.
  llvm::Value *shuffleLanes(llvm::Value *vector, const std::function<int(unsigned)> &sourceOf);
  llvm::Value *concatenate(llvm::ArrayRef<llvm::Value *> vectors);
  llvm::Value *slice(llvm::Value *vector, unsigned begin, unsigned count);
  /// count vectors of `lanes` elements -> one vector, element lane * count + i from vector i.
  llvm::Value *interleave(llvm::ArrayRef<llvm::Value *> vectors);
  /// The inverse. `wide` holds lanes * count elements.
  llvm::SmallVector<llvm::Value *, 4> deinterleave(llvm::Value *wide, unsigned count);
  unsigned registerElements(llvm::Type *element) const;

  using Values = llvm::SmallVector<llvm::Value *, 16>;
  /// The same for values that are in registers already, in order; `count` is a power of two.
  Values deinterleaveRegisters(Values registers, unsigned count);

private:
  Values interleaveRegisters(Values registers, unsigned count);
  Values transpose4(const Values &registers);

  unsigned lanes_;
  unsigned registerBytes_;
};

} // namespace pewter::cpu::codegen
