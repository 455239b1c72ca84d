/* SPDX-License-Identifier: Apache-2.0
 *
 * sin, cos, tan and their forms in half turns.
 *
 * Precise reduction: up to 2^15 by subtracting n * pi/2 in three parts (the first difference is
 * exact); beyond, by multiplying the mantissa with the 96 bits of 2/pi that matter for the exponent
 * (Payne and Hanek's method), where the 64-bit fixed-point fraction keeps 32 bits more than the
 * closest float to a multiple of pi/2 cancels. Both are computed and one is selected.
 * Fast reduction: two parts, good to about 2^17; from 2^22 on the argument counts as zero.
 *
 * Tested by tests/accuracy.
 */
#include "air/ir/math/Polynomials.h"

typedef struct {
  float r;      /* in [-pi/4, pi/4] */
  Bits quarter; /* number of quarter turns; only the low two bits count */
} Angle;

/* |x| = mantissa * 2^(exponent - 150), exponent >= 142. */
INLINE Angle reduceLarge(Bits magnitude) {
  int first = (int)(magnitude >> 23) - 120;
  first = first < 0 ? 0 : first;
  int word = first >> 5;
  Bits shift = (Bits)first & 31;
#define PICK(a, b, c, d, e)                                                                        \
  (only(word == 0, a) | only(word == 1, b) | only(word == 2, c) | only(word == 3, d) |             \
   only(word == 4, e))
  /* 2/pi in words of 32 bits, a zero word first. */
  const Bits w0 = 0, w1 = 0xa2f9836e, w2 = 0x4e441529, w3 = 0xfc2757d1, w4 = 0xf534ddc0,
             w5 = 0xdb629599, w6 = 0x3c439041, w7 = 0xfe5163ab;
  Bits a = PICK(w0, w1, w2, w3, w4);
  Bits b = PICK(w1, w2, w3, w4, w5);
  Bits c = PICK(w2, w3, w4, w5, w6);
  Bits d = PICK(w3, w4, w5, w6, w7);
#undef PICK
#define FUNNEL(high, low) ((high) << shift | (low) >> 1 >> (31 - shift))
  Bits64 high = FUNNEL(a, b), middle = FUNNEL(b, c), low = FUNNEL(c, d);
#undef FUNNEL
  Bits64 mantissa = (magnitude & 0x007fffff) | 0x00800000;
  Bits64 carry = mantissa * middle + (mantissa * low >> 32);
  Bits64 turns = (mantissa * high << 32) + carry; /* quarter turns, 62 fraction bits */
  Bits64 fraction = turns << 2;
  Bits64 negative = fraction >> 63;
  Bits64 size = (fraction ^ (0 - negative)) + negative;
  Bits top = (Bits)(size >> 32), rest = (Bits)size;
  float exact = (float)(int)(top & 0xffffff80);
  float tail = (float)(int)((top & 0x7f) << 24 | rest >> 8);
  float value = FMA(tail, 0x1p-56f, exact * 0x1p-32f);
  float r = value * HALF_PI;
  return (Angle){negatedIf(r, (Bits)negative), (Bits)(turns >> 62) + (Bits)negative};
}

INLINE Angle reduceSmall(float magnitude) {
  float sum = FMA(magnitude, TWO_OVER_PI, ROUNDER);
  float n = sum - ROUNDER;
  float r = FMA(n, -HALF_PI, magnitude);
  r = FMA(n, -HALF_PI_LOW, r);
  r = FMA(n, -HALF_PI_LOWEST, r);
  return (Angle){r, bitsOf(sum)};
}

/* Of |x|; NaN for infinity and NaN. */
INLINE Angle reduce(float x) {
  float magnitude = absolute(x);
  int large = magnitude > 32768.0f;
  Angle far = reduceLarge(bitsOf(magnitude));
  Angle near = reduceSmall(large ? 0.0f : magnitude);
  Angle angle = {large ? far.r : near.r, large ? far.quarter : near.quarter};
  angle.r = magnitude < INFINITE ? angle.r : NOT_A_NUMBER;
  return angle;
}

INLINE float sineOf(Angle angle, float sine, float cosine) {
  return negatedIf(angle.quarter & 1 ? cosine : sine, angle.quarter >> 1);
}
INLINE float cosineOf(Angle angle, float sine, float cosine) {
  return negatedIf(angle.quarter & 1 ? sine : cosine, (angle.quarter + 1) >> 1);
}

float PRECISE(sin)(float x) {
  Angle angle = reduce(x);
  float result = sineOf(angle, sinNearZero(angle.r), cosNearZero(angle.r));
  return negatedIf(result, bitsOf(x) >> 31);
}

float PRECISE(cos)(float x) {
  Angle angle = reduce(x);
  return cosineOf(angle, sinNearZero(angle.r), cosNearZero(angle.r));
}

