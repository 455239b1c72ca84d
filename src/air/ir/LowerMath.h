// SPDX-License-Identifier: Apache-2.0
//
// LowerMath: replaces every `air.*` call that is arithmetic (math and fast_ math, conversions, integer,
// relational, geometric, pack and unpack) and the `___metal_*` helpers by instructions, llvm
// intrinsics, or the body of a function of the math library.
//
// It runs after function constants are literals (a name that is not known must be an error only if it
// survives) and before the optimisation passes, which see plain arithmetic. Names that it does not
// know stay; the caller reports them.
//
// Fast-math flags: a call's flags, without nnan and ninf, go onto the instructions that stand for it,
// except that a precise name (`air.sqrt.f32`) stays strict whatever flags its call has. The library's
// bodies are always strict, with their fused operations written out, so every device computes the
// same bits. half and bfloat forms are computed in float and rounded once.
#pragma once
#include <llvm/IR/PassManager.h>

namespace pewter::air::ir {

class LowerMathPass : public llvm::PassInfoMixin<LowerMathPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &analyses);
};

/// The same for callers without a pass manager. True when something was replaced.
bool lowerMath(llvm::Module &module);

} // namespace pewter::air::ir
