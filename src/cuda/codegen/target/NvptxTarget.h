// SPDX-License-Identifier: Apache-2.0
//
// The NVPTX target machine for one compute capability, and PTX text from a module.
#pragma once
#include "base/Error.h"
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>
#include <memory>

namespace pewter::cuda::codegen {

/// `architecture` is 80, 90 or 100; others are an error.
Result<std::unique_ptr<llvm::TargetMachine>> makeNvptxTarget(uint32_t architecture);

Result<std::string> emitPtx(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace pewter::cuda::codegen
