// SPDX-License-Identifier: Apache-2.0
//
// One run of clang over one translation unit of MSL: preprocess, rewrite tokens, parse, generate LLVM
// IR, read the kernel table from the AST. Everything of clang's is gone when a run returns; what is
// left is the module, in C++'s shape (msl/Lower.h gives it AIR's), and the table.
//
// A run owns all of its state; runs in different threads do not meet.
#pragma once
#include "base/Bytes.h"
#include "compiler/Compiler.h"
#include "msl/frontend/Diagnostics.h"
#include "msl/frontend/KernelTable.h"
#include <llvm/IR/Module.h>
#include <memory>

namespace pewter::msl {

/// The standard library: MSL text, and that text parsed.
struct Prelude {
  std::string_view text;
  std::string_view precompiled; ///< Followed by a NUL byte.
};

struct FrontendOutput {
  std::unique_ptr<llvm::Module> module;
  KernelTable kernels;
  std::vector<std::string> dependencies; ///< Included files that lie on disk.
};

/// Null when there were errors; `diagnostics` says which.
std::unique_ptr<FrontendOutput> runFrontend(const compiler::SourceRequest &request,
                                            const Prelude &prelude, const Repairs &repairs,
                                            Diagnostics &diagnostics, llvm::LLVMContext &context);

/// Parses the standard library and writes it in clang's precompiled form; empty on error.
std::string precompile(std::string_view preludeText, Diagnostics &diagnostics);

/// Calls `work` on a thread with the deep stack that clang wants, and waits for it.
void withDeepStack(const std::function<void()> &work);

} // namespace pewter::msl
