// SPDX-License-Identifier: Apache-2.0
//
// SpecializeConstants: gives each placeholder its value, folds the two queries about constants,
// evaluates the static initialisers, writes what they computed into the globals and makes those
// constant. Arguments whose gate came out closed become null. Runs on a module with one kernel,
// before anything looks at control flow: with constants filled in, three quarters of many kernels
// go away.
#pragma once
#include "air/ir/MetadataReader.h"
#include "compiler/Compiler.h"
#include <llvm/IR/PassManager.h>
#include <vector>

namespace pewter::air::ir {

/// What the pass does, for a module whose one function may also be no kernel; false after an error.
bool specializeConstants(llvm::Module &module, const KernelMetadata &function,
                         const std::vector<compiler::ConstantValue> &values,
                         llvm::FunctionAnalysisManager &analyses);

struct SpecializeConstantsOptions {
  std::vector<compiler::ConstantValue> values;
};

class SpecializeConstantsPass : public llvm::PassInfoMixin<SpecializeConstantsPass> {
public:
  explicit SpecializeConstantsPass(SpecializeConstantsOptions options = {})
      : options_(std::move(options)) {}
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &manager);
  static bool isRequired() { return true; }

private:
  SpecializeConstantsOptions options_;
};

} // namespace pewter::air::ir
