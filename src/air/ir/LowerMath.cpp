// SPDX-License-Identifier: Apache-2.0
//
// The driver: finds the declarations, parses each name once, and asks the families in turn for every
// call. The library functions that they call are linked and inlined at the end, all at once.
//
// Tested by LowerMath_test.cpp and tests/accuracy.
#include "air/ir/LowerMath.h"
#include "air/ir/MathCall.h"
#include "air/ir/MathLibrary.h"

namespace pewter::air::ir {
using namespace llvm;

namespace {

Value *lower(CallInst &call, const AirName &name) {
  MathCall math(call, name);
  for (auto *family : {lowerConversion, lowerFloatOperation, lowerIntegerOperation, lowerPacking})
    if (Value *value = family(math))
      return value;
  return nullptr;
}

bool lowerCallsTo(Function &declaration) {
  std::optional<AirName> name = parseAirName(declaration.getName());
  if (!name)
    return false;
  bool changed = false;
  for (User *user : make_early_inc_range(declaration.users())) {
    auto *call = dyn_cast<CallInst>(user);
    if (!call || call->getCalledOperand() != &declaration)
      continue;
    Value *value = lower(*call, *name);
    if (!value)
      continue;
    if (!call->getType()->isVoidTy()) {
      if (auto *instruction = dyn_cast<Instruction>(value); instruction && !instruction->hasName())
        instruction->takeName(call);
      call->replaceAllUsesWith(value);
    }
    call->eraseFromParent();
    changed = true;
  }
  return changed;
}

} // namespace

bool lowerMath(Module &module) {
  bool changed = false;
  for (Function &function : make_early_inc_range(module)) {
    if (!function.isDeclaration() || !lowerCallsTo(function))
      continue;
    changed = true;
    if (function.use_empty())
      function.eraseFromParent();
  }
  linkMathFunctions(module);
  return changed;
}

PreservedAnalyses LowerMathPass::run(Module &module, ModuleAnalysisManager &) {
  return lowerMath(module) ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace pewter::air::ir
