// SPDX-License-Identifier: Apache-2.0
//
// AirCalls: what an `air.*` function is, by its name: which effects it has, and who lowers it. The
// attributes that a module carries are not trusted; `setCallAttributes` puts these in their place.
#pragma once
#include <llvm/IR/Function.h>

namespace pewter::air::ir {

enum class AirCall : uint8_t {
  None,        ///< Not an `air.*` function.
  Math,        ///< Arithmetic that lowerMath replaces; no effects.
  CrossLane,   ///< air.simd_*, air.quad_*: convergent, no memory.
  Barrier,     ///< air.wg.barrier, air.simdgroup.barrier: convergent, all memory.
  MatrixValue, ///< init and multiply_accumulate: convergent, no memory.
  MatrixLoad,  ///< Convergent, reads through its pointer.
  MatrixStore, ///< Convergent, writes through its pointer.
  Atomic,      ///< Reads and writes through its pointers.
  Fence,       ///< air.atomic.fence: all memory, not convergent.
  Texture,     ///< Reads, writes and queries of textures and samplers; lowered by LowerTextures.
  Log,         ///< air.os_log.
  Constant,    ///< is_function_constant_defined and its companion: gone after specialisation.
};

AirCall classify(llvm::StringRef name);
inline AirCall classify(const llvm::Function &function) { return classify(function.getName()); }

/// True for the calls that stay in canonical form for a back-end.
bool isLeftToBackEnds(AirCall call);

/// Replaces the attributes of a declaration by what its class says.
void setCallAttributes(llvm::Function &declaration);

} // namespace pewter::air::ir
