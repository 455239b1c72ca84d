// SPDX-License-Identifier: Apache-2.0
//
// The flag of a sum or difference is read from its result; that of a product from a wider one.
//
// Tested by tests/lit/air/expand-overflow and tests/conformance (Halves.TakeBuiltinsOfTheCompiler).
#include "air/ir/ExpandOverflow.h"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

void expand(WithOverflowInst &call) {
  IRBuilder<> builder(&call);
  Value *a = call.getLHS(), *b = call.getRHS();
  Value *result = nullptr, *overflow = nullptr;
  if (call.getBinaryOp() == Instruction::Mul) {
    Type *wide = a->getType()->getExtendedType();
    const auto widened = [&](Value *value) {
      return call.isSigned() ? builder.CreateSExt(value, wide) : builder.CreateZExt(value, wide);
    };
    Value *product = builder.CreateMul(widened(a), widened(b));
    result = builder.CreateTrunc(product, a->getType());
    overflow = builder.CreateICmpNE(product, widened(result));
  } else {
    const bool isSum = call.getBinaryOp() == Instruction::Add;
    result = isSum ? builder.CreateAdd(a, b) : builder.CreateSub(a, b);
    if (!call.isSigned()) {
      overflow = isSum ? builder.CreateICmpULT(result, a) : builder.CreateICmpULT(a, b);
    } else {
      Value *changed = builder.CreateXor(a, result);
      Value *other = isSum ? builder.CreateXor(b, result) : builder.CreateXor(a, b);
      overflow = builder.CreateICmpSLT(builder.CreateAnd(changed, other), Constant::getNullValue(a->getType()));
    }
  }
  for (User *user : make_early_inc_range(call.users()))
    if (auto *part = dyn_cast<ExtractValueInst>(user)) {
      part->replaceAllUsesWith(part->getIndices()[0] == 0 ? result : overflow);
      part->eraseFromParent();
    }
  if (!call.use_empty()) {
    Value *both = builder.CreateInsertValue(PoisonValue::get(call.getType()), result, 0);
    call.replaceAllUsesWith(builder.CreateInsertValue(both, overflow, 1));
  }
  call.eraseFromParent();
}

} // namespace

bool expandOverflow(Function &function) {
  bool changed = false;
  SmallVector<WithOverflowInst *> calls;
  for (Instruction &instruction : instructions(function))
    if (auto *call = dyn_cast<WithOverflowInst>(&instruction))
      calls.push_back(call);
  for (WithOverflowInst *call : calls) {
    expand(*call);
    changed = true;
  }
  return changed;
}

PreservedAnalyses ExpandOverflowPass::run(Function &function, FunctionAnalysisManager &) {
  if (!expandOverflow(function))
    return PreservedAnalyses::all();
  PreservedAnalyses kept;
  kept.preserveSet<CFGAnalyses>();
  return kept;
}

} // namespace pewter::air::ir
