// SPDX-License-Identifier: Apache-2.0
//
// LibraryBuilder: a .metallib out of AIR modules with any number of kernels each. As Apple's linker
// does, it gives every kernel a module of its own, with what that kernel needs and nothing else,
// and lists the kernel's function constants in the container. Bitcode is written by this LLVM, so
// the library carries our mark.
//
//   LibraryBuilder builder;
//   PEWTER_TRY_VOID(builder.add(*module));
//   PEWTER_TRY(Bytes metallib, builder.finish());
#pragma once
#include "air/Metallib.h"
#include "base/Error.h"
#include <deque>
#include <llvm/IR/Module.h>

namespace pewter::air::ir {

class LibraryBuilder {
public:
  /// Adds every kernel of `module`, which is left as it was. A module without kernels is an error.
  Result<void> add(const llvm::Module &module);
  /// Adds what is in `bytes`: wrapped or raw bitcode.
  Result<void> addBitcode(ByteView bytes);
  Result<Bytes> finish() const;

private:
  std::deque<Bytes> modules_; ///< What the views in `library_` point to.
  Metallib library_;
};

} // namespace pewter::air::ir
