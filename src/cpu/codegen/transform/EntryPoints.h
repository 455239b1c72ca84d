// SPDX-License-Identifier: Apache-2.0
//
// EntryPoints: the functions that the CPU device calls (cpu/abi/KernelAbi.h), with everything around
// a kernel's body: reading the dispatch, walking threadgroups and SIMD groups, and choosing between
// the body for full SIMD groups and the one for partial or oddly placed ones.
#pragma once
#include "base/Error.h"
#include "cpu/codegen/transform/KernelEmitter.h"

namespace pewter::cpu::codegen {

struct EntryOptions {
  LaneModel full;           ///< The lanes of a full call.
  bool hasRange = true;     ///< Make the range entry, else the SIMD-group entry.
  bool hasGeneral = true;   ///< Partial and oddly placed calls can occur.
  EmitterOptions emitter;
};

/// Makes the entry in the module of `kernel` from `kernel` (prepared for options.full) and `general`
/// (the same kernel, prepared for a general body; may be null).
Result<void> makeEntryPoints(llvm::Function &kernel, llvm::Function *general,
                             const air::KernelReflection &reflection,
                             const ThreadgroupLayout &threadgroup, const EntryOptions &options);

} // namespace pewter::cpu::codegen
