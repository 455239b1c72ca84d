// SPDX-License-Identifier: Apache-2.0
//
// The calling convention of oracle code (TargetKind::CpuOracle): one call runs one lane, from the
// kernel's first instruction to its last, on a stack of its own. Whatever lanes do together is a
// call of `collective`, which returns when the executor has let all lanes that take part in arrive
// there. Test-only: the executor is tests/support/runner/OracleRunner.cpp.
//
// Which lanes take part is decided by where they are. A collective call comes with a key: for each
// loop around it from the outermost in, the place of the loop in the kernel and the iteration; then
// the place of the block, then of the call in its block. Places number the blocks so that every
// block stands after those that lead to it and the blocks of a loop stand together. So the keys
// that one lane passes only grow, in lexicographic order, and the lanes that belong together are
// those that wait with the smallest key when no lane of the SIMD group can run.
#pragma once
#include "cpu/abi/KernelAbi.h"

namespace pewter::cpu {

inline constexpr uint32_t kOracleBuiltins = 20; ///< Number of values of air::Builtin.

struct OracleLane;

struct OracleRuntimeTable {
  RuntimeTable base;
  /// `site` is "air.name;result;operand;operand...": types spelled void, i1, i8, i16, i32, i64,
  /// f16, bf16, f32, p (an address), or with v<count> before them. Each operand and the result
  /// stands in memory as an array of its elements without gaps; i1 is a byte.
  void (*collective)(OracleLane *lane, const char *site, const uint64_t *key, uint32_t keyLength,
                     const void *const *operands, void *result);
};

struct OracleLane {
  KernelContext context;                 ///< `context.runtime` is an OracleRuntimeTable.
  uint32_t lane;                         ///< Index in the SIMD group.
  uint32_t builtins[kOracleBuiltins][3]; ///< By air::Builtin; scalars stand in [0].
};

using OracleEntry = void (*)(void *const *arguments, OracleLane *lane);

} // namespace pewter::cpu
