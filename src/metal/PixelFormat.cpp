// SPDX-License-Identifier: Apache-2.0
//
// One row per format: how many bits each channel has, and where the channels of a packed texel begin.
// Tested by tests/api/KernelTextures_test.cpp.
#include "metal/PixelFormat.h"
#include <algorithm>
#include <array>
#include <iterator>

namespace pewter::metal {
namespace {

struct Format {
  MTL::PixelFormat format;
  air::TexelNumber number;
  std::array<uint8_t, 4> width; ///< Bits of red, green, blue, alpha.
  std::array<uint8_t, 4> shift; ///< Of a texel of one word.
};

using enum air::TexelNumber;

constexpr std::array<uint8_t, 4> kOrder8{0, 8, 16, 24}, kReversed8{16, 8, 0, 24}, kOrder16{0, 16, 0, 0},
    kFirst{0, 0, 0, 0};

#define PEWTER_ONE_TO_FOUR(bits, suffix, number, order)                                            \
  {MTL::PixelFormatR##bits##suffix, number, {bits, 0, 0, 0}, kFirst},                              \
      {MTL::PixelFormatRG##bits##suffix, number, {bits, bits, 0, 0}, order},                       \
      {MTL::PixelFormatRGBA##bits##suffix, number, {bits, bits, bits, bits}, order}

constexpr Format kFormats[] = {
    {MTL::PixelFormatA8Unorm, kTexelUnorm, {0, 0, 0, 8}, kFirst},
    PEWTER_ONE_TO_FOUR(8, Unorm, kTexelUnorm, kOrder8),
    PEWTER_ONE_TO_FOUR(8, Unorm_sRGB, kTexelSrgb, kOrder8),
    PEWTER_ONE_TO_FOUR(8, Snorm, kTexelSnorm, kOrder8),
    PEWTER_ONE_TO_FOUR(8, Uint, kTexelUint, kOrder8),
    PEWTER_ONE_TO_FOUR(8, Sint, kTexelSint, kOrder8),
    PEWTER_ONE_TO_FOUR(16, Unorm, kTexelUnorm, kOrder16),
    PEWTER_ONE_TO_FOUR(16, Snorm, kTexelSnorm, kOrder16),
    PEWTER_ONE_TO_FOUR(16, Uint, kTexelUint, kOrder16),
    PEWTER_ONE_TO_FOUR(16, Sint, kTexelSint, kOrder16),
    PEWTER_ONE_TO_FOUR(16, Float, kTexelHalf, kOrder16),
    PEWTER_ONE_TO_FOUR(32, Uint, kTexelUint, kFirst),
    PEWTER_ONE_TO_FOUR(32, Sint, kTexelSint, kFirst),
    PEWTER_ONE_TO_FOUR(32, Float, kTexelFloat, kFirst),
    {MTL::PixelFormatB5G6R5Unorm, kTexelUnorm, {5, 6, 5, 0}, {11, 5, 0, 0}},
    {MTL::PixelFormatA1BGR5Unorm, kTexelUnorm, {5, 5, 5, 1}, {11, 6, 1, 0}},
    {MTL::PixelFormatABGR4Unorm, kTexelUnorm, {4, 4, 4, 4}, {12, 8, 4, 0}},
    {MTL::PixelFormatBGR5A1Unorm, kTexelUnorm, {5, 5, 5, 1}, {10, 5, 0, 15}},
    {MTL::PixelFormatBGRA8Unorm, kTexelUnorm, {8, 8, 8, 8}, kReversed8},
    {MTL::PixelFormatBGRA8Unorm_sRGB, kTexelSrgb, {8, 8, 8, 8}, kReversed8},
    {MTL::PixelFormatRGB10A2Unorm, kTexelUnorm, {10, 10, 10, 2}, {0, 10, 20, 30}},
    {MTL::PixelFormatRGB10A2Uint, kTexelUint, {10, 10, 10, 2}, {0, 10, 20, 30}},
    {MTL::PixelFormatBGR10A2Unorm, kTexelUnorm, {10, 10, 10, 2}, {20, 10, 0, 30}},
    {MTL::PixelFormatRG11B10Float, kTexelHalf, {11, 11, 10, 0}, {0, 11, 22, 0}},
    {MTL::PixelFormatDepth16Unorm, kTexelUnorm, {16, 0, 0, 0}, kFirst},
    {MTL::PixelFormatDepth32Float, kTexelFloat, {32, 0, 0, 0}, kFirst},
};

#undef PEWTER_ONE_TO_FOUR

const Format *find(MTL::PixelFormat format) {
  const Format *found = std::ranges::find(kFormats, format, &Format::format);
  return found == std::end(kFormats) ? nullptr : found;
}

uint32_t oneOf(air::TexelNumber number) {
  return number == kTexelFloat ? 0x3f800000 : number == kTexelHalf ? 0x3c00 : 1;
}

} // namespace

uint32_t bytesPerTexel(MTL::PixelFormat format) {
  const Format *found = find(format);
  if (!found)
    return 0;
  uint32_t bits = 0;
  for (uint8_t width : found->width)
    bits += width;
  return bits / 8;
}

bool isDepthFormat(MTL::PixelFormat format) {
  return format == MTL::PixelFormatDepth16Unorm || format == MTL::PixelFormatDepth32Float;
}

void describeTexels(device::TextureView &view, MTL::PixelFormat format) {
  const Format *found = find(format);
  view.format = static_cast<uint32_t>(format);
  view.bytesPerTexel = bytesPerTexel(format);
  view.number = found->number;
  const bool isHalf = found->number == kTexelHalf;
  for (int i = 0; i < 4; ++i) {
    const uint8_t width = found->width[i];
    view.width[i] = width;
    view.shift[i] = found->shift[i];
    view.mask[i] = width ? ~uint32_t(0) >> (32 - width) : 0;
    // Small floats have the exponent of a half, no sign, and fewer bits behind.
    view.halfShift[i] = isHalf && width && width < 16 ? static_cast<uint8_t>(15 - width) : 0;
    view.fill[i] = width == 0 && i == 3 ? oneOf(found->number) : 0;
    view.scale[i] = 1;
    if (width && (found->number == kTexelUnorm || found->number == kTexelSrgb))
      view.scale[i] = static_cast<float>(view.mask[i]);
    else if (width && found->number == kTexelSnorm)
      view.scale[i] = static_cast<float>(view.mask[i] >> 1);
  }
}

} // namespace pewter::metal
