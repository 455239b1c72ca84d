// SPDX-License-Identifier: Apache-2.0
//
// What a function can touch: every function and global variable reached through calls and operands,
// constant expressions and initialisers included, each once and in order of discovery.
#pragma once
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/GlobalVariable.h>

namespace pewter::air::ir {

struct Reachable {
  llvm::SetVector<const llvm::Function *> functions; ///< The root first; declarations too.
  llvm::SetVector<const llvm::GlobalVariable *> globals;
};

Reachable reachableFrom(const llvm::Function &root);

} // namespace pewter::air::ir
