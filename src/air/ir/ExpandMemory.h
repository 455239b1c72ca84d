// SPDX-License-Identifier: Apache-2.0
//
// ExpandMemory: memcpy, memmove and memset become loads and stores, elements as wide as what the
// thread-memory object behind them is made of (else as wide as both alignments allow): a back-end
// lays private arrays out by the accesses it sees, and one access of another width costs it the
// good layout. Long or variable lengths become byte loops. Runs after the main simplification,
// which turns most copies into values; scalar replacement runs once more behind it.
#pragma once
#include <llvm/IR/PassManager.h>

namespace pewter::air::ir {

class ExpandMemoryPass : public llvm::PassInfoMixin<ExpandMemoryPass> {
public:
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &manager);
  static bool isRequired() { return true; }
};

} // namespace pewter::air::ir
