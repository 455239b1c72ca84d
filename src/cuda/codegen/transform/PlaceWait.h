// SPDX-License-Identifier: Apache-2.0
//
// PlaceWait: where a kernel waits for the kernel before it, when both are neighbours of a chain that may overlap
// (CudaPlayer.cpp). Without prefetches that is at its very beginning. A kernel that begins with prefetches
// (__builtin_prefetch) asks for what it will read first: a prefetch changes nothing, and constants that it needs
// for addresses are inline ones, which are there before the chain (LaunchPlan.h, Launch::mayOverlap).
//
// After LLVM's own pipeline: nothing may move accesses afterwards but the instruction selector, which the
// wait's memory clobber stops.
#pragma once
#include <llvm/IR/Module.h>

namespace pewter::cuda::codegen {

/// Makes prefetches NVIDIA's.
void lowerPrefetches(llvm::Module &module);
/// Puts the wait behind leading prefetches, or at the beginning of the entry when there are none; `overlaps`
/// is false for GPUs that know no waits.
void placeWait(llvm::Function &entry, bool overlaps);

} // namespace pewter::cuda::codegen
