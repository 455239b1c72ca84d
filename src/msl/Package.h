// SPDX-License-Identifier: Apache-2.0
//
// Packs compiled functions into a .metallib.
#pragma once
#include "msl/Lower.h"

namespace pewter::msl {

/// The container holds one module per function, wrapped and hashed as Apple's linker does it.
Result<Bytes> packLibrary(const std::vector<LoweredFunction> &functions,
                          const compiler::SourceRequest &request);

} // namespace pewter::msl
