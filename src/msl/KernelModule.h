// SPDX-License-Identifier: Apache-2.0
//
// Moves one kernel, after inlining, into a module of its own: the function itself is moved, not copied;
// the globals and declarations that it uses are copied; a static initialiser of the constants that it
// depends on is composed.
#pragma once
#include "msl/FunctionConstants.h"
#include "compiler/Compiler.h"
#include <llvm/IR/Module.h>

namespace pewter::msl {

struct KernelModule {
  std::unique_ptr<llvm::Module> module;
  std::vector<air::FunctionConstant> constants; ///< Those that the kernel depends on, by index.
};

KernelModule extractKernel(llvm::Function &entry, const KernelEntry &kernel,
                           const ConstantShape &shape, const compiler::SourceRequest &request);
/// The same for a function that other modules call.
KernelModule extractCallee(llvm::Function &function, const CalleeEntry &callee,
                           const ConstantShape &shape, const compiler::SourceRequest &request);

} // namespace pewter::msl