float PRECISE(sincos)(float x, float *cosineResult) {
  Angle angle = reduce(x);
  float sine = sinNearZero(angle.r), cosine = cosNearZero(angle.r);
  *cosineResult = cosineOf(angle, sine, cosine);
  return negatedIf(sineOf(angle, sine, cosine), bitsOf(x) >> 31);
}

/* sin / cos, or -cos / sin in odd quarters. */
INLINE float tangentOf(float sine, float cosine, Bits odd) {
  float quotient = choose((int)odd, cosine, sine) / choose((int)odd, sine, cosine);
  return negatedIf(quotient, odd);
}

float PRECISE(tan)(float x) {
  Angle angle = reduce(x);
  float result = tangentOf(sinNearZero(angle.r), cosNearZero(angle.r), angle.quarter & 1);
  return negatedIf(result, bitsOf(x) >> 31);
}

/* Fast: one odd polynomial on [-pi/2, pi/2], the sign by the parity of the half turns. */
INLINE float reducible(float x) { return absolute(x) < 0x1p22f ? x : x * 0.0f; }

INLINE float sineOnHalfTurn(float r, Bits halfTurns) {
  float z = r * r;
  float p = 0x1.61585ap-19f;
  p = FMA(p, z, -0x1.9fb1ecp-13f);
  p = FMA(p, z, 0x1.111038p-7f);
  p = FMA(p, z, -0x1.555554p-3f);
  return negatedIf(FMA(z * r, p, r), halfTurns);
}

float FAST(sin)(float x) {
  x = reducible(x);
  float sum = FMA(x, ONE_OVER_PI, ROUNDER);
  float n = sum - ROUNDER;
  return sineOnHalfTurn(FMA(n, -PI_LOW, FMA(n, -PI, x)), bitsOf(sum));
}

float FAST(cos)(float x) {
  x = reducible(x);
  float sum = FMA(x, ONE_OVER_PI, 0.5f) + ROUNDER;
  float n = (sum - ROUNDER) - 0.5f;
  return sineOnHalfTurn(FMA(n, -PI_LOW, FMA(n, -PI, x)), bitsOf(sum));
}

float FAST(sincos)(float x, float *cosineResult) {
  *cosineResult = FAST(cos)(x);
  return FAST(sin)(x);
}

float FAST(tan)(float x) {
  x = reducible(x);
  float sum = FMA(x, TWO_OVER_PI, ROUNDER);
  float n = sum - ROUNDER;
  float r = FMA(n, -HALF_PI_LOW, FMA(n, -HALF_PI, x));
  return tangentOf(sinNearZero(r), cosNearZero(r), bitsOf(sum) & 1);
}

/* x modulo 2 and then modulo 1/2, both exact; from 2^24 on every float is even. */
INLINE Angle reduceHalfTurns(float x) {
  float magnitude = absolute(x);
  float bounded = magnitude < 0x1p24f ? magnitude : magnitude * 0.0f;
  float turns = (bounded * 0.5f + 0x1p23f) - 0x1p23f;
  float inTurn = bounded - (turns + turns);
  float sum = FMA(inTurn, 2.0f, ROUNDER);
  float r = FMA(sum - ROUNDER, -0.5f, inTurn);
  Angle angle = {r, bitsOf(sum)};
  return angle;
}

INLINE float sinPiNearZero(float r) {
  float z = r * r;
  float p = 0x1.46c086p-4f;
  p = FMA(p, z, -0x1.32b5ap-1f);
  p = FMA(p, z, 0x1.466b84p1f);
  p = FMA(p, z, -0x1.4abbcep2f);
  return FMA(r, PI, FMA(z * r, p, r * PI_LOW));
}
INLINE float cosPiNearZero(float r) {
  float z = r * r;
  float p = 0x1.d684aap-3f;
  p = FMA(p, z, -0x1.55b7cep0f);
  p = FMA(p, z, 0x1.03c1b8p2f);
  p = FMA(p, z, -0x1.3bd3ccp2f);
  return FMA(p, z, 1.0f);
}

float PRECISE(sinpi)(float x) {
  Angle angle = reduceHalfTurns(x);
  float result = sineOf(angle, sinPiNearZero(angle.r), cosPiNearZero(angle.r));
  return negatedIf(result, bitsOf(x) >> 31);
}

float PRECISE(cospi)(float x) {
  Angle angle = reduceHalfTurns(x);
  /* The addition makes a zero positive. */
  return cosineOf(angle, sinPiNearZero(angle.r), cosPiNearZero(angle.r)) + 0.0f;
}

float PRECISE(tanpi)(float x) {
  Angle angle = reduceHalfTurns(x);
  Bits odd = angle.quarter & 1;
  float result = tangentOf(sinPiNearZero(angle.r), cosPiNearZero(angle.r), odd);
  /* At a pole: positive after an even number of half turns, negative after an odd one. */
  int pole = both((int)odd, angle.r == 0.0f);
  result = choose(pole, negatedIf(INFINITE, angle.quarter >> 1), result);
  return negatedIf(result, bitsOf(x) >> 31);
}
