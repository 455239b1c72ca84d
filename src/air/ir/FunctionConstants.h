// SPDX-License-Identifier: Apache-2.0
//
// Function constants as a module holds them. The front-end makes two globals per constant: a
// placeholder in section "air.fc_initializer", listed in `!air.function_constants`, whose value the
// pipeline supplies; and a working copy that kernels read. Static initialisers compute working
// copies (and the predicates of gated arguments) from placeholders before a kernel may run.
#pragma once
#include "air/ir/MetadataReader.h"

namespace pewter::air::ir {

struct ConstantPlaceholder {
  llvm::GlobalVariable *global = nullptr;
  FunctionConstant constant; ///< `required` is set by constantsOf.
};

/// All placeholders, by index. Two with one index are an error.
Result<std::vector<ConstantPlaceholder>> readPlaceholders(const llvm::Module &module);

/// The functions that llvm.global_ctors names, in the order in which they run.
std::vector<llvm::Function *> staticInitializers(const llvm::Module &module);

/// The constants of one kernel: `all` of the module, or those that the kernel's code and gates
/// depend on. A constant is required when code depends on it and nothing asks whether it is set.
std::vector<FunctionConstant> constantsOf(const KernelMetadata &kernel,
                                          const std::vector<ConstantPlaceholder> &placeholders,
                                          bool all);

} // namespace pewter::air::ir
