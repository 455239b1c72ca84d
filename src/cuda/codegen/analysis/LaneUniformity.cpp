// SPDX-License-Identifier: Apache-2.0
// A fixed point over sets that only grow. "Reached apart" is control dependence on divergent branches,
// closed under itself. Tested by codegen/Pipeline_test.cpp.
#include "cuda/codegen/analysis/LaneUniformity.h"
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

namespace pewter::cuda::codegen {
using namespace llvm;

namespace {

StringRef airNameOf(const Instruction &instruction) {
  auto *call = dyn_cast<CallInst>(&instruction);
  const Function *callee = call ? call->getCalledFunction() : nullptr;
  StringRef name = callee ? callee->getName() : "";
  return name.starts_with("air.") ? name : "";
}

/// A SIMD-group operation whose result is the same in every lane that takes part.
bool isSameInAllLanes(StringRef name) {
  if (!name.consume_front("air.simd_"))
    return false;
  StringRef operation = name.split('.').first;
  for (const char *known : {"sum", "product", "min", "max", "and", "or", "xor", "all", "any", "ballot",
                            "active_threads_mask", "broadcast_first"})
    if (operation == known)
      return true;
  return false;
}

bool isOfTheLaunch(Intrinsic::ID id) {
  switch (id) {
  case Intrinsic::nvvm_read_ptx_sreg_ctaid_x:
  case Intrinsic::nvvm_read_ptx_sreg_ctaid_y:
  case Intrinsic::nvvm_read_ptx_sreg_ctaid_z:
  case Intrinsic::nvvm_read_ptx_sreg_ntid_x:
  case Intrinsic::nvvm_read_ptx_sreg_ntid_y:
  case Intrinsic::nvvm_read_ptx_sreg_ntid_z:
    return true;
  default:
    return false;
  }
}

} // namespace

bool isSimdgroupOperation(const Instruction &instruction) {
  StringRef name = airNameOf(instruction);
  return name.starts_with("air.simd_") || name.starts_with("air.quad_") || name == "air.simdgroup.barrier";
}

LaneUniformity::LaneUniformity(Function &function)
    : function_(function), dominators_(function), postDominators_(function), loops_(dominators_) {
  for (bool changed = true; changed;) {
    changed = spread();
    for (const Instruction &instruction : instructions(function))
      if (!divergent_.contains(&instruction) && dependsOnLane(instruction)) {
        divergent_.insert(&instruction);
        changed = true;
      }
  }
}

bool LaneUniformity::branchesApart(const BasicBlock *block) const {
  const Instruction *end = block->getTerminator();
  return end->getNumSuccessors() > 1 && divergent_.contains(end);
}

bool LaneUniformity::isSource(const Instruction &instruction) const {
  if (instruction.isAtomic() || isa<AllocaInst>(instruction))
    return true;
  if (auto *load = dyn_cast<LoadInst>(&instruction)) {
    if (load->isVolatile())
      return true;
    const Value *base = load->getPointerOperand()->stripInBoundsOffsets();
    if (auto *argument = dyn_cast<Argument>(base); argument && argument->hasByValAttr())
      return false;
    unsigned space = load->getPointerAddressSpace();
    return space != 1 && space != 3 && space != 4;
  }
  auto *call = dyn_cast<CallInst>(&instruction);
  if (!call)
    return false;
  if (auto *intrinsic = dyn_cast<IntrinsicInst>(call))
    return intrinsic->getCalledFunction()->getName().starts_with("llvm.nvvm.") &&
           !isOfTheLaunch(intrinsic->getIntrinsicID());
  StringRef name = airNameOf(instruction);
  if (isSimdgroupOperation(instruction))
    return !isSameInAllLanes(name);
  // Functions of their operands alone; what touches memory may see that of the thread.
  return name.empty() || name.starts_with("air.atomic") || !call->doesNotAccessMemory();
}

bool LaneUniformity::leavesLoopApart(const Instruction &user, const Value *operand) const {
  auto *definition = dyn_cast<Instruction>(operand);
  if (!definition)
    return false;
  for (const Loop *loop = loops_.getLoopFor(definition->getParent()); loop && !loop->contains(&user);
       loop = loop->getParentLoop()) {
    SmallVector<BasicBlock *> exiting;
    loop->getExitingBlocks(exiting);
    if (any_of(exiting, [&](const BasicBlock *block) { return branchesApart(block) || apart_.contains(block); }))
      return true;
  }
  return false;
}

bool LaneUniformity::dependsOnLane(const Instruction &instruction) const {
  if (isSource(instruction))
    return true;
  if (auto *phi = dyn_cast<PHINode>(&instruction); phi && !phi->hasConstantOrUndefValue()) {
    // Lanes come to the head of a loop that has one way in and one way round by the same of the two.
    const Loop *loop = loops_.getLoopFor(phi->getParent());
    bool isOneWay = loop && loop->getHeader() == phi->getParent() && loop->getLoopLatch() && loop->getLoopPredecessor();
    if (!isOneWay && any_of(phi->blocks(), [&](const BasicBlock *from) {
          return branchesApart(from) || apart_.contains(from);
        }))
      return true;
  }
  if (isSameInAllLanes(airNameOf(instruction)))
    return any_of(instruction.operands(), [&](const Use &use) { return leavesLoopApart(instruction, use); });
  return any_of(instruction.operands(), [&](const Use &use) {
    return divergent_.contains(use) || leavesLoopApart(instruction, use);
  });
}

bool LaneUniformity::spread() {
  bool changed = false;
  for (bool more = true; more;) {
    more = false;
    for (const BasicBlock &block : function_) {
      if (block.getTerminator()->getNumSuccessors() < 2 || !(branchesApart(&block) || apart_.contains(&block)))
        continue;
      auto *node = postDominators_.getNode(&block);
      auto *end = node ? node->getIDom() : nullptr;
      for (const BasicBlock *successor : successors(&block))
        for (auto *at = postDominators_.getNode(successor); at && at != end; at = at->getIDom())
          if (at->getBlock() && apart_.insert(at->getBlock()).second)
            more = changed = true;
    }
  }
  return changed;
}

} // namespace pewter::cuda::codegen
