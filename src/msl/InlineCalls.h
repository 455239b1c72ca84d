// SPDX-License-Identifier: Apache-2.0
//
// Inlines every call of a function that has a body, callees first: what a function calls is inlined and
// cleaned once, before the function is copied into its own callers. Calls that close a cycle, and calls
// through pointers, stay; the caller reports them.
//
//   PEWTER_TRY_VOID(inlineCalls(roots, [&](Function &function) { clean(function); }));
#pragma once
#include "base/Error.h"
#include <functional>
#include <llvm/IR/Function.h>
#include <vector>

namespace pewter::msl {

/// Functions that nothing calls any more are erased, `roots` excepted. Fails where a function would grow
/// beyond all measure: thirty functions that each call the next one twice are 2^30 calls.
Result<void> inlineCalls(const std::vector<llvm::Function *> &roots,
                         const std::function<void(llvm::Function &)> &clean);

} // namespace pewter::msl
