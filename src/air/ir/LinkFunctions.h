// SPDX-License-Identifier: Apache-2.0
//
// LinkFunctions: brings functions of other modules into the kernel's: all that stand in tables, listed in
// order in `!pewter.table`, and of the others those whose symbol something declares. Each gets its own
// function constants first. Runs behind extract-kernel, which would drop what nobody calls yet.
#pragma once
#include "compiler/Compiler.h"
#include <llvm/IR/PassManager.h>

namespace pewter::air::ir {

inline constexpr const char *kTableList = "pewter.table";

struct LinkFunctionsOptions {
  std::vector<compiler::LinkedFunction> functions;
};

class LinkFunctionsPass : public llvm::PassInfoMixin<LinkFunctionsPass> {
public:
  explicit LinkFunctionsPass(LinkFunctionsOptions options) : options_(std::move(options)) {}
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &manager);
  static bool isRequired() { return true; }

private:
  LinkFunctionsOptions options_;
};

} // namespace pewter::air::ir
