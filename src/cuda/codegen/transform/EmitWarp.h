// SPDX-License-Identifier: Apache-2.0
//
// EmitWarp: what the lowerings of SIMD-group operations and matrices are built from: lane index,
// votes, and shuffles of values of any type. Emits at the builder's insertion point.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <functional>

namespace pewter::cuda::codegen {

class EmitWarp {
public:
  explicit EmitWarp(llvm::IRBuilder<> &builder) : builder_(builder) {}

  llvm::Value *lane();       ///< i32, 0..31.
  /// The value of `value` in lane `source` (i32, may vary); lanes outside `mask` are undefined.
  llvm::Value *shuffle(llvm::Value *value, llvm::Value *source, llvm::Value *mask);
  /// The bits of `predicate` (i1) over the lanes of `mask`, as i32.
  llvm::Value *ballot(llvm::Value *predicate, llvm::Value *mask);

  /// All ones or zero, by one bit of `word`; `choose` takes `a` where the mask has ones, else `b`. Not as
  /// a predicate and a select: with one for each lane at once, ptxas runs out of predicates and gives up.
  llvm::Value *maskFromBit(llvm::Value *word, unsigned bit);
  llvm::Value *choose(llvm::Value *mask, llvm::Value *a, llvm::Value *b);

private:
  llvm::Value *shuffleWord(llvm::Value *word, llvm::Value *source, llvm::Value *mask);
  llvm::IRBuilder<> &builder_;
};

} // namespace pewter::cuda::codegen
