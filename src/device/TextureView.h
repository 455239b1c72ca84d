// SPDX-License-Identifier: Apache-2.0
//
// What a device gets for a texture or sampler argument: plain data, whose address stands in the
// ArgumentBinding.
#pragma once
#include "air/TextureAbi.h"

namespace pewter::device {

using air::SamplerView;
using air::TextureView;

} // namespace pewter::device
