// SPDX-License-Identifier: Apache-2.0
//
// GeneratedKernel: a kernel as LLVM IR that follows the calling convention of cpu/abi/KernelAbi.h
// and is ready for instruction selection. The vectoriser and the one-lane oracle both make it;
// target/ turns it into a flat image. Owns the module; one thread at a time.
//
// The module holds one or both of the entry functions named below (RangeEntry, SimdgroupEntry),
// internal functions and read-only data. It has no external symbol: calls out go through the
// RuntimeTable. Instructions carry their own fast-math flags; nothing may be fused or reassociated
// that they do not allow (FPOpFusion::Strict). Gathers are used on purpose where they appear
// (`+fast-gather` on x86, else LLVM turns each into 32 branches).
#pragma once
#include "air/Reflection.h"
#include <cstdint>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <memory>

namespace pewter::cpu::codegen {

inline constexpr char kRangeEntryName[] = "pewter_range";
inline constexpr char kSimdgroupEntryName[] = "pewter_simdgroup";

struct GeneratedKernel {
  std::unique_ptr<llvm::Module> module;
  /// Lanes of one call of the SIMD-group entry: 32, or more when SIMD groups are merged.
  uint32_t lanesPerCall = 32;
  /// Compiling again for the exact threadgroup size would pay.
  bool prefersExactShape = false;
  /// As given, with staticThreadgroupBytes as the generated code lays the variables out.
  air::KernelReflection reflection;
};

} // namespace pewter::cpu::codegen
