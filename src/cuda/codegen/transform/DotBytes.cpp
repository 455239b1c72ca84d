// SPDX-License-Identifier: Apache-2.0
// Looks at whole trees of additions: earlier passes chain the sums of several dot products. Tested by
// codegen/Pipeline_test.cpp.
#include "cuda/codegen/transform/DotBytes.h"
#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Transforms/Utils/Local.h>

namespace pewter::cuda::codegen {
using namespace llvm;

namespace {

bool isSum(const Value *value) {
  auto *add = dyn_cast<BinaryOperator>(value);
  return add && add->getOpcode() == Instruction::Add && add->getType()->isIntegerTy(32);
}

struct FourBytes {
  Value *vector; ///< <4 x i8>, or <4 x i32> to be cut.
  bool isSigned;
};

std::optional<FourBytes> bytesOf(Value *value, const DataLayout &layout) {
  if (auto *widened = dyn_cast<CastInst>(value); widened && (isa<SExtInst>(value) || isa<ZExtInst>(value)))
    if (widened->getSrcTy()->getScalarSizeInBits() == 8)
      return FourBytes{widened->getOperand(0), isa<SExtInst>(value)};
  if (ComputeNumSignBits(value, layout) > 24)
    return FourBytes{value, true};
  return std::nullopt;
}

/// A product of four bytes and what takes its elements.
struct Dot {
  FourBytes a, b;
  unsigned elements = 0; ///< Bits: which were found.
};

void flatten(Value *value, BinaryOperator *root, SmallVectorImpl<Value *> &leaves) {
  if (value == root || (isSum(value) && value->hasOneUse())) {
    auto *add = cast<BinaryOperator>(value);
    flatten(add->getOperand(0), root, leaves);
    flatten(add->getOperand(1), root, leaves);
  } else {
    leaves.push_back(value);
  }
}

void rewrite(BinaryOperator &root, const DataLayout &layout) {
  SmallVector<Value *> leaves, rest;
  flatten(&root, &root, leaves);
  MapVector<Value *, Dot> dots;
  auto elementOf = [](Value *leaf) -> std::pair<BinaryOperator *, uint64_t> {
    auto *extract = dyn_cast<ExtractElementInst>(leaf);
    auto *product = extract ? dyn_cast<BinaryOperator>(extract->getVectorOperand()) : nullptr;
    auto *index = extract ? dyn_cast<ConstantInt>(extract->getIndexOperand()) : nullptr;
    auto *type = product ? dyn_cast<FixedVectorType>(product->getType()) : nullptr;
    bool isOne = index && type && product->getOpcode() == Instruction::Mul && type->getNumElements() == 4;
    return {isOne ? product : nullptr, isOne ? index->getZExtValue() : 0};
  };
  for (Value *leaf : leaves)
    if (auto [product, index] = elementOf(leaf); product) {
      auto known = dots.find(product);
      if (known == dots.end()) {
        auto a = bytesOf(product->getOperand(0), layout), b = bytesOf(product->getOperand(1), layout);
        if (!a || !b)
          continue;
        known = dots.insert({product, Dot{*a, *b}}).first;
      }
      unsigned bit = 1u << index;
      // Twice the same element, or the same product twice: left as it is.
      known->second.elements = known->second.elements & bit ? ~0u : known->second.elements | bit;
    }
  dots.remove_if([](const auto &entry) { return entry.second.elements != 15; });
  if (dots.empty())
    return;
  IRBuilder<> builder(&root);
  Value *sum = nullptr;
  for (Value *leaf : leaves)
    if (auto [product, index] = elementOf(leaf); !product || !dots.contains(product))
      sum = sum ? builder.CreateAdd(sum, leaf) : leaf;
  if (!sum)
    sum = builder.getInt32(0);
  auto packed = [&](const FourBytes &bytes) {
    auto *type = FixedVectorType::get(builder.getInt8Ty(), 4);
    return builder.CreateBitCast(builder.CreateTrunc(bytes.vector, type), builder.getInt32Ty());
  };
  for (auto &[product, dot] : dots) {
    Intrinsic::ID id = dot.a.isSigned ? (dot.b.isSigned ? Intrinsic::nvvm_idp4a_s_s : Intrinsic::nvvm_idp4a_s_u)
                                      : (dot.b.isSigned ? Intrinsic::nvvm_idp4a_u_s : Intrinsic::nvvm_idp4a_u_u);
    sum = builder.CreateIntrinsic(id, ArrayRef<Type *>(), {packed(dot.a), packed(dot.b), sum});
  }
  root.replaceAllUsesWith(sum);
  RecursivelyDeleteTriviallyDeadInstructions(&root);
}

} // namespace

PreservedAnalyses DotBytes::run(Module &module, ModuleAnalysisManager &) {
  SmallVector<WeakVH> roots; // One may die with another that was rewritten.
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (isSum(&instruction) && !(instruction.hasOneUse() && isSum(*instruction.user_begin())))
        roots.push_back(&instruction);
  for (const WeakVH &root : roots)
    if (root)
      rewrite(*cast<BinaryOperator>(root), module.getDataLayout());
  return PreservedAnalyses::none();
}

} // namespace pewter::cuda::codegen
