// SPDX-License-Identifier: Apache-2.0
//
// LowerAtomics: air.atomic.* become LLVM atomics at device scope (block scope for threadgroup memory).
// Metal's order is relaxed; fences carry their own order. No constraint on its place.
#pragma once
#include <llvm/IR/PassManager.h>

namespace pewter::cuda::codegen {

class LowerAtomics : public llvm::PassInfoMixin<LowerAtomics> {
public:
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &);
};

} // namespace pewter::cuda::codegen
