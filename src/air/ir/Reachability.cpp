// SPDX-License-Identifier: Apache-2.0
#include "air/ir/Reachability.h"
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>

namespace pewter::air::ir {
using namespace llvm;

Reachable reachableFrom(const Function &root) {
  Reachable found;
  SmallPtrSet<const Constant *, 32> seen;
  SmallVector<const Constant *, 32> work;
  auto visit = [&](const Value *value) {
    if (const auto *constant = dyn_cast<Constant>(value); constant && seen.insert(constant).second)
      work.push_back(constant);
  };
  visit(&root);
  while (!work.empty()) {
    const Constant *constant = work.pop_back_val();
    if (const auto *function = dyn_cast<Function>(constant)) {
      found.functions.insert(function);
      for (const Instruction &instruction : instructions(*function))
        for (const Use &operand : instruction.operands())
          visit(operand);
      continue;
    }
    if (const auto *global = dyn_cast<GlobalVariable>(constant))
      found.globals.insert(global);
    for (const Use &operand : constant->operands())
      visit(operand);
  }
  return found;
}

} // namespace pewter::air::ir
