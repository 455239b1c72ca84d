// SPDX-License-Identifier: Apache-2.0
//
// From a canonical kernel (air/ir/Canonicalize.h) to PTX: one AIR thread is one CUDA thread, a SIMD
// group is a warp, a threadgroup is a block. Which bits come out follows the same rules as on the CPU
// (cpu/codegen/Vectorize.h): the order of additions in reductions, prefix operations and matrix
// products is fixed, and an operation is fused or approximated only as its own flags allow.
#pragma once
#include "air/ir/Canonicalize.h"
#include "base/Error.h"
#include "cuda/abi/KernelImage.h"

namespace pewter::cuda::codegen {

struct PtxOptions {
  uint32_t architecture = 90; ///< 80, 90 or 100.
};

/// Errors name the kernel and what has no PTX form.
Result<KernelImage> compileToPtx(air::ir::CanonicalKernel kernel, const PtxOptions &options);

/// One stage as text, for people: VectorIr is the NVPTX module, Assembly is the PTX; others are errors.
Result<Bytes> emit(air::ir::CanonicalKernel kernel, const PtxOptions &options,
                   compiler::EmitKind kind);

} // namespace pewter::cuda::codegen
