/* SPDX-License-Identifier: Apache-2.0
 *
 * Sampling and gathering. Filters work in single precision with unrounded weights; texels are added in
 * a fixed order. Levels come from an explicit level or bias: a kernel has no derivatives, so without
 * them the level is 0. Cube faces are filtered across their edges by projecting each texel's centre
 * again; anisotropy and bicubic filters do not exist.
 *
 * `dimensions` and the offset are constants at every call, so what they rule out goes away.
 *
 * Tested by tests/api/KernelTextures_test.cpp.
 */
#include "air/ir/texture/Texture.h"

enum { kEdge, kMirrorEdge, kRepeat, kMirror, kZero, kBorder }; /* MTL::SamplerAddressMode */

/* Where a filter's footprint begins in one dimension, and the weight of its second texel. */
typedef struct {
  int first;
  float weight;
} Footprint;

INLINE Footprint footprint(float u, uint32_t size, uint32_t mode, int isNormalized, int isLinear) {
  float turned = mode == kRepeat ? u - __builtin_floorf(u) : u;
  turned = mode == kMirror ? u - 2 * __builtin_floorf(u * 0.5f) : turned;
  float x = isNormalized ? turned * (float)size : u;
  x = isLinear ? x - 0.5f : x;
  /* Far enough out for offsets, which are at most 8. */
  x = within(x, -(float)size - 18, 2 * (float)size + 18);
  const float first = __builtin_floorf(x);
  return (Footprint){(int)first, isLinear ? x - first : 0};
}

/* x modulo size, for |x| up to 2^17 and sizes up to 2^15: the quotient is never near an integer. */
INLINE int modulo(int x, int size) {
  return x - (int)__builtin_floorf(((float)x + 0.5f) / (float)size) * size;
}

typedef struct {
  int x;
  uint32_t isZero, isBorder; /* Which of the two colours stands outside. */
} Wrapped;

INLINE Wrapped wrapped(int x, uint32_t size, uint32_t mode) {
  const int n = (int)size;
  const int around = modulo(x, n), twice = modulo(x, 2 * n);
  int r = mode == kMirrorEdge ? (x < 0 ? -1 - x : x) : x;
  r = mode == kRepeat ? around : r;
  r = mode == kMirror ? (twice < n ? twice : 2 * n - 1 - twice) : r;
  const uint32_t outside = (r < 0) | (r >= n);
  return (Wrapped){clamped(r, 0, n - 1), outside & (mode == kZero), outside & (mode == kBorder)};
}

typedef struct {
  Place place;
  uint32_t isZero, isBorder;
} Tap;

/* The texel (x, y, z) of a level, brought into the texture as the sampler says. */
INLINE Tap tapAt(Texture t, Sampler s, uint32_t dimensions, int x, int y, int z, uint32_t slice,
                 uint32_t level) {
  const DEVICE TextureLevel *size = &t->levels[level];
  const Wrapped a = wrapped(x, size->width, s->sAddress);
  const Wrapped b = dimensions > 1 ? wrapped(y, size->height, s->tAddress) : (Wrapped){0, 0, 0};
  const Wrapped c = dimensions > 2 ? wrapped(z, size->depth, s->rAddress) : (Wrapped){0, 0, 0};
  return (Tap){{(uint32_t)a.x, (uint32_t)b.x, (uint32_t)c.x, slice, level},
               a.isZero | b.isZero | c.isZero,
               a.isBorder | b.isBorder | c.isBorder};
}

typedef struct {
  uint32_t face;
  float s, t; /* -1 to 1 on the face. */
} OnFace;

INLINE OnFace faceOf(float x, float y, float z) {
  const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
  const int isZ = (az >= ax) & (az >= ay), isY = !isZ & (ay >= ax);
  const float major = isZ ? az : isY ? ay : ax;
  const float s = isZ ? (z < 0 ? -x : x) : isY ? x : (x < 0 ? z : -z);
  const float t = isZ ? -y : isY ? (y < 0 ? -z : z) : -y;
  const uint32_t face = isZ ? 4u + (z < 0) : isY ? 2u + (y < 0) : 0u + (x < 0);
  const float divisor = major > 0 ? major : 1;
  return (OnFace){face, s / divisor, t / divisor};
}

