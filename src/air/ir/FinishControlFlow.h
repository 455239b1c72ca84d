// SPDX-License-Identifier: Apache-2.0
//
// FinishControlFlow: takes out what only guided the optimiser (assumptions, lifetimes, scopes), and
// turns `unreachable` into a return: a program that gets there has no meaning in Metal, but a
// device must survive it. Stands at the end, where no pass can draw conclusions any more; the
// passes that give the graph its shape (one return, reducible, loops simplified) follow it in
// Pipeline.cpp.
#pragma once
#include <llvm/IR/PassManager.h>

namespace pewter::air::ir {

class FinishControlFlowPass : public llvm::PassInfoMixin<FinishControlFlowPass> {
public:
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &);
  static bool isRequired() { return true; }
};

} // namespace pewter::air::ir
