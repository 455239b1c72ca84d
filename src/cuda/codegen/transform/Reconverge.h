// SPDX-License-Identifier: Apache-2.0
//
// Reconverge: lanes that took different ways meet again where Metal says so. A SIMD-group operation is one
// of the lanes that are active, and behind a branch or a loop those are again all that entered it. On
// NVIDIA GPUs each lane goes on by itself, and nothing makes the others come. So where a block is reached
// by every lane of an earlier one, the lanes that were active there are waited for.
//
// Only in kernels in which lanes work together. Runs when collectives have become intrinsics, so that it
// sees the branches of their lowering, and before LLVM's pipeline, which leaves convergent calls in their
// place.
#pragma once
#include <llvm/IR/PassManager.h>

namespace pewter::cuda::codegen {

struct Reconverge : llvm::PassInfoMixin<Reconverge> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace pewter::cuda::codegen
