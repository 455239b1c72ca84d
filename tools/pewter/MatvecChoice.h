// SPDX-License-Identifier: Apache-2.0
//
// What `pewter bench --race` found to be the fastest geometry of matrix-vector kernels, kept in the disk cache for
// one device, number of threads and mix of weight formats. Engines that are told no geometry take it.
#pragma once
#include "muse/Context.h"
#include "muse/GgufModel.h"
#include <string>

namespace pewter::tools {

/// "" where nothing was recorded.
std::string recordedMatvec(const muse::Context &context, const muse::GgufModel &model);
void recordMatvec(const muse::Context &context, const muse::GgufModel &model, std::string_view geometry);

} // namespace pewter::tools
