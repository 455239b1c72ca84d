/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kernel gets for a texture or sampler: the address of one of these structs, which lie in
 * memory that the device can read. Shared by the runtime, which fills them in, and by the texture
 * library (air/ir/texture), which is C. Every change changes compiled kernels.
 *
 * Texels lie in rows, rows in images; levels and slices have their own images. A cube has six
 * slices. Channels are red, green, blue, alpha. A texel of up to 4 bytes is one word; channel i is `word >> shift[i] & mask[i] | fill[i]`.
 * One of 8 bytes is two words, or four half words when mask[0] is 0xffff; one of 16 bytes is four.
 */
#pragma once
#ifdef __cplusplus
#include <cstdint>
namespace pewter::air {
using TexelAddress = uint64_t;
#else
typedef unsigned char uint8_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef __attribute__((address_space(1))) unsigned char *TexelAddress;
#endif

enum { kMaxTextureLevels = 16 };

/* How the bits of a channel become a number. */
enum TexelNumber {
  kTexelUnorm,
  kTexelSnorm,
  kTexelUint,
  kTexelSint,
  kTexelFloat, /* 32 bits. */
  kTexelHalf,  /* A half, or what is left of one without `halfShift` low bits. */
  kTexelSrgb   /* Three unorm channels in the sRGB encoding, and alpha. */
};

typedef struct TextureLevel {
  uint64_t offset; /* Of the level's first image from `address`. */
  uint64_t bytesPerRow;
  uint64_t bytesPerImage; /* From one depth plane to the next. */
  uint32_t width, height, depth, unused;
} TextureLevel;

typedef struct TextureView {
  TexelAddress address; /* Of slice 0. */
  uint64_t bytesPerSlice;
  uint32_t type;   /* As in MTL::TextureType. */
  uint32_t format; /* As in MTL::PixelFormat. */
  uint32_t bytesPerTexel;
  uint32_t sliceCount;
  uint32_t levelCount;
  uint32_t number;       /* TexelNumber. */
  uint32_t hasSwizzle;   /* 0: `swizzle` is 2, 3, 4, 5. */
  uint8_t swizzle[4];    /* What reads give as red..alpha: 0 zero, 1 one, 2..5 the channels. */
  uint8_t shift[4];
  uint8_t width[4];      /* Bits of a channel; 0 for one that is missing. */
  uint8_t halfShift[4];
  uint32_t mask[4];
  uint32_t fill[4];      /* Of a missing channel: 0, or the bits of 1 for alpha. */
  float scale[4];        /* The number of the largest value of a normalised channel, else 1. */
  TextureLevel levels[kMaxTextureLevels];
} TextureView;

/* Numbers as in the MTL::Sampler... enumerations. */
typedef struct SamplerView {
  uint8_t minFilter, magFilter, mipFilter;
  uint8_t sAddress, tAddress, rAddress;
  uint8_t borderColor, compareFunction;
  uint32_t normalizedCoordinates;
  float lodMinClamp, lodMaxClamp, lodBias;
} SamplerView;

#ifdef __cplusplus
} // namespace pewter::air
#endif
