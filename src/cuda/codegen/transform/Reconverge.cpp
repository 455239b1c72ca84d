// SPDX-License-Identifier: Apache-2.0
// For a block J, D is its nearest dominator that is in no loop which J is outside of. When J also post-dominates D, exactly the lanes of D come to J: their mask, read at the head of D, is
// waited for at the head of J. D itself is whole there: it is the entry, a successor of a branch that whole
// lanes took, or such a J. Loop heads are no J, since lanes that left do not come again; lanes of one
// iteration meet in its latch, and all behind the loop.
// Costs an activemask and a bar.warp.sync for each meeting. Tested by Pipeline_test.cpp and, on a GPU, by
// tests/kernels.
#include "cuda/codegen/transform/Reconverge.h"
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

namespace pewter::cuda::codegen {
using namespace llvm;

namespace {

bool lanesWorkTogether(const Function &function) {
  for (const Instruction &instruction : instructions(function))
    if (auto *call = dyn_cast<IntrinsicInst>(&instruction)) {
      StringRef name = call->getCalledFunction()->getName();
      if (name.starts_with("llvm.nvvm.shfl") || name.starts_with("llvm.nvvm.vote") ||
          name.starts_with("llvm.nvvm.activemask"))
        return true;
    }
  return false;
}

/// The D of the head comment, or null.
BasicBlock *meetingOf(BasicBlock *block, const DominatorTree &dominators, const PostDominatorTree &after,
                      const LoopInfo &loops) {
  if (loops.isLoopHeader(block))
    return nullptr;
  DomTreeNode *node = dominators.getNode(block);
  if (!node || !node->getIDom())
    return nullptr;
  node = node->getIDom();
  while (node) {
    Loop *loop = loops.getLoopFor(node->getBlock());
    if (!loop || loop->contains(block))
      break;
    node = node->getIDom();
  }
  if (!node || node->getBlock() == block->getSinglePredecessor() ||
      !after.dominates(block, node->getBlock()))
    return nullptr;
  return node->getBlock();
}

} // namespace

PreservedAnalyses Reconverge::run(Function &function, FunctionAnalysisManager &analyses) {
  if (function.isDeclaration() || !lanesWorkTogether(function))
    return PreservedAnalyses::all();
  LoopSimplifyPass().run(function, analyses);
  DominatorTree dominators(function);
  PostDominatorTree after(function);
  LoopInfo loops(dominators);
  SmallVector<std::pair<BasicBlock *, BasicBlock *>> meetings;
  for (BasicBlock &block : function)
    if (BasicBlock *from = meetingOf(&block, dominators, after, loops))
      meetings.push_back({&block, from});

  IRBuilder<> builder(function.getContext());
  DenseMap<BasicBlock *, CallInst *> masks;
  SmallVector<std::pair<CallInst *, BasicBlock *>> waits;
  for (auto [block, from] : meetings) {
    CallInst *&mask = masks[from];
    if (!mask) {
      builder.SetInsertPoint(from, from->getFirstInsertionPt());
      mask = builder.CreateIntrinsic(Intrinsic::nvvm_activemask, ArrayRef<Type *>(), ArrayRef<Value *>());
    }
    builder.SetInsertPoint(block, block->getFirstInsertionPt());
    waits.push_back({builder.CreateIntrinsic(Intrinsic::nvvm_bar_warp_sync, ArrayRef<Type *>(), {mask}), block});
  }
  // A block that is both waits first.
  for (auto [wait, block] : waits)
    wait->moveBefore(*block, block->getFirstInsertionPt());
  return PreservedAnalyses::none();
}

} // namespace pewter::cuda::codegen
