// SPDX-License-Identifier: Apache-2.0
//
// EmitWarp: what the lowerings of SIMD-group operations and matrices are built from: lane index,
// active mask, and shuffles of values of any type. Emits at the builder's insertion point.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <functional>

namespace pewter::cuda::codegen {

class EmitWarp {
public:
  explicit EmitWarp(llvm::IRBuilder<> &builder) : builder_(builder) {}

  llvm::Value *lane();       ///< i32, 0..31.
  llvm::Value *activeMask(); ///< i32.
  /// The value of `value` in lane `source` (i32, may vary); lanes outside `mask` are undefined.
  llvm::Value *shuffle(llvm::Value *value, llvm::Value *source, llvm::Value *mask);
  /// The bits of `predicate` (i1) over the lanes of `mask`, as i32.
  llvm::Value *ballot(llvm::Value *predicate, llvm::Value *mask);

private:
  llvm::Value *shuffleWord(llvm::Value *word, llvm::Value *source, llvm::Value *mask);
  llvm::IRBuilder<> &builder_;
};

} // namespace pewter::cuda::codegen
