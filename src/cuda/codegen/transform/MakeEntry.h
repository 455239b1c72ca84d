// SPDX-License-Identifier: Apache-2.0
//
// MakeEntry: the PTX entry around a kernel: parameters as cuda/abi/KernelImage.h has them, built-ins
// from the special registers, threadgroup blocks in dynamic shared memory. Constant space (2) becomes
// global space: what is bound there is read-only for the launch, so its loads are marked invariant.
// First step of the back-end; the kernel function is replaced.
#pragma once
#include "air/ir/Canonicalize.h"

namespace pewter::cuda::codegen {

/// Replaces `kernel.function` by the entry, which has the body inlined later by LLVM's inliner.
Result<void> makeEntry(air::ir::CanonicalKernel &kernel);

} // namespace pewter::cuda::codegen
