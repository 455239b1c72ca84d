// SPDX-License-Identifier: Apache-2.0
//
// What a device gets for a texture or sampler argument: plain data, whose host address stands in
// the ArgumentBinding. Texels lie in rows, rows in images; levels and slices have their own images.
#pragma once
#include <array>
#include <cstdint>

namespace pewter::device {

/// Numbers as in MTL::TextureType and MTL::PixelFormat.
struct TextureView {
  static constexpr uint32_t kMaxLevels = 16;
  struct Level {
    uint64_t offset = 0; ///< Of the level's first image from `address`.
    uint64_t bytesPerRow = 0;
    uint64_t bytesPerImage = 0; ///< From one depth plane to the next.
    uint32_t width = 1, height = 1, depth = 1;
  };
  uint64_t address = 0; ///< Device address of slice 0.
  uint64_t bytesPerSlice = 0;
  uint32_t type = 2;
  uint32_t format = 0;
  uint32_t bytesPerTexel = 0;
  uint32_t sliceCount = 1;
  uint32_t levelCount = 1;
  std::array<uint8_t, 4> swizzle{2, 3, 4,
                                 5}; ///< As in MTL::TextureSwizzle: red, green, blue, alpha.
  std::array<Level, kMaxLevels> levels;
};

/// Numbers as in the MTL::Sampler... enumerations.
struct SamplerView {
  uint8_t minFilter = 0, magFilter = 0, mipFilter = 0;
  uint8_t sAddress = 0, tAddress = 0, rAddress = 0;
  uint8_t borderColor = 0, compareFunction = 0;
  bool normalizedCoordinates = true;
  float lodMinClamp = 0, lodMaxClamp = 3.4e38f;
  uint32_t maxAnisotropy = 1;
};

} // namespace pewter::device
