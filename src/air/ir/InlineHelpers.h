// SPDX-License-Identifier: Apache-2.0
//
// InlineHelpers: inlines every call of a defined function, whatever its size: barriers sit inside
// helpers, and a back-end forms its regions in one function. Recursion and calls of undefined functions
// that are neither `air.*` nor LLVM's are errors; calls through pointers are left to dispatch-calls. Runs after specialisation, so
// that code which the constants switched off is not copied.
#pragma once
#include <llvm/IR/PassManager.h>

namespace pewter::air::ir {

class InlineHelpersPass : public llvm::PassInfoMixin<InlineHelpersPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &manager);
  static bool isRequired() { return true; }
};

} // namespace pewter::air::ir
