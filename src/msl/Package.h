// SPDX-License-Identifier: Apache-2.0
//
// Packs compiled kernels into a .metallib.
#pragma once
#include "msl/Lower.h"

namespace pewter::msl {

/// The container holds one module per kernel, wrapped and hashed as Apple's linker does it.
Result<Bytes> packLibrary(const std::vector<LoweredKernel> &kernels,
                          const compiler::SourceRequest &request);

} // namespace pewter::msl