INLINE Tap cubeTap(Texture texture, OnFace at, int x, int y, uint32_t firstSlice, uint32_t level) {
  const int size = (int)texture->levels[level].width;
  const float n = (float)size;
  const float s = (2 * (float)x + 1) / n - 1, t = (2 * (float)y + 1) / n - 1;
  const uint32_t f = at.face;
  const float dx = f == 0 ? 1 : f == 1 ? -1 : f == 5 ? -s : s;
  const float dy = f == 2 ? 1 : f == 3 ? -1 : -t;
  const float dz = f == 0 ? -s : f == 1 ? s : f == 2 ? t : f == 3 ? -t : f == 4 ? 1 : -1;
  const OnFace other = faceOf(dx, dy, dz);
  const int isHere = (x >= 0) & (x < size) & (y >= 0) & (y < size);
  const int ox = (int)__builtin_floorf(within((other.s + 1) * 0.5f * n, 0, n - 1));
  const int oy = (int)__builtin_floorf(within((other.t + 1) * 0.5f * n, 0, n - 1));
  const uint32_t face = isHere ? f : other.face;
  return (Tap){{(uint32_t)(isHere ? x : ox), (uint32_t)(isHere ? y : oy), 0, firstSlice + face, level},
               0, 0};
}

/* The colour outside: its missing channels are those of any texel. */
INLINE Float4 borderFloat(Texture t, Sampler s, Tap tap) {
  const float rgb = (tap.isBorder & (s->borderColor == 2)) ? 1 : 0;
  const float alpha = (tap.isBorder & (s->borderColor != 0)) ? 1 : 0;
  return (Float4){t->width[0] ? rgb : 0, t->width[1] ? rgb : 0, t->width[2] ? rgb : 0,
                  t->width[3] ? alpha : 1};
}

INLINE Float4 texelFloat(Texture t, Sampler s, Tap tap) {
  const Float4 c = toFloat(t, loadTexel(t, tap.place));
  const Float4 outside = borderFloat(t, s, tap);
  const uint32_t isOutside = tap.isZero | tap.isBorder;
  return (Float4){isOutside ? outside.x : c.x, isOutside ? outside.y : c.y,
                  isOutside ? outside.z : c.z, isOutside ? outside.w : c.w};
}

INLINE Uint4 texelInt(Texture t, Sampler s, Tap tap) {
  const Uint4 c = toInt(t, loadTexel(t, tap.place));
  const uint32_t isOutside = tap.isZero | tap.isBorder;
  const uint32_t rgb = tap.isBorder & (s->borderColor == 2);
  const uint32_t alpha = t->width[3] ? tap.isBorder & (s->borderColor != 0) : 1;
  return (Uint4){isOutside ? (t->width[0] ? rgb : 0) : c.x, isOutside ? (t->width[1] ? rgb : 0) : c.y,
                 isOutside ? (t->width[2] ? rgb : 0) : c.z, isOutside ? alpha : c.w};
}

/* What `compare` makes of a reference value and the stored one. */
INLINE float compared(uint32_t function, float reference, float stored) {
  int r = function == 7;
  r = function == 1 ? reference < stored : r;
  r = function == 2 ? reference == stored : r;
  r = function == 3 ? reference <= stored : r;
  r = function == 4 ? reference > stored : r;
  r = function == 5 ? reference != stored : r;
  r = function == 6 ? reference >= stored : r;
  return r ? 1 : 0;
}

typedef struct {
  uint32_t level;
  float next; /* Weight of the level behind it. */
  int isLinear;
} LevelChoice;

INLINE LevelChoice chooseLevel(Texture t, Sampler s, float lod, float smallest) {
  lod += s->lodBias;
  lod = within(lod, s->lodMinClamp > smallest ? s->lodMinClamp : smallest, s->lodMaxClamp);
  const float last = (float)(t->levelCount - 1);
  const int isLinear = (lod > 0 ? s->minFilter : s->magFilter) != 0;
  lod = within(lod, 0, last);
  const float base = s->mipFilter == 0 ? 0 : s->mipFilter == 1 ? __builtin_floorf(lod + 0.5f)
                                                               : __builtin_floorf(lod);
  return (LevelChoice){(uint32_t)(int)base, s->mipFilter == 2 ? lod - base : 0, isLinear};
}

