// SPDX-License-Identifier: Apache-2.0
//
// LaneUniformity: which branches of a kernel the lanes of a SIMD group may take differently, and which
// blocks only some lanes may come to for that. A value is divergent when it comes from the thread's
// position, from memory of its own, from an atomic operation or from another lane, when it depends on
// such a value, when lanes that took different ways bring it to where they meet, and when it leaves a
// loop that lanes leave in different turns. Results of reductions and votes are the same in all lanes
// that take part. LLVM's own analysis takes every call, and the grid that a launch passes, for divergent.
//
// Answers hold until the function changes. Needs no particular form of the function.
#pragma once
#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>

namespace pewter::cuda::codegen {

/// The call is one that the lanes of a SIMD group make together (threadgroup barriers apart).
bool isSimdgroupOperation(const llvm::Instruction &instruction);

class LaneUniformity {
public:
  explicit LaneUniformity(llvm::Function &function);

  bool isDivergent(const llvm::Value *value) const { return divergent_.contains(value); }
  /// The block ends in a branch that lanes may take differently.
  bool branchesApart(const llvm::BasicBlock *block) const;
  /// Lanes that were together may come to the block apart, or not at all.
  bool isReachedApart(const llvm::BasicBlock *block) const { return apart_.contains(block); }

private:
  bool isSource(const llvm::Instruction &instruction) const;
  bool dependsOnLane(const llvm::Instruction &instruction) const;
  bool leavesLoopApart(const llvm::Instruction &user, const llvm::Value *operand) const;
  /// Blocks that are reached or not by what a divergent branch does, and by branches in such blocks.
  bool spread();

  llvm::Function &function_;
  llvm::DominatorTree dominators_;
  llvm::PostDominatorTree postDominators_;
  llvm::LoopInfo loops_;
  llvm::DenseSet<const llvm::Value *> divergent_;
  llvm::DenseSet<const llvm::BasicBlock *> apart_;
};

} // namespace pewter::cuda::codegen
