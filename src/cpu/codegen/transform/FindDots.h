// SPDX-License-Identifier: Apache-2.0
//
// findDots: four products of bytes that a kernel adds up, in 32 bits, become one call (cpu/abi/DotAbi.h), which
// processors have an instruction or a short sequence for. Integer additions may be taken in any order, so the
// bits stay. Recognised are
//
//   sext or zext <4 x i8> a, b; mul <4 x i32>; the sum of its elements   int4(as_type<char4>(a)) * int4(...)
//   byte i of a word a times byte i of a word b, four times              as_type<char4>(a).x * ... + ...
//
// among any other terms of the sum. After the kernel's loops have their form, and before its vectors are taken
// apart lane by lane.
#pragma once
#include <llvm/IR/Function.h>

namespace pewter::cpu::codegen {

/// Returns the number of calls that were made.
unsigned findDots(llvm::Function &kernel);

} // namespace pewter::cpu::codegen
