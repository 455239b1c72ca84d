// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/TextureView.h"
#include <Metal/MTLPixelFormat.hpp>

namespace pewter::metal {

/// Bytes of one texel; 0 for formats that textures cannot have here (compressed, stencil, shared
/// exponent).
uint32_t bytesPerTexel(MTL::PixelFormat format);

/// Depth formats bind to depth textures of kernels.
bool isDepthFormat(MTL::PixelFormat format);

/// Fills in what `view` says about the format.
void describeTexels(device::TextureView &view, MTL::PixelFormat format);

} // namespace pewter::metal
