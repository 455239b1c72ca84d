// SPDX-License-Identifier: Apache-2.0
//
// TabulateCodes: what vectors compute, element by element, from a code of four bits and from values that
// all elements share, is computed once for the sixteen codes and then looked up. Blocks of quantised
// weights are full of it: scale * float(code) - minimum is a conversion and a multiply-add for each
// sixteen elements, and one permutation when the sixteen results stand in a register.
//
// The results keep their bits: the same operations are done on the same values, on fewer of them.
// For AVX-512, where a permutation looks at the low four bits of its index and at nothing else.
#pragma once
#include <llvm/IR/Function.h>

namespace pewter::cpu::codegen {

/// Returns the number of expressions that became look-ups.
unsigned tabulateCodes(llvm::Function &function);

} // namespace pewter::cpu::codegen
