// SPDX-License-Identifier: Apache-2.0
//
// LowerMatrix: a simdgroup_matrix, in AIR a <64 x T> that stands for one matrix a SIMD group, becomes
// the two elements that a lane owns in Apple's layout (thread_elements): a <2 x T>. Loads, stores and
// products become per-lane code with shuffles. Must run after inlining and SROA; matrices that stay in
// thread memory keep their size there and use its first two elements.
#pragma once
#include "base/Error.h"
#include <llvm/IR/Function.h>

namespace pewter::cuda::codegen {

/// Fails when a matrix is used in a way that has no per-lane form; the message names the instruction.
Result<void> lowerMatrices(llvm::Function &function);

} // namespace pewter::cuda::codegen
