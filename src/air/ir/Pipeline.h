// SPDX-License-Identifier: Apache-2.0
//
// The order of the canonicaliser's passes, and their registration by name for pewter-opt.
#pragma once
#include "air/ir/SpecializeConstants.h"
#include <llvm/Passes/PassBuilder.h>

namespace pewter::air::ir {

struct CanonicalizeOptions {
  std::string kernel; ///< "" takes the only one.
  std::vector<compiler::ConstantValue> constants;
  std::vector<compiler::LinkedFunction> linkedFunctions;
  unsigned maxCallStackDepth = 1;
};

/// Extraction, stripping, specialisation and inlining: afterwards the module is one function.
void addImportPasses(llvm::ModulePassManager &passes, const CanonicalizeOptions &options);
/// Simplification and the final shape of the control flow.
void addSimplifyPasses(llvm::ModulePassManager &passes);

/// Makes every pass of Passes.def known to `builder` by its name, and the whole order as
/// "canonicalize"; passes that want to know the kernel or the constants take them from `options`.
void registerPasses(llvm::PassBuilder &builder, const CanonicalizeOptions &options = {});

} // namespace pewter::air::ir
