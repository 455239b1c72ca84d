// SPDX-License-Identifier: Apache-2.0
//
// From the C++ shape that clang generates to AIR modules: entry points with AIR's signatures, function
// constants as Apple shapes them, everything inlined, address spaces inferred, one module per kernel
// with its metadata. Step by step in Lower.cpp.
#pragma once
#include "base/Bytes.h"
#include "compiler/Compiler.h"
#include "msl/frontend/KernelTable.h"
#include <functional>
#include <llvm/IR/Module.h>

namespace pewter::msl {

struct LoweredFunction {
  air::KernelReflection reflection; ///< With the function constants that the kernel depends on.
  Bytes bitcode;                    ///< Raw LLVM bitcode of the function's own module.
  air::MetallibFunctionKind kind = air::MetallibFunctionKind::Kernel;
};

/// Takes the module apart; functions come in table order, kernels first. Those of other stages are names
/// without a body.
Result<std::vector<LoweredFunction>> lower(std::unique_ptr<llvm::Module> module, KernelTable kernels,
                                         const compiler::SourceRequest &request);

} // namespace pewter::msl
