// SPDX-License-Identifier: Apache-2.0
//
// LowerTextures: replaces texture and sampler calls by the bodies of the texture library, which work on
// the descriptors of air/TextureAbi.h. Runs behind inline-helpers, where each call's texture is seen
// to be an argument (never null: the runtime checks) or something read from memory (tested). Before
// the simplifier, which folds what constant samplers and offsets rule out.
//
// Calls that have no body here (multisampled textures, bicubic filters) are reported by name.
#pragma once
#include <llvm/IR/PassManager.h>

namespace pewter::air::ir {

struct LowerTexturesPass : llvm::PassInfoMixin<LowerTexturesPass> {
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &);
};

} // namespace pewter::air::ir
