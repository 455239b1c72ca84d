// SPDX-License-Identifier: Apache-2.0
//
// DotBytes: a sum of the four products of two vectors of bytes, widened to 32 bits, is one instruction on
// NVIDIA GPUs (dp4a). Integer additions may be taken in any order, so the bits are the same. Before LLVM's
// own pipeline, which takes the vectors apart.
#pragma once
#include <llvm/IR/PassManager.h>

namespace pewter::cuda::codegen {

class DotBytes : public llvm::PassInfoMixin<DotBytes> {
public:
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &);
};

} // namespace pewter::cuda::codegen
