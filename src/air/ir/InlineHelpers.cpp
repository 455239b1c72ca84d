// SPDX-License-Identifier: Apache-2.0
// Callees are inlined bottom-up, so each body is copied once it is flat. The size of what comes out
// is limited: a chain of helpers that call each other twice would otherwise double at each step.
// Tested by tests/lit/air/inline-helpers and Canonicalize_test.cpp.
#include "air/ir/InlineHelpers.h"
#include "air/ir/AirCalls.h"
#include "air/ir/AirModule.h"
#include "air/ir/PassError.h"
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

constexpr size_t kMaxInstructions = 1 << 20;

class Inliner {
public:
  explicit Inliner(LLVMContext &context) : context_(context) {}

  /// Makes `function` free of calls to defined functions; false after reporting why not.
  bool flatten(Function &function) {
    state_[&function] = State::Open;
    // Callees first: afterwards each call site needs one step.
    SmallVector<CallInst *, 16> calls;
    for (Instruction &instruction : instructions(function))
      if (auto *base = dyn_cast<CallBase>(&instruction)) {
        auto *call = dyn_cast<CallInst>(base);
        Function *callee = base->getCalledFunction();
        if (call && !callee && !call->isInlineAsm())
          continue; // For dispatch-calls.
        if (!call || !callee || callee->getFunctionType() != base->getFunctionType())
          return problem(function, "calls a function with operands of other types than it takes");
        if (!callee->isDeclaration())
          calls.push_back(call);
        else if (!callee->isIntrinsic() && classify(*callee) == AirCall::None)
          return problem(function,
                         "calls the undefined function \"" + demangle(callee->getName().str()) +
                             "\"");
      }
    for (CallInst *call : calls) {
      Function &callee = *call->getCalledFunction();
      const auto known = state_.find(&callee);
      if (known != state_.end() && known->second == State::Open)
        return problem(callee, "calls itself, directly or through others");
      if (known == state_.end() && !flatten(callee))
        return false;
    }
    for (CallInst *call : calls) {
      Function &callee = *call->getCalledFunction();
      if (function.getInstructionCount() + callee.getInstructionCount() > kMaxInstructions)
        return problem(function, "has more than 1048576 instructions once its helpers are inlined");
      InlineFunctionInfo info;
      const InlineResult result = InlineFunction(*call, info, /*MergeAttributes=*/false,
                                                 /*CalleeAAR=*/nullptr, /*InsertLifetime=*/true);
      if (!result.isSuccess())
        return problem(function, "has a helper \"" + callee.getName().str() +
                                     "\" that cannot be inlined: " + result.getFailureReason());
    }
    state_[&function] = State::Done;
    return true;
  }

  bool isFlat(const Function &function) const { return state_.contains(&function); }

private:
  bool problem(const Function &function, const std::string &what) {
    report(context_, ErrorKind::Unsupported, "Function \"{}\" {}.", function.getName().str(), what);
    return false;
  }

  enum class State { Open, Done };
  LLVMContext &context_;
  DenseMap<const Function *, State> state_;
};

} // namespace

PreservedAnalyses InlineHelpersPass::run(Module &module, ModuleAnalysisManager &) {
  Inliner inliner(module.getContext());
  for (Function &function : module)
    if (!function.isDeclaration() &&
        (!function.hasLocalLinkage() || function.hasAddressTaken()) && !inliner.isFlat(function) &&
        !inliner.flatten(function))
      return PreservedAnalyses::none();
  for (Function &function : make_early_inc_range(module))
    if (!function.isDeclaration() && function.hasLocalLinkage()) {
      function.removeDeadConstantUsers();
      if (function.use_empty())
        function.eraseFromParent();
    }
  // Chains: a helper goes once its last caller has gone.
  bool changed = true;
  while (changed) {
    changed = false;
    for (Function &function : make_early_inc_range(module))
      if (!function.isDeclaration() && function.hasLocalLinkage() && function.use_empty()) {
        function.eraseFromParent();
        changed = true;
      }
  }
  return PreservedAnalyses::none();
}

} // namespace pewter::air::ir
