/* SPDX-License-Identifier: Apache-2.0
 *
 * What the texture sources share. Like the math library they are C, compiled to bitcode for no
 * particular machine, linked into a kernel by LowerTextures and inlined there, so that every device
 * computes the same bits. Rules:
 *
 *   - Branches only where a SIMD group usually agrees: on what the descriptor says and on loops over
 *     texels. A choice that depends on a coordinate is a select.
 *   - Loads never depend on a coordinate being good: coordinates are brought into the texture first.
 *   - No contraction, no out-of-range conversion, as in the math library.
 *
 * Names: pewter_texture_<op>_float for textures of float and half, _int for the integer ones.
 */
#pragma once
#include "air/TextureAbi.h"

#define INLINE static inline __attribute__((always_inline))
#define DEVICE __attribute__((address_space(1)))
#define CONSTANT __attribute__((address_space(2)))
#define KEEP_LOOP _Pragma("clang loop unroll(disable)")

typedef const DEVICE TextureView *Texture;
typedef const CONSTANT SamplerView *Sampler;
typedef float Float4 __attribute__((ext_vector_type(4)));
typedef int Int4 __attribute__((ext_vector_type(4)));
typedef uint32_t Uint4 __attribute__((ext_vector_type(4)));
typedef _Float16 Half4 __attribute__((ext_vector_type(4)));
typedef unsigned short Ushort4 __attribute__((ext_vector_type(4)));

/* One texel's place; the parts are good. */
typedef struct {
  uint32_t x, y, z, slice, level;
} Place;

INLINE TexelAddress addressOf(Texture t, Place p) {
  const DEVICE TextureLevel *level = &t->levels[p.level];
  return t->address + (p.slice * t->bytesPerSlice + level->offset + p.z * level->bytesPerImage +
                       p.y * level->bytesPerRow + (uint64_t)p.x * t->bytesPerTexel);
}

/* A NaN becomes `low`. */
INLINE float within(float x, float low, float high) {
  x = x >= low ? x : low;
  return x <= high ? x : high;
}
INLINE int clamped(int x, int low, int high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}
INLINE uint32_t atMost(uint32_t x, uint32_t limit) { return x < limit ? x : limit; }

/* The channels of a texel as stored; missing ones filled. Rows begin at multiples of 16 bytes, so a texel
 * of less than a word comes with its neighbours in one load that every machine has for many lanes. */
INLINE Uint4 loadTexel(Texture t, Place p) {
  const TexelAddress row = addressOf(t, (Place){0, p.y, p.z, p.slice, p.level});
  const uint32_t inRow = p.x * t->bytesPerTexel;
  Uint4 c;
  if (t->bytesPerTexel <= 4) {
    const uint32_t word = *(const DEVICE uint32_t *)(row + (inRow & ~3u)) >> (inRow % 4 * 8);
    c = (Uint4){word >> t->shift[0] & t->mask[0], word >> t->shift[1] & t->mask[1],
                word >> t->shift[2] & t->mask[2], word >> t->shift[3] & t->mask[3]};
  } else {
    const DEVICE uint32_t *words = (const DEVICE uint32_t *)(row + inRow);
    const uint32_t w0 = words[0], w1 = words[1];
    if (t->bytesPerTexel == 16)
      c = (Uint4){w0, w1, words[2], words[3]};
    else if (t->mask[0] == 0xffff)
      c = (Uint4){w0 & 0xffff, w0 >> 16, w1 & 0xffff, w1 >> 16};
    else
      c = (Uint4){w0, w1, 0, 0};
  }
  return c | (Uint4){t->fill[0], t->fill[1], t->fill[2], t->fill[3]};
}

