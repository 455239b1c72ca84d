// SPDX-License-Identifier: Apache-2.0
//
// The embedded texture library (air/ir/texture): how kernels read, write and sample textures.
#pragma once
#include <llvm/IR/Module.h>
#include <memory>

namespace pewter::air::ir {

/// Function bodies are read when they are asked for.
std::unique_ptr<llvm::Module> loadTextureLibrary(llvm::LLVMContext &context);

/// Links and inlines the functions `pewter_texture_*` that `module` calls.
void linkTextureFunctions(llvm::Module &module);

} // namespace pewter::air::ir
