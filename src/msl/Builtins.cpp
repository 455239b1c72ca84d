// SPDX-License-Identifier: Apache-2.0
//
// Tested by: Compile_test.cpp, tests/conformance (Halves.TakeBuiltinsOfTheCompiler).
#include "msl/Builtins.h"
#include "air/ir/ExpandOverflow.h"
#include <llvm/ADT/StringSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace pewter::msl {

using namespace llvm;

namespace {

Value *replacement(IRBuilder<> &builder, const IntrinsicInst &call) {
  switch (call.getIntrinsicID()) {
  case Intrinsic::expect:
  case Intrinsic::expect_with_probability:
    return call.getArgOperand(0);
  case Intrinsic::is_constant:
    return builder.getFalse();
  default:
    return nullptr;
  }
}

/// llvm.exp.f32 -> air.mode_exp.f32
void renameMathFunctions(Module &module) {
  static const StringSet<> kNames = {"acos", "asin", "atan", "atan2", "cos",  "cosh", "exp",  "exp10", "exp2",
                                     "log",  "log10", "log2", "pow",  "sin", "sinh", "tan",  "tanh"};
  for (Function &function : make_early_inc_range(module)) {
    StringRef name = function.getName();
    if (!name.consume_front("llvm.") || !kNames.contains(name.split('.').first))
      continue;
    auto *called = cast<Function>(
        module.getOrInsertFunction(("air.mode_" + name).str(), function.getFunctionType())
            .getCallee());
    called->setDoesNotAccessMemory();
    called->setDoesNotThrow();
    function.replaceAllUsesWith(called);
    function.eraseFromParent();
  }
}

} // namespace

void lowerBuiltins(Module &module) {
  renameMathFunctions(module);
  for (Function &function : module) {
    air::ir::expandOverflow(function);
    for (Instruction &instruction : make_early_inc_range(instructions(function)))
      if (auto *call = dyn_cast<IntrinsicInst>(&instruction)) {
        IRBuilder<> builder(call);
        if (Value *value = replacement(builder, *call)) {
          call->replaceAllUsesWith(value);
          call->eraseFromParent();
        }
      }
  }
}

void returnAtTraps(Function &entry) {
  for (BasicBlock &block : entry)
    if (auto *end = dyn_cast<UnreachableInst>(block.getTerminator()))
      if (auto *call = dyn_cast_or_null<IntrinsicInst>(end->getPrevNode());
          call && call->getIntrinsicID() == Intrinsic::trap) {
        call->eraseFromParent();
        end->eraseFromParent();
        Type *type = entry.getReturnType();
        ReturnInst::Create(entry.getContext(),
                           type->isVoidTy() ? nullptr : Constant::getNullValue(type), &block);
      }
}

} // namespace pewter::msl
