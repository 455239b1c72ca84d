// SPDX-License-Identifier: Apache-2.0
//
// What LLVM's passes are told about "the AIR machine": no library functions exist, and how far
// loops are unrolled. The policy is about correctness of performance, not taste: Apple leaves
// unrolling to the device's compiler, and a private array indexed by a loop counter stays in
// memory, 32 copies of it, unless that loop goes away entirely.
#pragma once
#include <llvm/Passes/PassBuilder.h>

namespace pewter::air::ir {

/// The analysis managers of one run, with the AIR machine's analyses in place of the defaults.
struct AnalysisManagers {
  explicit AnalysisManagers(llvm::PassInstrumentationCallbacks *callbacks = nullptr);

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
};

/// Registers the AIR machine's analyses; call before PassBuilder registers its own.
void registerTargetAnalyses(llvm::FunctionAnalysisManager &functions);

} // namespace pewter::air::ir
