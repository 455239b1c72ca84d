// SPDX-License-Identifier: Apache-2.0
//
// ControlDivergence: which blocks of a kernel run with only some lanes, where lanes meet again, and
// which loops lanes leave at different times. It is told which branches are divergent and answers
// with sets that only grow, so that the shape analysis can call it until nothing changes.
//
// Needs a function in loop-simplify form with one return and reducible control flow.
#pragma once
#include <functional>
#include <map>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <vector>

namespace pewter::cpu::codegen {

class ControlDivergence {
public:
  using Predicate = std::function<bool(const llvm::BranchInst &)>;

  explicit ControlDivergence(llvm::Function &function);

  /// Marks every block masked: a partial SIMD group.
  void maskEverything();
  /// Adds what the divergent branches imply; true when something was added.
  bool update(const Predicate &isDivergent);

  /// Blocks so ordered that a definition precedes its uses and the blocks of a loop are consecutive.
  const std::vector<llvm::BasicBlock *> &order() const { return order_; }
  unsigned indexOf(const llvm::BasicBlock *block) const { return index_.lookup(block); }
  /// The block runs under a mask.
  bool isMasked(const llvm::BasicBlock *block) const { return masked_.contains(block); }
  /// Lanes that took different ways meet at the start of the block.
  bool isJoin(const llvm::BasicBlock *block) const { return joins_.contains(block); }
  /// Lanes that took different ways bring different values of the phi. Edges that no divergent branch
  /// leads to both of are taken by all lanes or by none.
  bool bringsDifferentValues(const llvm::PHINode &phi) const;
  /// Lanes leave the loop in different iterations.
  bool hasDivergentExit(const llvm::Loop *loop) const { return divergentLoops_.contains(loop); }

  const llvm::LoopInfo &loops() const { return loops_; }
  const llvm::DominatorTree &dominators() const { return dominators_; }

private:
  using Blocks = llvm::DenseSet<const llvm::BasicBlock *>;

  void computeOrder(const std::vector<llvm::BasicBlock *> &reversePostOrder, llvm::Loop *loop);
  llvm::BasicBlock *postDominator(llvm::BasicBlock *block) const;
  Blocks reachable(llvm::ArrayRef<llvm::BasicBlock *> from, const llvm::BasicBlock *end) const;
  /// `from` is the branch's block, or null for the exits of a loop.
  void findJoins(llvm::ArrayRef<llvm::BasicBlock *> sources, const Blocks &region,
                 const llvm::BasicBlock *end, llvm::BranchInst &branch,
                 const llvm::BasicBlock *from);
  void addDivergentBranch(llvm::BranchInst &branch);

  llvm::DominatorTree dominators_;
  llvm::PostDominatorTree postDominators_;
  llvm::LoopInfo loops_;
  std::vector<llvm::BasicBlock *> order_;
  llvm::DenseMap<const llvm::BasicBlock *, unsigned> index_;
  Blocks masked_, joins_;
  /// Of each join, the blocks that lanes of one divergent branch come from.
  std::map<std::pair<const llvm::BasicBlock *, const llvm::BranchInst *>, Blocks> arrivals_;
  llvm::DenseSet<const llvm::Loop *> divergentLoops_;
};

} // namespace pewter::cpu::codegen
