// SPDX-License-Identifier: Apache-2.0
// Every thread must wait: only then has a kernel that is over waited itself, and who waits for it has waited
// for all before. So the wait stands in a block that all ways pass exactly once, in front of everything that
// reads or writes memory, prefetches and constants aside. Tested by codegen/Pipeline_test.cpp.
#include "cuda/codegen/transform/PlaceWait.h"
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

namespace pewter::cuda::codegen {
using namespace llvm;

namespace {

bool isPrefetch(const Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  return call && call->getIntrinsicID() == Intrinsic::nvvm_prefetch_global_L2;
}

/// Whether the kernel before must be over for this.
bool needsWait(const Instruction &instruction) {
  if (isPrefetch(instruction) || isa<AssumeInst>(instruction))
    return false;
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    if (load->hasMetadata(LLVMContext::MD_invariant_load) || isa<Argument>(getUnderlyingObject(load->getPointerOperand())))
      return false;
  return instruction.mayReadOrWriteMemory();
}

} // namespace

void lowerPrefetches(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function)))
      if (auto *call = dyn_cast<IntrinsicInst>(&instruction); call && call->getIntrinsicID() == Intrinsic::prefetch) {
        Value *at = call->getArgOperand(0);
        if (at->getType()->getPointerAddressSpace() == 1)
          IRBuilder<>(call).CreateIntrinsic(Intrinsic::nvvm_prefetch_global_L2, ArrayRef<Type *>(), {at});
        call->eraseFromParent();
      }
}

void placeWait(Function &entry, bool overlaps) {
  if (!overlaps)
    return;
  auto emit = [&](Instruction *before, const char *text) {
    IRBuilder<> builder(before);
    auto *type = FunctionType::get(builder.getVoidTy(), false);
    auto *call = builder.CreateCall(InlineAsm::get(type, text, "~{memory}", /*hasSideEffects=*/true));
    call->addFnAttr(Attribute::Convergent);
  };
  BasicBlock &first = entry.getEntryBlock();
  Instruction *at = &*first.getFirstNonPHIOrDbgOrAlloca();
  if (any_of(instructions(entry), isPrefetch)) {
    DominatorTree dominators(entry);
    PostDominatorTree after(entry);
    LoopInfo loops(dominators);
    BasicBlock *block = nullptr;
    for (BasicBlock &candidate : entry)
      if (any_of(candidate, needsWait))
        block = block ? dominators.findNearestCommonDominator(block, &candidate) : &candidate;
    if (!block)
      block = &first;
    while (block != &first && (loops.getLoopFor(block) || !after.dominates(block, &first)))
      block = dominators.getNode(block)->getIDom()->getBlock();
    auto place = find_if(*block, needsWait);
    at = place == block->end() ? block->getTerminator() : &*place;
    if (isa<PHINode>(at))
      at = &*block->getFirstNonPHIIt();
  }
  emit(at, "griddepcontrol.wait;");
  emit(&*first.getFirstNonPHIOrDbgOrAlloca(), "griddepcontrol.launch_dependents;");
}

} // namespace pewter::cuda::codegen
