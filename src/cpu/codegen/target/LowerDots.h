// SPDX-License-Identifier: Apache-2.0
//
// lowerDots: the dot products of four bytes that findDots named (cpu/abi/DotAbi.h) become what the target has.
// Every form gives the same integers:
//
//   Bytes  AVX-512 VNNI: vpdpbusd, unsigned bytes times signed ones. Where both are signed, 128 is added to the
//          bytes of one side and 128 times the sum of the other is taken away; both unsigned, 128 is taken from one.
//   Pairs  x86: the even and the odd bytes as 16-bit numbers, two of their products to an instruction (pmaddwd).
//   Plain  shifts and 32-bit products. Also what numbers outside of vectors get.
#pragma once
#include "compiler/Compiler.h"
#include <llvm/IR/Module.h>

namespace pewter::cpu::codegen {

enum class DotSupport { Plain, Pairs, Bytes };
DotSupport dotSupport(compiler::TargetKind kind);

/// `vectorBits`: the width of a register. Returns whether anything changed.
bool lowerDots(llvm::Module &module, DotSupport support, unsigned vectorBits);

} // namespace pewter::cpu::codegen
