// SPDX-License-Identifier: Apache-2.0
// Tested by tests/api/Texture_test.cpp.
#include "metal/PixelFormat.h"

namespace pewter::metal {

uint32_t bytesPerTexel(MTL::PixelFormat format) {
  switch (format) {
  case MTL::PixelFormatA8Unorm:
  case MTL::PixelFormatR8Unorm:
  case MTL::PixelFormatR8Unorm_sRGB:
  case MTL::PixelFormatR8Snorm:
  case MTL::PixelFormatR8Uint:
  case MTL::PixelFormatR8Sint:
    return 1;
  case MTL::PixelFormatR16Unorm:
  case MTL::PixelFormatR16Snorm:
  case MTL::PixelFormatR16Uint:
  case MTL::PixelFormatR16Sint:
  case MTL::PixelFormatR16Float:
  case MTL::PixelFormatRG8Unorm:
  case MTL::PixelFormatRG8Unorm_sRGB:
  case MTL::PixelFormatRG8Snorm:
  case MTL::PixelFormatRG8Uint:
  case MTL::PixelFormatRG8Sint:
    return 2;
  case MTL::PixelFormatR32Uint:
  case MTL::PixelFormatR32Sint:
  case MTL::PixelFormatR32Float:
  case MTL::PixelFormatRG16Unorm:
  case MTL::PixelFormatRG16Snorm:
  case MTL::PixelFormatRG16Uint:
  case MTL::PixelFormatRG16Sint:
  case MTL::PixelFormatRG16Float:
  case MTL::PixelFormatRGBA8Unorm:
  case MTL::PixelFormatRGBA8Unorm_sRGB:
  case MTL::PixelFormatRGBA8Snorm:
  case MTL::PixelFormatRGBA8Uint:
  case MTL::PixelFormatRGBA8Sint:
  case MTL::PixelFormatBGRA8Unorm:
  case MTL::PixelFormatBGRA8Unorm_sRGB:
  case MTL::PixelFormatRGB10A2Unorm:
  case MTL::PixelFormatRGB10A2Uint:
  case MTL::PixelFormatRG11B10Float:
    return 4;
  case MTL::PixelFormatRG32Uint:
  case MTL::PixelFormatRG32Sint:
  case MTL::PixelFormatRG32Float:
  case MTL::PixelFormatRGBA16Unorm:
  case MTL::PixelFormatRGBA16Snorm:
  case MTL::PixelFormatRGBA16Uint:
  case MTL::PixelFormatRGBA16Sint:
  case MTL::PixelFormatRGBA16Float:
    return 8;
  case MTL::PixelFormatRGBA32Uint:
  case MTL::PixelFormatRGBA32Sint:
  case MTL::PixelFormatRGBA32Float:
    return 16;
  default:
    return 0;
  }
}

} // namespace pewter::metal