/* The filtered value of one level; `isCompared`: of comparisons with `reference`. */
INLINE Float4 filtered(Texture t, Sampler s, uint32_t dimensions, float u, float v, float w,
                       uint32_t slice, int ox, int oy, int oz, uint32_t level, int isLinear,
                       int isCompared, float reference) {
  const int isCube = dimensions == 4;
  const DEVICE TextureLevel *size = &t->levels[level];
  const int isNormalized = s->normalizedCoordinates != 0;
  OnFace face = {0, 0, 0};
  Footprint a, b = {0, 0}, c = {0, 0};
  if (isCube) {
    face = faceOf(u, v, w);
    a = footprint((face.s + 1) * 0.5f, size->width, kEdge, 1, isLinear);
    b = footprint((face.t + 1) * 0.5f, size->width, kEdge, 1, isLinear);
    const int last = (int)size->width - 1;
    a.first = isLinear ? a.first : clamped(a.first, 0, last);
    b.first = isLinear ? b.first : clamped(b.first, 0, last);
  } else {
    a = footprint(u, size->width, s->sAddress, isNormalized, isLinear);
    if (dimensions > 1)
      b = footprint(v, size->height, s->tAddress, isNormalized, isLinear);
    if (dimensions > 2)
      c = footprint(w, size->depth, s->rAddress, isNormalized, isLinear);
  }
  const uint32_t taps = dimensions == 1 ? 2 : dimensions == 3 ? 8 : 4;
  const uint32_t count = isLinear ? taps : 1;
  Float4 sum = 0;
  KEEP_LOOP
  for (uint32_t i = 0; i < count; ++i) {
    const int dx = (int)(i & 1), dy = (int)(i >> 1 & 1), dz = (int)(i >> 2);
    float weight = dx ? a.weight : 1 - a.weight;
    if (dimensions > 1)
      weight *= dy ? b.weight : 1 - b.weight;
    if (dimensions == 3)
      weight *= dz ? c.weight : 1 - c.weight;
    const Tap tap = isCube ? cubeTap(t, face, a.first + dx, b.first + dy, slice, level)
                           : tapAt(t, s, dimensions, a.first + dx + ox, b.first + dy + oy,
                                   c.first + dz + oz, slice, level);
    Float4 texel = texelFloat(t, s, tap);
    if (isCompared)
      texel = compared(s->compareFunction, reference, texel.x);
    sum += texel * weight;
  }
  return sum;
}

INLINE uint32_t sliceOf(Texture t, uint32_t dimensions, uint32_t slice) {
  return dimensions == 4 ? atMost(slice, t->sliceCount / 6 - 1) * 6 : atMost(slice, t->sliceCount - 1);
}

INLINE Float4 sampled(Texture t, Sampler s, uint32_t dimensions, float u, float v, float w,
                      uint32_t slice, int ox, int oy, int oz, float lod, float smallest,
                      int isCompared, float reference) {
  const LevelChoice choice = chooseLevel(t, s, lod, smallest);
  slice = sliceOf(t, dimensions, slice);
  const uint32_t levels = s->mipFilter == 2 ? 2 : 1;
  Float4 sum = 0;
  KEEP_LOOP
  for (uint32_t i = 0; i < levels; ++i) {
    const uint32_t level = atMost(choice.level + i, t->levelCount - 1);
    const Float4 c = filtered(t, s, dimensions, u, v, w, slice, ox, oy, oz, level, choice.isLinear,
                              isCompared, reference);
    sum += c * (i ? choice.next : 1 - choice.next);
  }
  return sum;
}

/* dimensions: 1, 2, 3, or 4 for a cube, whose (u, v, w) is a direction. */
Float4 pewter_texture_sample_float(Texture t, Sampler s, uint32_t dimensions, float u, float v,
                                   float w, uint32_t slice, int ox, int oy, int oz, float lod,
                                   float smallest) {
  if (!t)
    return 0;
  return swizzledFloat(
      t, sampled(t, s, dimensions, u, v, w, slice, ox, oy, oz, lod, smallest, 0, 0));
}

float pewter_texture_compare_float(Texture t, Sampler s, uint32_t dimensions, float u, float v,
                                   float w, uint32_t slice, int ox, int oy, int oz, float lod,
                                   float smallest, float reference) {
  if (!t)
    return 0;
  return sampled(t, s, dimensions, u, v, w, slice, ox, oy, oz, lod, smallest, 1, reference).x;
}

/* Integers are not filtered: the nearest texel of the nearest level. */
Uint4 pewter_texture_sample_int(Texture t, Sampler s, uint32_t dimensions, float u, float v, float w,
                                uint32_t slice, int ox, int oy, int oz, float lod, float smallest) {
  if (!t)
    return 0;
  const LevelChoice choice = chooseLevel(t, s, lod, smallest);
  const uint32_t level = choice.next >= 0.5f ? choice.level + 1 : choice.level;
  slice = sliceOf(t, dimensions, slice);
  const DEVICE TextureLevel *size = &t->levels[level];
  const int isNormalized = s->normalizedCoordinates != 0;
  Tap tap;
  if (dimensions == 4) {
    const OnFace face = faceOf(u, v, w);
    const int last = (int)size->width - 1;
    const int x = footprint((face.s + 1) * 0.5f, size->width, kEdge, 1, 0).first;
    const int y = footprint((face.t + 1) * 0.5f, size->width, kEdge, 1, 0).first;
    tap = cubeTap(t, face, clamped(x, 0, last), clamped(y, 0, last), slice, level);
  } else {
    const int x = footprint(u, size->width, s->sAddress, isNormalized, 0).first;
    const int y = dimensions > 1 ? footprint(v, size->height, s->tAddress, isNormalized, 0).first : 0;
    const int z = dimensions > 2 ? footprint(w, size->depth, s->rAddress, isNormalized, 0).first : 0;
    tap = tapAt(t, s, dimensions, x + ox, y + oy, z + oz, slice, level);
  }
  return swizzledInt(t, texelInt(t, s, tap));
}

