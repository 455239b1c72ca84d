// SPDX-License-Identifier: Apache-2.0
//
// What the embedded bitcode libraries (MathLibrary, TextureLibrary) share: each is a module whose
// functions kernels call by name, linked and inlined where they are called.
#pragma once
#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Module.h>
#include <memory>

namespace pewter::air::ir {

struct BitcodeLibrary {
  const char *name;
  llvm::ArrayRef<unsigned char> bitcode; ///< Aligned to 8 bytes.

  /// The library as a module in `context`, function bodies read on demand; without triple and layout.
  std::unique_ptr<llvm::Module> load(llvm::LLVMContext &context) const;

  /// Gives each declaration of `module` whose name `isMember` its body (internal), which `prepare`
  /// may change first, inlines all calls to it, and removes it. Without such a declaration the library is
  /// not read.
  void link(llvm::Module &module, llvm::function_ref<bool(llvm::StringRef)> isMember,
            llvm::function_ref<void(llvm::Function &)> prepare = [](llvm::Function &) {}) const;
};

} // namespace pewter::air::ir
