// SPDX-License-Identifier: Apache-2.0
//
// Brings os_log calls into AIR's form: their texts are constants in the constant space.
#pragma once
#include "base/Error.h"
#include <llvm/IR/Function.h>

namespace pewter::msl {

/// After cleaning. Without `isEnabled` the calls go. A text that is no literal is an error.
Result<void> shapeLogs(llvm::Function &kernel, bool isEnabled);

} // namespace pewter::msl
