// SPDX-License-Identifier: Apache-2.0
//
// A divergent branch B makes its region masked: the blocks between B and its nearest post-dominator
// J, where all lanes have met again. When B can leave a loop, or skip to the next iteration around
// J, lanes leave that loop at different times; then the whole loop is masked and J moves out of it.
// Joins are found by sending a label from each side of B forward: a block that two labels reach is
// where lanes with different histories meet (Karrenberg and Hack, "Whole-Function Vectorization").
// Cost: linear in the region for each divergent branch. Tested by Uniformity_test.cpp.
#include "cpu/codegen/analysis/ControlDivergence.h"
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/CFG.h>

using namespace llvm;

namespace pewter::cpu::codegen {

ControlDivergence::ControlDivergence(Function &function)
    : dominators_(function), postDominators_(function), loops_(dominators_) {
  std::vector<BasicBlock *> blocks;
  for (BasicBlock *block : ReversePostOrderTraversal<Function *>(&function))
    blocks.push_back(block);
  computeOrder(blocks, nullptr);
  for (unsigned i = 0; i < order_.size(); ++i)
    index_[order_[i]] = i;
}

void ControlDivergence::computeOrder(const std::vector<BasicBlock *> &reversePostOrder,
                                     Loop *loop) {
  DenseSet<Loop *> done;
  for (BasicBlock *block : reversePostOrder) {
    Loop *inner = loops_.getLoopFor(block);
    if (loop && !loop->contains(block))
      continue;
    if (inner == loop) {
      order_.push_back(block);
      continue;
    }
    while (inner->getParentLoop() != loop)
      inner = inner->getParentLoop();
    if (done.insert(inner).second)
      computeOrder(reversePostOrder, inner);
  }
}

void ControlDivergence::maskEverything() {
  for (BasicBlock *block : order_)
    masked_.insert(block);
}

BasicBlock *ControlDivergence::postDominator(BasicBlock *block) const {
  auto *node = postDominators_.getNode(block);
  node = node ? node->getIDom() : nullptr;
  return node ? node->getBlock() : nullptr;
}

ControlDivergence::Blocks ControlDivergence::reachable(ArrayRef<BasicBlock *> from,
                                                       const BasicBlock *end) const {
  Blocks found;
  SmallVector<BasicBlock *> work(from.begin(), from.end());
  while (!work.empty()) {
    BasicBlock *block = work.pop_back_val();
    if (block == end || !found.insert(block).second)
      continue;
    work.append(succ_begin(block), succ_end(block));
  }
  return found;
}

bool ControlDivergence::bringsDifferentValues(const PHINode &phi) const {
  const BasicBlock *block = phi.getParent();
  for (auto at = arrivals_.lower_bound({block, nullptr});
       at != arrivals_.end() && at->first.first == block; ++at) {
    const Value *only = nullptr;
    for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
      const Value *incoming = phi.getIncomingValue(i);
      if (incoming == &phi || isa<UndefValue>(incoming) ||
          !at->second.contains(phi.getIncomingBlock(i)))
        continue;
      if (only && only != incoming)
        return true;
      only = incoming;
    }
  }
  return false;
}

void ControlDivergence::findJoins(ArrayRef<BasicBlock *> sources, const Blocks &region,
                                  const BasicBlock *end, BranchInst &branch,
                                  const BasicBlock *from) {
  DenseMap<const BasicBlock *, const BasicBlock *> labels;
  for (BasicBlock *block : order_) {
    if (!region.contains(block) && block != end)
      continue;
    SmallPtrSet<const BasicBlock *, 4> arriving;
    if (is_contained(sources, block))
      arriving.insert(block);
    for (BasicBlock *predecessor : predecessors(block)) {
      auto label = labels.find(predecessor);
      if (indexOf(predecessor) < indexOf(block) && predecessor != end && label != labels.end())
        arriving.insert(label->second);
    }
    if (arriving.empty())
      continue;
    if (arriving.size() > 1) {
      joins_.insert(block);
      for (const BasicBlock *predecessor : predecessors(block))
        if (!from || predecessor == from || labels.contains(predecessor))
          arrivals_[{block, &branch}].insert(predecessor);
      labels[block] = block;
    } else {
      labels[block] = *arriving.begin();
    }
  }
}

void ControlDivergence::addDivergentBranch(BranchInst &branch) {
  BasicBlock *block = branch.getParent();
  BasicBlock *meet = postDominator(block);
  SmallVector<BasicBlock *, 2> sides(successors(block));
  Blocks region = reachable(sides, meet);
  findJoins(sides, region, meet, branch, block);
  if (is_contained(sides, meet) && !region.empty()) {
    joins_.insert(meet);
    for (const BasicBlock *predecessor : predecessors(meet))
      if (predecessor == block || region.contains(predecessor))
        arrivals_[{meet, &branch}].insert(predecessor);
  }
  for (Loop *loop = loops_.getLoopFor(block);
       loop && (!meet || !loop->contains(meet) || region.contains(loop->getHeader()));
       loop = loop->getParentLoop()) {
    divergentLoops_.insert(loop);
    for (BasicBlock *inside : loop->blocks())
      masked_.insert(inside);
    while (meet && loop->contains(meet))
      meet = postDominator(meet);
    SmallVector<BasicBlock *, 8> exits;
    loop->getUniqueExitBlocks(exits);
    region = reachable(exits, meet);
    findJoins(exits, region, meet, branch, nullptr);
  }
  for (const BasicBlock *inside : region)
    masked_.insert(inside);
}

bool ControlDivergence::update(const Predicate &isDivergent) {
  size_t before = masked_.size() + joins_.size() + divergentLoops_.size();
  for (BasicBlock *block : order_)
    if (auto *branch = dyn_cast<BranchInst>(block->getTerminator()))
      if (branch->isConditional() && branch->getSuccessor(0) != branch->getSuccessor(1) &&
          isDivergent(*branch))
        addDivergentBranch(*branch);
  return masked_.size() + joins_.size() + divergentLoops_.size() != before;
}

} // namespace pewter::cpu::codegen
