// SPDX-License-Identifier: Apache-2.0
//
// MathLibrary: the embedded bitcode of air/ir/math, the one implementation of Metal's math functions.
// Every function is one basic block that calls nothing but llvm intrinsics, and is named
//
//   pewter_math_<op>   within Metal's precise bounds
//   pewter_fast_<op>   within the fast bounds, only where a faster form exists
//   pewter_soft_<op>   a machine instruction in software, same bits (math/Emulation.c lists them)
//
// over f32. `linkMathFunctions` is for passes that have made declarations with these names.
#pragma once
#include "base/Bytes.h"
#include <llvm/IR/Module.h>
#include <memory>

namespace pewter::air::ir {

inline constexpr const char *kPreciseMathPrefix = "pewter_math_";
inline constexpr const char *kFastMathPrefix = "pewter_fast_";
inline constexpr const char *kSoftMathPrefix = "pewter_soft_";

/// The library as a module in `context`, function bodies read on demand; without triple and layout.
std::unique_ptr<llvm::Module> loadMathLibrary(llvm::LLVMContext &context);

/// True when the library defines `name`. Any thread.
bool hasMathFunction(llvm::StringRef name);

/// Gives each declaration of `module` with a name of the library its body (internal), inlines all
/// calls to it, and removes it.
void linkMathFunctions(llvm::Module &module);

} // namespace pewter::air::ir
