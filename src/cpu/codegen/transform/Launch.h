// SPDX-License-Identifier: Apache-2.0
//
// Launch: what generated code knows about the dispatch and about the call's place in it, as values
// of the function under construction. EntryPoints.cpp fills it in; the emitter reads it.
#pragma once
#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Value.h>

namespace pewter::cpu::codegen {

struct Launch {
  llvm::Value *context = nullptr;            ///< KernelContext *.
  llvm::Value *threadgroupMemory = nullptr;  ///< ptr addrspace(3).
  llvm::Value *position[3] = {};             ///< Of the threadgroup. All counts are i32.
  llvm::Value *threadgroupsPerGrid[3] = {};
  llvm::Value *threadsPerGrid[3] = {};
  llvm::Value *dispatchSize[3] = {};         ///< Threads per threadgroup as dispatched.
  llvm::Value *size[3] = {};                 ///< Actual size of this threadgroup.
  llvm::Value *simdgroup = nullptr;          ///< Index of the call's first SIMD group.
  llvm::Value *local[3] = {};                ///< Position of lane 0 in the threadgroup.
  llvm::Value *entryMask = nullptr;          ///< Live lanes; null when all are.
  /// The kernel's parameters that are not built-ins: pointers.
  llvm::DenseMap<const llvm::Argument *, llvm::Value *> arguments;
};

} // namespace pewter::cpu::codegen
