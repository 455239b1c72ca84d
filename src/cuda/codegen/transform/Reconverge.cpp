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

bool isCollective(const Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call)
    return false;
  StringRef name = call->getCalledFunction()->getName();
  return name.starts_with("llvm.nvvm.shfl") || name.starts_with("llvm.nvvm.vote") ||
         name.starts_with("llvm.nvvm.activemask");
}

/// The first collective of each block that has one.
SmallVector<Instruction *> firstCollectives(Function &function) {
  SmallVector<Instruction *> found;
  for (BasicBlock &block : function)
    if (auto first = find_if(block, isCollective); first != block.end())
      found.push_back(&*first);
  return found;
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
  if (function.isDeclaration() || firstCollectives(function).empty())
    return PreservedAnalyses::all();
  LoopSimplifyPass().run(function, analyses);
  DominatorTree dominators(function);
  PostDominatorTree after(function);
  LoopInfo loops(dominators);
  SmallVector<std::pair<BasicBlock *, BasicBlock *>> meetings;
  for (BasicBlock &block : function)
    if (BasicBlock *from = meetingOf(&block, dominators, after, loops))
      meetings.push_back({&block, from});

  SmallVector<Instruction *> collectives = firstCollectives(function);
  IRBuilder<> builder(function.getContext());
  DenseMap<BasicBlock *, CallInst *> masks;
  SmallVector<std::pair<CallInst *, BasicBlock *>> waits;
  auto maskAt = [&](BasicBlock *block) {
    CallInst *&mask = masks[block];
    if (!mask) {
      builder.SetInsertPoint(block, block->getFirstInsertionPt());
      mask = builder.CreateIntrinsic(Intrinsic::nvvm_activemask, ArrayRef<Type *>(), ArrayRef<Value *>());
    }
    return mask;
  };
  auto wait = [&](CallInst *mask) {
    return builder.CreateIntrinsic(Intrinsic::nvvm_bar_warp_sync, ArrayRef<Type *>(), {mask});
  };
  // Within a block too: later passes put small branches of their own into it.
  for (Instruction *collective : collectives) {
    CallInst *mask = maskAt(collective->getParent());
    builder.SetInsertPoint(collective);
    wait(mask);
  }
  for (auto [block, from] : meetings) {
    CallInst *mask = maskAt(from);
    builder.SetInsertPoint(block, block->getFirstInsertionPt());
    waits.push_back({wait(mask), block});
  }
  // A block that is both waits first.
  for (auto [call, block] : waits)
    call->moveBefore(*block, block->getFirstInsertionPt());
  return PreservedAnalyses::none();
}

} // namespace pewter::cuda::codegen
