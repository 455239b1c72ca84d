// SPDX-License-Identifier: Apache-2.0
//
// GuardAlignment: wide accesses to device memory at addresses that are not known to be aligned. Metal's
// devices read a float4 at any multiple of a float's size, and kernels rely on it (rows of odd length,
// windows that move by one element); NVIDIA's stop with an error. Each access whose alignment follows
// from nothing but its type becomes a test of the address: whole when it is aligned, else by elements.
//
// Before LLVM's pipeline: a test that does not change in a loop then leaves the loop, and pointers that
// differ by multiples of the alignment share one.
#pragma once
#include <llvm/IR/PassManager.h>

namespace pewter::cuda::codegen {

struct GuardAlignment : llvm::PassInfoMixin<GuardAlignment> {
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &);
};

} // namespace pewter::cuda::codegen
