/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads and writes of one texel, and the queries. A read outside gives zeros, a write outside does
 * nothing. Conversions: Metal Shading Language Specification, "Texture Addressing and Conversion
 * Rules"; to normalised channels they round to the nearest code, to integers they saturate.
 *
 * Tested by tests/api/KernelTextures_test.cpp.
 */
#include "air/ir/texture/Texture.h"

INLINE int isInside(Texture t, Place p) {
  const uint32_t level = atMost(p.level, t->levelCount - 1);
  return (p.level < t->levelCount) & (p.slice < t->sliceCount) & (p.x < t->levels[level].width) &
         (p.y < t->levels[level].height) & (p.z < t->levels[level].depth);
}

/* The place itself when it is good, else a good one. */
INLINE Place goodPlace(Place p, int inside) {
  return (Place){inside ? p.x : 0, inside ? p.y : 0, inside ? p.z : 0, inside ? p.slice : 0,
                 inside ? p.level : 0};
}

Float4 pewter_texture_read_float(Texture t, uint32_t x, uint32_t y, uint32_t z, uint32_t slice,
                                 uint32_t level) {
  if (!t)
    return 0;
  const Place p = {x, y, z, slice, level};
  const int inside = isInside(t, p);
  const Float4 c = swizzledFloat(t, toFloat(t, loadTexel(t, goodPlace(p, inside))));
  return (Float4){inside ? c.x : 0, inside ? c.y : 0, inside ? c.z : 0, inside ? c.w : 0};
}

Uint4 pewter_texture_read_int(Texture t, uint32_t x, uint32_t y, uint32_t z, uint32_t slice,
                              uint32_t level) {
  if (!t)
    return 0;
  const Place p = {x, y, z, slice, level};
  const int inside = isInside(t, p);
  const Uint4 c = swizzledInt(t, toInt(t, loadTexel(t, goodPlace(p, inside))));
  return (Uint4){inside ? c.x : 0, inside ? c.y : 0, inside ? c.z : 0, inside ? c.w : 0};
}

extern const CONSTANT float pewter_srgb_starts[256];

INLINE uint32_t rounded(float x) { return (uint32_t)(int)__builtin_roundevenf(x); }
INLINE uint32_t normalized(float x, float low, float scale) {
  return rounded(within(x != x ? 0 : x, low, 1) * scale);
}
/* A half without its sign and its lowest `drop` bits, rounded to the nearest; no overflow. */
INLINE uint32_t smallFloat(float x, uint32_t drop) {
  const uint32_t kept = 10 - drop;
  const float positive = x > 0 ? x : 0;
  const uint32_t word = __builtin_bit_cast(uint32_t, positive);
  const uint32_t normal =
      ((word + ((1u << (22 - kept)) - 1) + (word >> (23 - kept) & 1)) >> (23 - kept)) - (112u << kept);
  const float unit = __builtin_bit_cast(float, (127 + 14 + kept) << 23);
  const float small = positive < 0x1p-14f ? positive : 0;
  uint32_t bits = positive < 0x1p-14f ? rounded(small * unit) : normal;
  bits = atMost(bits, (31u << kept) - 1);
  bits = positive == __builtin_inff() ? 31u << kept : bits;
  return x != x ? (31u << kept) | 1 : bits;
}
INLINE uint32_t halfBits(float x, uint32_t drop) {
  return drop ? smallFloat(x, drop) : __builtin_bit_cast(unsigned short, (_Float16)x);
}

INLINE Uint4 fromFloat(Texture t, Float4 v) {
  if (t->number == kTexelFloat)
    return __builtin_bit_cast(Uint4, v);
  if (t->number == kTexelHalf)
    return (Uint4){halfBits(v.x, t->halfShift[0]), halfBits(v.y, t->halfShift[1]),
                   halfBits(v.z, t->halfShift[2]), halfBits(v.w, t->halfShift[3])};
  if (t->number == kTexelSrgb) {
    uint32_t r = 0, g = 0, b = 0;
    KEEP_LOOP
    for (uint32_t step = 128; step; step >>= 1) {
      r = v.x >= pewter_srgb_starts[r + step] ? r + step : r;
      g = v.y >= pewter_srgb_starts[g + step] ? g + step : g;
      b = v.z >= pewter_srgb_starts[b + step] ? b + step : b;
    }
    return (Uint4){r, g, b, normalized(v.w, 0, t->scale[3])};
  }
  const float low = t->number == kTexelSnorm ? -1 : 0;
  return (Uint4){normalized(v.x, low, t->scale[0]), normalized(v.y, low, t->scale[1]),
                 normalized(v.z, low, t->scale[2]), normalized(v.w, low, t->scale[3])};
}

void pewter_texture_write_float(Texture t, uint32_t x, uint32_t y, uint32_t z, uint32_t slice,
                                uint32_t level, Float4 v) {
  if (!t)
    return;
  const Place p = {x, y, z, slice, level};
  const Uint4 c = fromFloat(t, v);
  if (isInside(t, p))
    storeTexel(t, addressOf(t, p), c);
}

/* Of an unsigned value; a signed one is brought to the range of a signed channel. */
INLINE uint32_t saturated(uint32_t v, uint32_t mask, int isSigned) {
  const int high = (int)(mask >> 1), low = -high - 1;
  return isSigned ? (uint32_t)clamped((int)v, low, high) : atMost(v, mask);
}

void pewter_texture_write_int(Texture t, uint32_t x, uint32_t y, uint32_t z, uint32_t slice,
                              uint32_t level, Uint4 v) {
  if (!t)
    return;
  const Place p = {x, y, z, slice, level};
  const int isSigned = t->number == kTexelSint;
  const Uint4 c = {saturated(v.x, t->mask[0], isSigned), saturated(v.y, t->mask[1], isSigned),
                   saturated(v.z, t->mask[2], isSigned), saturated(v.w, t->mask[3], isSigned)};
  if (isInside(t, p))
    storeTexel(t, addressOf(t, p), c);
}

/* Of a level that the texture does not have: 0. */
uint32_t pewter_texture_width(Texture t, uint32_t level) {
  return t && level < t->levelCount ? t->levels[atMost(level, kMaxTextureLevels - 1)].width : 0;
}
uint32_t pewter_texture_height(Texture t, uint32_t level) {
  return t && level < t->levelCount ? t->levels[atMost(level, kMaxTextureLevels - 1)].height : 0;
}
uint32_t pewter_texture_depth(Texture t, uint32_t level) {
  return t && level < t->levelCount ? t->levels[atMost(level, kMaxTextureLevels - 1)].depth : 0;
}
uint32_t pewter_texture_slices(Texture t) { return t ? t->sliceCount : 0; }
uint32_t pewter_texture_levels(Texture t) { return t ? t->levelCount : 0; }
