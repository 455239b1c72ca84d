// SPDX-License-Identifier: Apache-2.0
//
// LaneValue: how the emitter holds one value of the scalar kernel for all lanes. Plain values that
// point into the function under construction.
#pragma once
#include "cpu/codegen/analysis/Shape.h"
#include <llvm/IR/Value.h>

namespace pewter::cpu::codegen {

/// One component. `lanes` below is the number of lanes of the model.
struct LanePart {
  Shape shape;
  llvm::Value *scalar = nullptr;   ///< Uniform: the value. Pattern: the value of lane 0.
                                   ///< Varying pointer: the base that all lanes share.
  llvm::Value *vector = nullptr;   ///< Varying: <lanes x T>. Varying pointer: <lanes x i64> byte
                                   ///< offsets, or <lanes x i32> signed offsets in units of `scale`.
  llvm::Value *distance = nullptr; ///< i64, when shape.wraps(): lanes whose wrapSource is greater
                                   ///< have wrapped.
  unsigned scale = 1;
};

struct LaneValue {
  llvm::Value *whole = nullptr; ///< When every component is uniform: the value as in the kernel.
  llvm::SmallVector<LanePart, 1> parts; ///< Otherwise.
  bool isUniform() const { return whole != nullptr; }
};

/// A set of lanes: bits for control flow, a vector of i1 for data. Either may be missing.
struct LaneMask {
  llvm::Value *bits = nullptr;   ///< iN, N lanes; the literal -1 when all are active.
  llvm::Value *vector = nullptr; ///< <N x i1>.
};

} // namespace pewter::cpu::codegen
