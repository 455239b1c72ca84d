// SPDX-License-Identifier: Apache-2.0
// Tested by tests/lit/air/finish-control-flow.
#include "air/ir/FinishControlFlow.h"
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/Local.h>

namespace pewter::air::ir {
using namespace llvm;

PreservedAnalyses FinishControlFlowPass::run(Function &function, FunctionAnalysisManager &) {
  for (Instruction &instruction : make_early_inc_range(instructions(function))) {
    auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction);
    if (!intrinsic)
      continue;
    if (intrinsic->isLifetimeStartOrEnd() || intrinsic->isAssumeLikeIntrinsic()) {
      if (!intrinsic->use_empty() && intrinsic->arg_size() > 0 &&
          intrinsic->getArgOperand(0)->getType() == intrinsic->getType())
        intrinsic->replaceAllUsesWith(intrinsic->getArgOperand(0));
      if (intrinsic->use_empty())
        intrinsic->eraseFromParent();
    }
  }
  for (BasicBlock &block : function)
    if (auto *dead = dyn_cast<UnreachableInst>(block.getTerminator())) {
      Type *type = function.getReturnType();
      ReturnInst::Create(function.getContext(),
                         type->isVoidTy() ? nullptr : Constant::getNullValue(type),
                         dead->getIterator());
      dead->eraseFromParent();
    }
  removeUnreachableBlocks(function);
  return PreservedAnalyses::none();
}

} // namespace pewter::air::ir
