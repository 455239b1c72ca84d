// SPDX-License-Identifier: Apache-2.0
//
// Makes a kernel's AIR entry point: a void function of the kernel's name whose parameters have AIR's
// types (`<3 x i32>` where C++ passes a struct by pointer) and which calls the C++ function.
#pragma once
#include "base/Error.h"
#include "msl/frontend/KernelTable.h"
#include <llvm/IR/Module.h>

namespace pewter::msl {

Result<llvm::Function *> makeEntryPoint(llvm::Module &module, const KernelEntry &kernel);

} // namespace pewter::msl
