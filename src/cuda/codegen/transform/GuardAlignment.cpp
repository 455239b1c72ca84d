// SPDX-License-Identifier: Apache-2.0
// Costs an `and` and a compare for each group of accesses that share a base. Atomic and volatile accesses
// keep their form. Tested by Pipeline_test.cpp.
#include "cuda/codegen/transform/GuardAlignment.h"
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Support/KnownBits.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace pewter::cuda::codegen {
using namespace llvm;

namespace {

struct Access {
  Instruction *instruction;
  Value *pointer;
  FixedVectorType *type;
  Align element;
};

/// The access when it is a wide one to device memory whose alignment nothing shows.
std::optional<Access> guarded(Instruction &instruction, const DataLayout &layout) {
  Value *pointer = nullptr;
  Type *type = nullptr;
  Align claimed;
  if (auto *load = dyn_cast<LoadInst>(&instruction); load && load->isSimple()) {
    pointer = load->getPointerOperand(), type = load->getType(), claimed = load->getAlign();
  } else if (auto *store = dyn_cast<StoreInst>(&instruction); store && store->isSimple()) {
    pointer = store->getPointerOperand(), type = store->getValueOperand()->getType();
    claimed = store->getAlign();
  }
  auto *vector = dyn_cast_or_null<FixedVectorType>(type);
  if (!vector || pointer->getType()->getPointerAddressSpace() != 1 || vector->getScalarSizeInBits() < 8)
    return std::nullopt;
  Align element = layout.getABITypeAlign(vector->getElementType());
  if (claimed <= element)
    return std::nullopt;
  if (computeKnownBits(pointer, layout).countMinTrailingZeros() >= Log2(claimed))
    return std::nullopt;
  return Access{&instruction, pointer, vector, element};
}

void guard(const Access &access, const DataLayout &layout) {
  IRBuilder<> builder(access.instruction);
  auto *load = dyn_cast<LoadInst>(access.instruction);
  auto *store = dyn_cast<StoreInst>(access.instruction);
  Align claimed = load ? load->getAlign() : store->getAlign();
  Value *address = builder.CreatePtrToInt(access.pointer, builder.getInt64Ty());
  Value *isAligned = builder.CreateICmpEQ(builder.CreateAnd(address, claimed.value() - 1), builder.getInt64(0));
  Instruction *whole, *apart;
  SplitBlockAndInsertIfThenElse(isAligned, access.instruction, &whole, &apart);

  Type *element = access.type->getElementType();
  uint64_t bytes = layout.getTypeStoreSize(element);
  builder.SetInsertPoint(apart);
  Value *joined = PoisonValue::get(access.type);
  for (unsigned i = 0; i < access.type->getNumElements(); ++i) {
    Value *at = builder.CreateGEP(builder.getInt8Ty(), access.pointer, builder.getInt64(i * bytes));
    if (load) {
      auto *part = builder.CreateAlignedLoad(element, at, access.element);
      part->copyMetadata(*load, {LLVMContext::MD_invariant_load, LLVMContext::MD_noalias, LLVMContext::MD_alias_scope});
      joined = builder.CreateInsertElement(joined, part, uint64_t(i));
    } else {
      builder.CreateAlignedStore(builder.CreateExtractElement(store->getValueOperand(), uint64_t(i)), at,
                                 access.element);
    }
  }
  BasicBlock *apartBlock = apart->getParent();
  access.instruction->moveBefore(whole->getIterator());
  if (!load)
    return;
  BasicBlock *after = whole->getSuccessor(0);
  auto *phi = PHINode::Create(access.type, 2, "", after->begin());
  load->replaceAllUsesWith(phi);
  phi->addIncoming(load, whole->getParent());
  phi->addIncoming(joined, apartBlock);
}

} // namespace

PreservedAnalyses GuardAlignment::run(Module &module, ModuleAnalysisManager &) {
  const DataLayout &layout = module.getDataLayout();
  for (Function &function : module) {
    SmallVector<Access> accesses;
    for (Instruction &instruction : instructions(function))
      if (auto access = guarded(instruction, layout))
        accesses.push_back(*access);
    for (const Access &access : accesses)
      guard(access, layout);
  }
  return PreservedAnalyses::none();
}

} // namespace pewter::cuda::codegen
