// SPDX-License-Identifier: Apache-2.0
//
// ScalarBody: the kernel as it is, one lane at a time, for the calls that are not full vectors, when
// lanes do nothing together. Small and quick to compile, and fast enough for the edges of a grid.
#pragma once
#include "cpu/codegen/transform/KernelEmitter.h"

namespace pewter::cpu::codegen {

/// True when every call of `kernel` is one that a single lane can do by itself.
bool canRunLaneByLane(const llvm::Function &kernel);

/// Makes an internal function from `kernel`: its parameters, then ptr addrspace(3): the threadgroup
/// memory.
llvm::Function *makeScalarBody(const llvm::Function &kernel, const ThreadgroupLayout &threadgroup);

} // namespace pewter::cpu::codegen
