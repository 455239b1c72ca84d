// SPDX-License-Identifier: Apache-2.0
//
// SpreadElements: a value that is to fill a whole vector comes from memory where that is possible. A load
// spreads a number over a register at no cost; from another register it takes the port that also permutes
// and converts, which decides the speed of code that takes quantised weights apart. For AVX-512.
//
//   several elements of one small vector, each spread    the vector is stored once, each element loaded
//   a half from memory, widened to float and spread      spread as it is loaded, then widened whole
#pragma once
#include <llvm/IR/Function.h>

namespace pewter::cpu::codegen {

/// Returns whether anything changed.
bool spreadElements(llvm::Function &function);

} // namespace pewter::cpu::codegen
