// SPDX-License-Identifier: Apache-2.0
//
// optimizeGenerated: SSA form and clean-up for freshly emitted functions. A short list of its own:
// what matters is code generation time, and passes that find loops or vectors have nothing to find.
#pragma once
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace pewter::cpu::codegen {

void optimizeGenerated(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace pewter::cpu::codegen
