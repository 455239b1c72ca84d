// SPDX-License-Identifier: Apache-2.0
//
// ExtractKernel: leaves one kernel in a module, with what it and its gates depend on: other
// kernels, unreached helpers and globals go, and so do the parts of static initialisers that
// compute values nobody reads. Everything but the kernel becomes internal. Stands first: every
// later pass may assume one kernel. An empty name takes the only kernel of the module.
#pragma once
#include <llvm/IR/PassManager.h>
#include <string>

namespace pewter::air::ir {

struct ExtractKernelOptions {
  std::string kernel;
};

class ExtractKernelPass : public llvm::PassInfoMixin<ExtractKernelPass> {
public:
  explicit ExtractKernelPass(ExtractKernelOptions options = {}) : options_(std::move(options)) {}
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &manager);
  static bool isRequired() { return true; }

private:
  ExtractKernelOptions options_;
};

} // namespace pewter::air::ir
