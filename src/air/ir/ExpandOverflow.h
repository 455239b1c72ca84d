// SPDX-License-Identifier: Apache-2.0
//
// ExpandOverflow: additions, subtractions and products that also say whether they overflowed
// (llvm.*.with.overflow, from __builtin_add_overflow and from LLVM's own simplifier) become arithmetic
// and comparisons, which every device has.
#pragma once
#include <llvm/IR/PassManager.h>

namespace pewter::air::ir {

/// True when something was expanded.
bool expandOverflow(llvm::Function &function);

class ExpandOverflowPass : public llvm::PassInfoMixin<ExpandOverflowPass> {
public:
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &);
  static bool isRequired() { return true; }
};

} // namespace pewter::air::ir
