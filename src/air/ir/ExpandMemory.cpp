// SPDX-License-Identifier: Apache-2.0
// Tested by tests/lit/air/expand-memory.
#include "air/ir/ExpandMemory.h"
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/LowerMemIntrinsics.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

/// More accesses than this become a loop.
constexpr uint64_t kMaxAccesses = 256;

/// Size of the scalars that a thread-memory object consists of; 0 when `pointer` is not into one.
uint64_t elementSizeBehind(const Value *pointer, const DataLayout &layout) {
  const auto *object = dyn_cast<AllocaInst>(getUnderlyingObject(pointer));
  if (!object)
    return 0;
  Type *type = object->getAllocatedType();
  while (true) {
    if (auto *array = dyn_cast<ArrayType>(type))
      type = array->getElementType();
    else if (auto *structure = dyn_cast<StructType>(type); structure && structure->getNumElements())
      type = structure->getElementType(0);
    else if (auto *vector = dyn_cast<FixedVectorType>(type))
      type = vector->getElementType();
    else
      break;
  }
  return type->isSized() ? layout.getTypeStoreSize(type).getFixedValue() : 0;
}

uint64_t accessSize(const MemIntrinsic &intrinsic, uint64_t length, const DataLayout &layout) {
  const auto *transfer = dyn_cast<MemTransferInst>(&intrinsic);
  uint64_t size = std::min<uint64_t>(intrinsic.getDestAlign().valueOrOne().value(), 8);
  if (transfer)
    size = std::min<uint64_t>(size, transfer->getSourceAlign().valueOrOne().value());
  uint64_t element = elementSizeBehind(intrinsic.getDest(), layout);
  if (transfer)
    if (const uint64_t source = elementSizeBehind(transfer->getSource(), layout))
      element = element ? std::min(element, source) : source;
  if (element && element <= 8 && isPowerOf2_64(element))
    size = element;
  while (length % size)
    size /= 2;
  return size;
}

/// Straight-line accesses; false when the length does not allow it.
bool expandInline(MemIntrinsic &intrinsic, const DataLayout &layout) {
  const auto *constant = dyn_cast<ConstantInt>(intrinsic.getLength());
  if (!constant || constant->getValue().getActiveBits() > 32)
    return false;
  const uint64_t length = constant->getZExtValue();
  if (length == 0)
    return true;
  const uint64_t size = accessSize(intrinsic, length, layout);
  if (length / size > kMaxAccesses)
    return false;
  IRBuilder<> builder(&intrinsic);
  Type *type = builder.getIntNTy(size * 8);
  const Align destAlign = intrinsic.getDestAlign().valueOrOne();
  // All loads come before the first store, so overlapping moves are right too.
  SmallVector<Value *, 32> values;
  if (const auto *transfer = dyn_cast<MemTransferInst>(&intrinsic)) {
    const Align align = transfer->getSourceAlign().valueOrOne();
    for (uint64_t at = 0; at < length; at += size)
      values.push_back(builder.CreateAlignedLoad(
          type, builder.CreatePtrAdd(transfer->getRawSource(), builder.getInt64(at)),
          commonAlignment(align, at), transfer->isVolatile()));
  } else {
    Value *byte = cast<MemSetInst>(intrinsic).getValue();
    Value *wide = builder.CreateZExt(byte, type);
    if (size > 1)
      wide =
          builder.CreateMul(wide, ConstantInt::get(type, APInt::getSplat(size * 8, APInt(8, 1))));
    values.assign(length / size, wide);
  }
  for (uint64_t at = 0, i = 0; at < length; at += size, ++i)
    builder.CreateAlignedStore(values[i],
                               builder.CreatePtrAdd(intrinsic.getRawDest(), builder.getInt64(at)),
                               commonAlignment(destAlign, at), intrinsic.isVolatile());
  return true;
}

} // namespace

PreservedAnalyses ExpandMemoryPass::run(Function &function, FunctionAnalysisManager &manager) {
  SmallVector<MemIntrinsic *, 16> found;
  for (Instruction &instruction : instructions(function))
    if (auto *intrinsic = dyn_cast<MemIntrinsic>(&instruction))
      found.push_back(intrinsic);
  if (found.empty())
    return PreservedAnalyses::all();
  const DataLayout &layout = function.getParent()->getDataLayout();
  const TargetTransformInfo &target = manager.getResult<TargetIRAnalysis>(function);
  for (MemIntrinsic *intrinsic : found) {
    if (!expandInline(*intrinsic, layout)) {
      if (auto *copy = dyn_cast<MemCpyInst>(intrinsic))
        expandMemCpyAsLoop(copy, target);
      else if (auto *move = dyn_cast<MemMoveInst>(intrinsic)) {
        if (!expandMemMoveAsLoop(move, target))
          continue;
      } else if (auto *set = dyn_cast<MemSetInst>(intrinsic))
        expandMemSetAsLoop(set);
    }
    intrinsic->eraseFromParent();
  }
  return PreservedAnalyses::none();
}

} // namespace pewter::air::ir
