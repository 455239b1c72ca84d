// SPDX-License-Identifier: Apache-2.0
//
// CutBlocks: long blocks become several that follow each other. LLVM joins and allocates registers block by block,
// with work that grows faster than the block; a kernel that takes quantised weights apart in an unrolled loop is one
// block of 20,000 instructions. The last passes join the blocks again, and the machine code is about the same.
//
// It stands between CodeGenPrepare, which would join the blocks, and instruction selection.
#pragma once
#include <llvm/IR/Function.h>

namespace pewter::cpu::codegen {

/// Cuts blocks of more than `longest` instructions into parts of `length` to twice `length`, where there is no
/// reason against it. Returns whether anything changed.
bool cutBlocks(llvm::Function &function, unsigned longest, unsigned length);

} // namespace pewter::cpu::codegen
