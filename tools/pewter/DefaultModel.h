// SPDX-License-Identifier: Apache-2.0
//
// The model that pewter ships: glimmer-tiny in Q8_0, part of the program.
#pragma once
#include "muse/GgufModel.h"

namespace pewter::tools {
Result<std::shared_ptr<const muse::GgufModel>> openDefaultModel();
}
