// SPDX-License-Identifier: Apache-2.0
//
// GuardArithmetic: gives operations the meaning they have in Metal where LLVM leaves them
// undefined:
//
//   x / 0, x % 0          some value, no fault (the divisor becomes 1)
//   INT_MIN / -1          wraps; the remainder is 0
//   shifts                use the amount modulo the width
//   float to integer      saturates, NaN becomes 0
//
// Runs twice: before anything is optimised, lest LLVM conclude from a division that its divisor is
// not zero and drop the program's own test; and at the end, for what passes made in between. A
// division that has its guard carries !pewter.guarded; one that lost the mark is guarded again.
#pragma once
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/PassManager.h>

namespace pewter::air::ir {

class GuardArithmeticPass : public llvm::PassInfoMixin<GuardArithmeticPass> {
public:
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &);
  static bool isRequired() { return true; }
};

/// True for a division that cannot fault: by suitable constants, or guarded.
bool isSafeDivision(const llvm::BinaryOperator &division);

} // namespace pewter::air::ir
