// SPDX-License-Identifier: Apache-2.0
// In structured control flow a block with several ways in is where its nearest dominator's lanes meet, and
// a block behind a loop gets all that entered it. Masks are made only where an operation needs them: a
// branch costs a vote, and one that all lanes take alike nothing. Tested by codegen/Pipeline_test.cpp and,
// on a GPU, by tests/kernels.
#include "cuda/codegen/transform/LaneMasks.h"
#include "cuda/codegen/analysis/LaneUniformity.h"
#include "cuda/codegen/transform/EmitWarp.h"
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/Transforms/Scalar/StructurizeCFG.h>
#include <llvm/Transforms/Utils/FixIrreducible.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LowerSwitch.h>
#include <llvm/Transforms/Utils/UnifyFunctionExitNodes.h>
#include <llvm/Transforms/Utils/UnifyLoopExits.h>

namespace pewter::cuda::codegen {
using namespace llvm;

namespace {

SmallVector<CallInst *> operationsOf(Function &kernel) {
  SmallVector<CallInst *> found;
  for (Instruction &instruction : instructions(kernel))
    if (isSimdgroupOperation(instruction))
      found.push_back(cast<CallInst>(&instruction));
  return found;
}

void structure(Function &kernel, FunctionAnalysisManager &analyses) {
  // Where the program ends for good it may as well return: one way out is what the structure needs.
  for (BasicBlock &block : kernel)
    if (auto *end = dyn_cast<UnreachableInst>(block.getTerminator())) {
      ReturnInst::Create(kernel.getContext(), nullptr, end->getIterator());
      end->eraseFromParent();
    }
  FunctionPassManager passes;
  passes.addPass(LowerSwitchPass());
  passes.addPass(UnifyFunctionExitNodesPass());
  passes.addPass(LoopSimplifyPass());
  passes.addPass(FixIrreduciblePass());
  passes.addPass(UnifyLoopExitsPass());
  passes.addPass(StructurizeCFGPass());
  // Loops get a block of their own before them, whose mask is that of all who enter.
  passes.addPass(LoopSimplifyPass());
  passes.run(kernel, analyses);
  analyses.invalidate(kernel, PreservedAnalyses::none());
}

class Masks {
public:
  explicit Masks(Function &kernel)
      : kernel_(kernel), builder_(kernel.getContext()), uniformity_(kernel), dominators_(kernel),
        loops_(dominators_) {}

  Value *at(BasicBlock *block) {
    auto known = masks_.find(block);
    if (known != masks_.end())
      return known->second;
    Value *mask = compute(block);
    return masks_[block] = mask;
  }

  /// The threads that the warp has: fewer than 32 in the last of a threadgroup that is no multiple.
  Value *existing() {
    if (existing_)
      return existing_;
    builder_.SetInsertPoint(&kernel_.getEntryBlock(), kernel_.getEntryBlock().getFirstInsertionPt());
    auto read = [&](Intrinsic::ID id) {
      return builder_.CreateIntrinsic(id, ArrayRef<Type *>(), ArrayRef<Value *>());
    };
    Value *sizeX = read(Intrinsic::nvvm_read_ptx_sreg_ntid_x), *sizeY = read(Intrinsic::nvvm_read_ptx_sreg_ntid_y);
    Value *index = builder_.CreateMul(read(Intrinsic::nvvm_read_ptx_sreg_tid_z), sizeY);
    index = builder_.CreateAdd(index, read(Intrinsic::nvvm_read_ptx_sreg_tid_y));
    index = builder_.CreateAdd(builder_.CreateMul(index, sizeX), read(Intrinsic::nvvm_read_ptx_sreg_tid_x));
    Value *threads = builder_.CreateMul(builder_.CreateMul(sizeX, sizeY), read(Intrinsic::nvvm_read_ptx_sreg_ntid_z));
    Value *left = builder_.CreateSub(threads, builder_.CreateAnd(index, ~31u));
    Value *missing = builder_.CreateSub(builder_.getInt32(32),
                                        builder_.CreateBinaryIntrinsic(Intrinsic::umin, left, builder_.getInt32(32)));
    return existing_ = builder_.CreateLShr(builder_.getInt32(~0u), missing);
  }

private:
  Value *compute(BasicBlock *block) {
    if (block == &kernel_.getEntryBlock())
      return existing();
    if (Loop *loop = loops_.getLoopFor(block); loop && loop->getHeader() == block)
      return roundLoop(*loop);
    BasicBlock *before = dominators_.getNode(block)->getIDom()->getBlock();
    // Behind a loop all who entered it meet.
    Loop *left = nullptr;
    for (Loop *loop = loops_.getLoopFor(before); loop && !loop->contains(block); loop = loop->getParentLoop())
      left = loop;
    if (left)
      return at(left->getLoopPreheader());
    if (block->getSinglePredecessor())
      return along(before, block);
    return at(before);
  }

  Value *roundLoop(Loop &loop) {
    BasicBlock *header = loop.getHeader();
    PHINode *phi = PHINode::Create(builder_.getInt32Ty(), pred_size(header), "lanes", header->begin());
    masks_[header] = phi; // what follows may ask for it
    for (BasicBlock *from : predecessors(header))
      phi->addIncoming(along(from, header), from);
    return phi;
  }

  /// The mask on the edge.
  Value *along(BasicBlock *from, BasicBlock *to) {
    Value *mask = at(from);
    auto *branch = dyn_cast<BranchInst>(from->getTerminator());
    if (!branch || branch->isUnconditional() || branch->getSuccessor(0) == branch->getSuccessor(1) ||
        !uniformity_.branchesApart(from))
      return mask;
    Value *&taken = taken_[from];
    builder_.SetInsertPoint(branch);
    if (!taken)
      taken = EmitWarp(builder_).ballot(branch->getCondition(), mask);
    return branch->getSuccessor(0) == to ? taken : builder_.CreateAnd(mask, builder_.CreateNot(taken));
  }

  Function &kernel_;
  IRBuilder<> builder_;
  LaneUniformity uniformity_;
  DominatorTree dominators_;
  LoopInfo loops_;
  DenseMap<BasicBlock *, Value *> masks_, taken_;
  Value *existing_ = nullptr;
};

} // namespace

DenseMap<CallInst *, LaneMask> computeLaneMasks(Function &kernel, FunctionAnalysisManager &analyses) {
  DenseMap<CallInst *, LaneMask> result;
  SmallVector<CallInst *> operations = operationsOf(kernel);
  if (operations.empty())
    return result;
  auto *all = ConstantInt::get(Type::getInt32Ty(kernel.getContext()), ~0u);
  LaneUniformity before(kernel);
  bool comeApart =
      any_of(operations, [&](CallInst *call) { return before.isReachedApart(call->getParent()); });
  if (comeApart)
    structure(kernel, analyses);
  Masks masks(kernel);
  Value *existing = masks.existing();
  for (CallInst *call : operationsOf(kernel)) {
    Value *active = comeApart ? masks.at(call->getParent()) : existing;
    result[call] = {active, active == existing ? all : active};
  }
  return result;
}

} // namespace pewter::cuda::codegen
