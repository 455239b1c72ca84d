// SPDX-License-Identifier: Apache-2.0
//
// LowerArithmetic: replaces floating-point operations that a target cannot do, or does with other
// bits, by integer and float arithmetic with exactly the IEEE result. Works on scalars and on
// vectors of any length, before or after vectorisation; generateCode runs it last.
//
//   always           half and bfloat arithmetic in float, rounded after each operation (LLVM takes
//   some
//                    of it apart into calls); fma on them rounded once (LLVM would round twice);
//                    float -> bfloat (the hardware's conversion flushes denormals)
//   on x86           saturating conversions of vectors to integers (LLVM takes them apart)
//   without F16C     half <-> float
//   without FMA      fma on float, through double and rounding to odd
//
// Costs 10 to 25 operations each. Assumes the round-to-nearest mode and no flushing of denormals.
#pragma once
#include "compiler/Compiler.h"
#include <llvm/IR/Module.h>

namespace pewter::cpu::codegen {

struct ArithmeticSupport {
  bool fma = true;            ///< Fused multiply-add on float.
  bool halfConversion = true; ///< half <-> float.
};
ArithmeticSupport arithmeticSupport(compiler::TargetKind kind);

/// Returns whether anything changed.
bool lowerArithmetic(llvm::Module &module, const ArithmeticSupport &support);

} // namespace pewter::cpu::codegen
