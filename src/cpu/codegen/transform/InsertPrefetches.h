// SPDX-License-Identifier: Apache-2.0
//
// insertPrefetches: asks for the data of the next call while a loop streams through that of this one.
//
// A GPU hides memory latency by having many SIMD groups in flight; a core runs one after the other,
// and its own prefetchers follow few of a quantised matrix's rows. So for each streaming load in a
// loop the distance is worked out at which the next call (the next SIMD group of the threadgroup, or
// the next threadgroup along x) will do the same load, and that place is prefetched. The distance is
// a value of the kernel, such as rows per SIMD group * bytes per row; where the address does not
// depend on the position linearly nothing is added. A prefetch never faults and has no result.
#pragma once
#include "air/Reflection.h"
#include <llvm/IR/Function.h>

namespace pewter::cpu::codegen {

/// `kernel` is in the form that prepareKernel leaves, and stays in it. Returns the number of prefetches.
unsigned insertPrefetches(llvm::Function &kernel, const air::KernelReflection &reflection);

/// For kernels with matrix products: what the next iteration of a loop loads, asked for before the first
/// product of this one.
unsigned prefetchNextTiles(llvm::Function &kernel, const air::KernelReflection &reflection);

} // namespace pewter::cpu::codegen
