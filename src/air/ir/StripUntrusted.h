// SPDX-License-Identifier: Apache-2.0
//
// StripUntrusted: removes promises that do not hold for what hosts do, before any pass can use
// them:
//
//   nnan, ninf            kernels compiled as "fast" do use infinities, as masks and running maxima
//   tbaa, alias scopes    quantised blocks are read through other types; hosts bind one buffer
//   twice parameter and call attributes, function attributes except convergent
//
// It also gives each `air.*` declaration the effects that its name implies, marks loads from the
// constant space as invariant (nobody writes that space while a kernel runs), turns atomics' and
// texture calls' attributes into known ones, and fixes calls of one kind: air.get_simdgroup_size is
// the literal 32. Stands before the first simplification.
#pragma once
#include <llvm/IR/PassManager.h>

namespace pewter::air::ir {

class StripUntrustedPass : public llvm::PassInfoMixin<StripUntrustedPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &);
  static bool isRequired() { return true; }
};

} // namespace pewter::air::ir
