// SPDX-License-Identifier: Apache-2.0
//
// KernelGenerator: random AIR kernels whose result is defined. The same seed gives the same kernel
// and the same launch. What a kernel may contain: nested uniform and divergent branches, loops
// (uniform and divergent trip counts, break, continue), early return, SIMD-group and quad
// operations inside and outside of them, private arrays, threadgroup memory with barriers, byte,
// half, 32- and 64-bit and float4 values, packed loads, atomics whose order does not matter, odd
// grids in one to three dimensions with partial threadgroups.
//
// What is avoided is what Metal leaves open: reads of lanes that do not take part, races, the sign
// of a minimum of two zeros, bits of a NaN (made canonical before they can be seen).
#pragma once
#include "runner/Executors.h"

namespace pewter::testing {

struct GeneratorOptions {
  uint32_t maxStatements = 6; ///< Of the kernel's outermost block.
  uint32_t maxDepth = 2;       ///< Of nested control flow.
};

KernelCase generateKernel(uint64_t seed, const GeneratorOptions &options = {});
/// The kernel as LLVM text, for reports.
std::string textOfKernel(const KernelCase &test);

} // namespace pewter::testing
