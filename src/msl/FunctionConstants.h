// SPDX-License-Identifier: Apache-2.0
//
// Function constants in Apple's shape. Each gets a working copy, which code reads, and a placeholder,
// which the pipeline gives a value; a static initialiser copies one into the other and computes the
// constants that the program derives from them. Each kernel's module gets an initialiser of exactly
// the constants that the kernel depends on (KernelModule.cpp).
#pragma once
#include "msl/frontend/KernelTable.h"
#include <llvm/IR/Module.h>
#include <map>
#include <set>

namespace pewter::msl {

struct ConstantGlobals {
  const ConstantEntry *entry;
  llvm::GlobalVariable *working;
  llvm::GlobalVariable *placeholder;
};

struct StaticInitializer {
  llvm::Function *function;
  std::set<llvm::GlobalVariable *> writes, reads;
};

struct ConstantShape {
  std::vector<ConstantGlobals> constants;      ///< In source order.
  std::vector<StaticInitializer> initializers; ///< In the order in which they must run.
  std::map<std::string, llvm::GlobalVariable *> predicates; ///< By the gate's symbol.
};

/// Rewrites the module's constants. Before inlining: later the loads cannot be told apart.
ConstantShape shapeConstants(llvm::Module &module, const KernelTable &kernels);
/// Notes what each initialiser reads and writes. After inlining.
void readInitializers(ConstantShape &shape);
/// The initialisers that must run so that `globals` hold their values, in order.
std::vector<const StaticInitializer *>
initializersFor(const ConstantShape &shape, const std::set<llvm::GlobalVariable *> &globals);

} // namespace pewter::msl
