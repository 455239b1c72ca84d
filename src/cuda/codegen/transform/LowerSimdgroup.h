// SPDX-License-Identifier: Apache-2.0
//
// LowerSimdgroup: air.simd_*, air.quad_* and the barriers become warp instructions. Must run after
// inlining (the calls' lanes are then the warp's) and before optimisation, which may move lanes apart. Floats are combined in the fixed tree of cpu/codegen/Vectorize.h.
#pragma once
#include <llvm/IR/PassManager.h>

namespace pewter::cuda::codegen {

class LowerSimdgroup : public llvm::PassInfoMixin<LowerSimdgroup> {
public:
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &);
};

} // namespace pewter::cuda::codegen