INLINE void storeTexel(Texture t, TexelAddress at, Uint4 c) {
  if (t->bytesPerTexel <= 4) {
    const uint32_t word = (c.x & t->mask[0]) << t->shift[0] | (c.y & t->mask[1]) << t->shift[1] |
                          (c.z & t->mask[2]) << t->shift[2] | (c.w & t->mask[3]) << t->shift[3];
    if (t->bytesPerTexel == 4)
      *(DEVICE uint32_t *)at = word;
    else if (t->bytesPerTexel == 2)
      *(DEVICE unsigned short *)at = (unsigned short)word;
    else
      *at = (unsigned char)word;
    return;
  }
  DEVICE uint32_t *words = (DEVICE uint32_t *)at;
  if (t->bytesPerTexel == 16) {
    words[0] = c.x;
    words[1] = c.y;
    words[2] = c.z;
    words[3] = c.w;
  } else if (t->mask[0] == 0xffff) {
    words[0] = (c.x & 0xffff) | c.y << 16;
    words[1] = (c.z & 0xffff) | c.w << 16;
  } else {
    words[0] = c.x;
    words[1] = c.y;
  }
}

INLINE Int4 signExtended(Texture t, Uint4 c) {
  Int4 r;
  r.x = (int)(c.x << ((32 - t->width[0]) & 31)) >> ((32 - t->width[0]) & 31);
  r.y = (int)(c.y << ((32 - t->width[1]) & 31)) >> ((32 - t->width[1]) & 31);
  r.z = (int)(c.z << ((32 - t->width[2]) & 31)) >> ((32 - t->width[2]) & 31);
  r.w = (int)(c.w << ((32 - t->width[3]) & 31)) >> ((32 - t->width[3]) & 31);
  return r;
}

INLINE float pick(Float4 c, uint8_t from) {
  float r = from == 1 ? 1.0f : 0.0f;
  r = from == 2 ? c.x : r;
  r = from == 3 ? c.y : r;
  r = from == 4 ? c.z : r;
  return from == 5 ? c.w : r;
}
INLINE Float4 swizzledFloat(Texture t, Float4 c) {
  if (t->hasSwizzle)
    return (Float4){pick(c, t->swizzle[0]), pick(c, t->swizzle[1]), pick(c, t->swizzle[2]),
                    pick(c, t->swizzle[3])};
  return c;
}
INLINE uint32_t pickInt(Uint4 c, uint8_t from) {
  uint32_t r = from == 1;
  r = from == 2 ? c.x : r;
  r = from == 3 ? c.y : r;
  r = from == 4 ? c.z : r;
  return from == 5 ? c.w : r;
}
INLINE Uint4 swizzledInt(Texture t, Uint4 c) {
  if (t->hasSwizzle)
    return (Uint4){pickInt(c, t->swizzle[0]), pickInt(c, t->swizzle[1]), pickInt(c, t->swizzle[2]),
                   pickInt(c, t->swizzle[3])};
  return c;
}

extern const CONSTANT float pewter_srgb_values[256];

INLINE Float4 toFloat(Texture t, Uint4 c) {
  if (t->number <= kTexelSnorm) {
    const Float4 scale = {t->scale[0], t->scale[1], t->scale[2], t->scale[3]};
    if (t->number == kTexelUnorm)
      return __builtin_convertvector(c, Float4) / scale;
    const Float4 r = __builtin_convertvector(signExtended(t, c), Float4) / scale;
    return (Float4){r.x >= -1 ? r.x : -1, r.y >= -1 ? r.y : -1, r.z >= -1 ? r.z : -1,
                    r.w >= -1 ? r.w : -1};
  }
  if (t->number == kTexelFloat)
    return __builtin_bit_cast(Float4, c);
  if (t->number == kTexelHalf) {
    const Uint4 bits = c << (Uint4){t->halfShift[0], t->halfShift[1], t->halfShift[2],
                                    t->halfShift[3]};
    const Half4 halves = __builtin_bit_cast(Half4, __builtin_convertvector(bits, Ushort4));
    return __builtin_convertvector(halves, Float4);
  }
  if (t->number == kTexelSrgb)
    return (Float4){pewter_srgb_values[c.x & 255], pewter_srgb_values[c.y & 255],
                    pewter_srgb_values[c.z & 255], (float)c.w / t->scale[3]};
  if (t->number == kTexelUint)
    return __builtin_convertvector(c, Float4);
  return __builtin_convertvector(signExtended(t, c), Float4);
}

INLINE Uint4 toInt(Texture t, Uint4 c) {
  if (t->number == kTexelSint)
    return __builtin_bit_cast(Uint4, signExtended(t, c));
  return c;
}
