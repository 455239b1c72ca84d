// SPDX-License-Identifier: Apache-2.0
//
// DispatchCalls: function pointers without functions. A function whose address is taken, or that stands in
// `!pewter.table`, gets a number; its address becomes that number, and a call through a pointer becomes a
// switch over the functions of the call's type, inlined on the spot. No number fits: nothing is done, and
// the result is zero. Runs behind inline-helpers, on flat functions; leaves one function.
#pragma once
#include <llvm/IR/PassManager.h>

namespace pewter::air::ir {

struct DispatchCallsOptions {
  /// How often one function may stand on the way to a call: tables make recursion possible, and it must end.
  unsigned maxCallStackDepth = 1;
};

class DispatchCallsPass : public llvm::PassInfoMixin<DispatchCallsPass> {
public:
  explicit DispatchCallsPass(DispatchCallsOptions options = {}) : options_(options) {}
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &manager);
  static bool isRequired() { return true; }

private:
  DispatchCallsOptions options_;
};

} // namespace pewter::air::ir