/* The texel i of a gather: counter-clockwise from the lower left one. */
INLINE Tap gatherTap(Texture t, Sampler s, uint32_t dimensions, float u, float v, float w,
                     uint32_t slice, int ox, int oy, uint32_t i) {
  const DEVICE TextureLevel *size = &t->levels[0];
  const int dx = i == 1 || i == 2, dy = i < 2;
  if (dimensions == 4) {
    const OnFace face = faceOf(u, v, w);
    return cubeTap(t, face, footprint((face.s + 1) * 0.5f, size->width, kEdge, 1, 1).first + dx,
                   footprint((face.t + 1) * 0.5f, size->width, kEdge, 1, 1).first + dy, slice, 0);
  }
  const int isNormalized = s->normalizedCoordinates != 0;
  return tapAt(t, s, 2, footprint(u, size->width, s->sAddress, isNormalized, 1).first + dx + ox,
               footprint(v, size->height, s->tAddress, isNormalized, 1).first + dy + oy, 0, slice, 0);
}

INLINE uint8_t sourceOf(Texture t, uint32_t component) {
  component = component & 3;
  return t->hasSwizzle ? t->swizzle[component] : (uint8_t)(component + 2);
}

Float4 pewter_texture_gather_float(Texture t, Sampler s, uint32_t dimensions, float u, float v,
                                   float w, uint32_t slice, int ox, int oy, uint32_t component) {
  if (!t)
    return 0;
  slice = sliceOf(t, dimensions, slice);
  Float4 r = 0;
  KEEP_LOOP
  for (uint32_t i = 0; i < 4; ++i) {
    const Tap tap = gatherTap(t, s, dimensions, u, v, w, slice, ox, oy, i);
    const float c = pick(texelFloat(t, s, tap), sourceOf(t, component));
    r = (Float4){i == 0 ? c : r.x, i == 1 ? c : r.y, i == 2 ? c : r.z, i == 3 ? c : r.w};
  }
  return r;
}

Float4 pewter_texture_gather_compare_float(Texture t, Sampler s, uint32_t dimensions, float u, float v,
                                           float w, uint32_t slice, int ox, int oy, float reference) {
  if (!t)
    return 0;
  slice = sliceOf(t, dimensions, slice);
  Float4 r = 0;
  KEEP_LOOP
  for (uint32_t i = 0; i < 4; ++i) {
    const Tap tap = gatherTap(t, s, dimensions, u, v, w, slice, ox, oy, i);
    const float c = compared(s->compareFunction, reference, texelFloat(t, s, tap).x);
    r = (Float4){i == 0 ? c : r.x, i == 1 ? c : r.y, i == 2 ? c : r.z, i == 3 ? c : r.w};
  }
  return r;
}

Uint4 pewter_texture_gather_int(Texture t, Sampler s, uint32_t dimensions, float u, float v, float w,
                                uint32_t slice, int ox, int oy, uint32_t component) {
  if (!t)
    return 0;
  slice = sliceOf(t, dimensions, slice);
  Uint4 r = 0;
  KEEP_LOOP
  for (uint32_t i = 0; i < 4; ++i) {
    const Tap tap = gatherTap(t, s, dimensions, u, v, w, slice, ox, oy, i);
    const uint32_t c = pickInt(texelInt(t, s, tap), sourceOf(t, component));
    r = (Uint4){i == 0 ? c : r.x, i == 1 ? c : r.y, i == 2 ? c : r.z, i == 3 ? c : r.w};
  }
  return r;
}

/* The level for gradients of normalised coordinates (of a direction, for a cube). */
extern float pewter_math_log2(float);
INLINE float largestOf(float a, float b) { return a >= b ? a : b; }
float pewter_texture_gradient_level(Texture t, Sampler s, uint32_t dimensions, float ax, float ay,
                                    float az, float bx, float by, float bz) {
  if (!t)
    return 0;
  const int isNormalized = s->normalizedCoordinates != 0;
  const float width = isNormalized ? (float)t->levels[0].width : 1;
  /* A face spans two units of direction at distance one. */
  const float x = dimensions == 4 ? width * 0.5f : width;
  const float y = dimensions == 4 ? x : isNormalized ? (float)t->levels[0].height : 1;
  const float z = dimensions == 4 ? x : isNormalized ? (float)t->levels[0].depth : 1;
  ax *= x, bx *= x, ay *= y, by *= y, az *= z, bz *= z;
  const float a = ax * ax + ay * ay + az * az, b = bx * bx + by * by + bz * bz;
  const float largest = largestOf(largestOf(a, b), 0x1p-120f);
  return pewter_math_log2(largest) * 0.5f;
}
