// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Metal/MTLPixelFormat.hpp>

namespace pewter::metal {

/// Bytes of one texel; 0 for formats that textures cannot have here (compressed, depth, packed).
uint32_t bytesPerTexel(MTL::PixelFormat format);

} // namespace pewter::metal
