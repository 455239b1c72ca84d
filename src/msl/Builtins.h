// SPDX-License-Identifier: Apache-2.0
//
// What clang's builtins (`__builtin_expect`, `__builtin_add_overflow`, `__builtin_expf`, ...) leave in the module,
// in terms of AIR, which has no such intrinsics.
#pragma once
#include <llvm/IR/Module.h>

namespace pewter::msl {

/// Before library functions are chosen by math mode.
void lowerBuiltins(llvm::Module &module);

/// Where everything is inlined: a thread that meets `__builtin_trap()` returns from its kernel.
void returnAtTraps(llvm::Function &entry);

} // namespace pewter::msl
