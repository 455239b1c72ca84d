/* SPDX-License-Identifier: Apache-2.0
 *
 * log, log2, log10: x = 2^k * (1 + f) with f in [-1/3, 1/3]. Fast forms take a denormal as zero.
 *
 * Tested by tests/accuracy.
 */
#include "air/ir/math/Polynomials.h"

typedef struct {
  float k, logarithm;
} Parts;

INLINE Parts split(float x) {
  int k = exponentAround(x);
  return (Parts){(float)k, logNearOne(mantissaAround(x, k) - 1.0f)};
}

/* A denormal is scaled up first. */
INLINE Parts splitAny(float x) {
  int small = x < 0x1p-126f;
  Parts parts = split(small ? x * 0x1p23f : x);
  parts.k -= small ? 23.0f : 0.0f;
  return parts;
}

INLINE float orSpecial(float x, float result, float smallest) {
  float outside = x < 0.0f ? NOT_A_NUMBER : -INFINITE;
  float low = x < smallest ? outside : result;
  return x < INFINITE ? low : x; /* infinity and NaN */
}

float PRECISE(log)(float x) {
  Parts p = splitAny(x);
  return orSpecial(x, FMA(p.k, LN2, p.logarithm), 0x1p-149f);
}
float FAST(log)(float x) {
  Parts p = split(x);
  return orSpecial(x, FMA(p.k, LN2, p.logarithm), 0x1p-126f);
}

float PRECISE(log2)(float x) {
  Parts p = splitAny(x);
  float low = p.logarithm * LOG2_E_LOW;
  return orSpecial(x, FMA(p.logarithm, LOG2_E, low) + p.k, 0x1p-149f);
}
float FAST(log2)(float x) {
  Parts p = split(x);
  return orSpecial(x, FMA(p.logarithm, LOG2_E, p.k), 0x1p-126f);
}

INLINE float decimal(Parts p) {
  return FMA(p.k, 0x1.344136p-2f, FMA(p.logarithm, 0x1.bcb7b2p-2f, p.k * -0x1.ec10cp-27f));
}
float PRECISE(log10)(float x) {
  return orSpecial(x, decimal(splitAny(x)), 0x1p-149f);
}
float FAST(log10)(float x) { return orSpecial(x, decimal(split(x)), 0x1p-126f); }
