// SPDX-License-Identifier: Apache-2.0
//
// PrivateMemory: how each alloca of a kernel is laid out for the lanes.
//
//   Shared       one copy: every lane stores the same values
//   Interleaved  lane-innermost: the element at byte offset o of lane l lies at o * lanes + l * unit,
//                so that all lanes' copies of one element are one vector. Every access must be made
//                of elements of `unit` bytes.
//   Separate     one copy a lane, `stride` bytes apart: always right, never fast
//
// Allocas that can be reached through one pointer (phi, select) have one layout.
#pragma once
#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

namespace pewter::cpu::codegen {

struct PrivateLayout {
  enum Kind : uint8_t { Shared, Interleaved, Separate };
  Kind kind = Shared;
  uint64_t unit = 0;     ///< Bytes of one element, when every access agrees; else 0.
  uint64_t stride = 0;   ///< Bytes of one lane's copy.
  bool operator==(const PrivateLayout &) const = default;
};

/// <64 x T>: one matrix of the whole SIMD group.
bool isMatrixType(const llvm::Type *type);

class PrivateMemory {
public:
  explicit PrivateMemory(llvm::Function &function);

  /// The layout behind a thread-space pointer; null when it is not an alloca's.
  const PrivateLayout *layoutOf(const llvm::Value *pointer) const;
  const PrivateLayout &layoutOf(const llvm::AllocaInst &alloca) const;
  /// Gives the memory behind `pointer` one copy a lane; true when that is news.
  bool separateLanes(const llvm::Value *pointer);

private:
  const llvm::AllocaInst *leaderOf(const llvm::Value *pointer) const;
  const llvm::AllocaInst *find(const llvm::AllocaInst *alloca) const;
  void collect(llvm::Function &function);

  llvm::DenseMap<const llvm::AllocaInst *, const llvm::AllocaInst *> parent_;
  llvm::DenseMap<const llvm::AllocaInst *, PrivateLayout> layouts_; ///< By leader.
  mutable llvm::DenseMap<const llvm::Value *, const llvm::AllocaInst *> leaders_;
};

} // namespace pewter::cpu::codegen
