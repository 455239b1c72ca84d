/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of a float's parts: frexp, ldexp, ilogb, logb, nextafter, fract, modf, round, sign, fdim,
 * and the exact remainder fmod; the reciprocal square root.
 *
 * Tested by tests/accuracy.
 */
#include "air/ir/math/Support.h"

/* a = mantissa * 2^exponent with the mantissa in [1, 2), for finite a > 0. */
typedef struct {
  float mantissa;
  int exponent;
} Parts;

INLINE Parts partsOf(float a) {
  int small = a < 0x1p-126f;
  Bits bits = bitsOf(small ? a * 0x1p23f : a);
  int bias = small ? 127 + 23 : 127;
  return (Parts){floatOf((bits & 0x007fffff) | 0x3f800000), (int)(bits >> 23) - bias};
}

/* Neither zero nor infinite nor NaN; for a without a sign. */
INLINE int isRegular(float a) { return bitsOf(a) - 1 < 0x7f7fffff; }

float PRECISE(frexp)(float x, int *exponent) {
  float a = absolute(x);
  Parts parts = partsOf(a);
  *exponent = isRegular(a) ? parts.exponent + 1 : 0;
  return choose(isRegular(a), withSignOf(parts.mantissa * 0.5f, x), x);
}

float PRECISE(ldexp)(float x, int n) {
  float a = absolute(x);
  Parts parts = partsOf(a);
  int bounded = n > 400 ? 400 : n < -400 ? -400 : n;
  int exponent = parts.exponent + bounded;
  exponent = exponent > 200 ? 200 : exponent < -200 ? -200 : exponent;
  int half = exponent >> 1;
  float result = parts.mantissa * powerOfTwo(half) * powerOfTwo(exponent - half);
  return choose(isRegular(a), withSignOf(result, x), x);
}

int PRECISE(ilogb)(float x) {
  float a = absolute(x);
  int exponent = partsOf(a).exponent;
  int special = a == 0.0f ? (int)0x80000000 : 0x7fffffff;
  return isRegular(a) ? exponent : special;
}

float PRECISE(logb)(float x) {
  float a = absolute(x);
  float special = choose(a == 0.0f, -INFINITE, a);
  return choose(isRegular(a), (float)partsOf(a).exponent, special);
}

/* Bits of a float as an integer in the order of the values, and back. */
INLINE int ordered(float x) {
  int bits = (int)bitsOf(x);
  return bits < 0 ? (int)(0x80000000u - (Bits)bits) : bits;
}

float PRECISE(nextafter)(float x, float y) {
  int from = ordered(x), to = ordered(y);
  int next = from < to ? from + 1 : from - 1;
  float moved = floatOf(next < 0 ? 0x80000000u - (Bits)next : (Bits)next);
  moved = choose(next == 0, withSignOf(0.0f, x), moved);
  float result = choose(x == y, y, moved);
  return choose(x != x, x, choose(y != y, y, result));
}

/* The largest float below 1 where x - floor(x) rounds up to 1. */
float PRECISE(fract)(float x) {
  float part = x - __builtin_floorf(x);
  float bounded = part < 1.0f ? part : 0x1.fffffep-1f;
  bounded = absolute(x) == INFINITE ? 0.0f : bounded;
  return x != x ? x : bounded;
}

float PRECISE(modf)(float x, float *whole) {
  float integral = __builtin_truncf(x);
  float part = absolute(x) == INFINITE ? 0.0f : x - integral;
  *whole = integral;
  return withSignOf(part, x);
}

/* Halfway cases away from zero. */
float PRECISE(round)(float x) {
  float integral = __builtin_truncf(x);
  float up = absolute(x - integral) >= 0.5f ? 1.0f : 0.0f;
  return withSignOf(absolute(integral) + up, x);
}

float PRECISE(sign)(float x) {
  float one = withSignOf(x != 0.0f ? 1.0f : 0.0f, x);
  return x != x ? 0.0f : one;
}

float PRECISE(fdim)(float x, float y) {
  float difference = x - y;
  float result = x > y ? difference : 0.0f;
  return choose(either(x != x, y != y), NOT_A_NUMBER, result);
}

/* One step of long division: r * 2^shift minus the nearest multiple of d, exact because the
 * quotient has at most 23 bits. r and d are of like size; the result is within 0.75 d. */
INLINE float remainderStep(float r, float d, float shift) {
  float scaled = r * shift;
  float sum = scaled / d + ROUNDER;
  return FMA(ROUNDER - sum, d, scaled);
}

/* Long division of the mantissas, 21 bits of the quotient a step: the exponents differ by at most
 * 276, which is 13 steps and a remainder. Steps beyond the difference are skipped by a select. */
float PRECISE(fmod)(float x, float y) {
  float ax = absolute(x), ay = absolute(y);
  int proper = both(isRegular(ay), ax < INFINITE);
  Parts n = partsOf(isRegular(ax) ? ax : 1.0f);
  Parts d = partsOf(isRegular(ay) ? ay : 1.0f);
  int places = n.exponent - d.exponent;
  places = places < 0 ? 0 : places;
  int steps = places / 21;
  float r = remainderStep(n.mantissa, d.mantissa, powerOfTwo(places - steps * 21));
#define STEP(i)                                                                                    \
  {                                                                                                \
    float next = remainderStep(r, d.mantissa, 0x1p21f);                                            \
    r = steps > i ? next : r;                                                                      \
  }
  STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6)
  STEP(7) STEP(8) STEP(9) STEP(10) STEP(11) STEP(12)
#undef STEP
  r = r < 0.0f ? r + d.mantissa : r;
  int half = d.exponent >> 1;
  float result = r * powerOfTwo(half) * powerOfTwo(d.exponent - half);
  result = ax < ay ? ax : result;
  int unchanged = both(ay == INFINITE, ax < INFINITE);
  return choose(proper, withSignOf(result, x), choose(unchanged, x, NOT_A_NUMBER));
}

/* x - y * trunc(x / y), with the quotient put right where it was rounded up. */
float FAST(fmod)(float x, float y) {
  float ax = absolute(x), ay = absolute(y);
  float r = FMA(-__builtin_truncf(ax / ay), ay, ax);
  r = r < 0.0f ? r + ay : r;
  return withSignOf(choose(both(ay == INFINITE, ax < INFINITE), ax, r), x);
}

/* 1 / sqrt(x) is within an ulp; one step with an exact residual rounds it correctly. */
float PRECISE(rsqrt)(float x) {
  float y = 1.0f / squareRoot(x);
  float high = x * y;
  float low = FMA(x, y, -high);
  float error = FMA(-y, low, FMA(-y, high, 1.0f));
  float better = FMA(y, FMA(0.375f * error, error, 0.5f * error), y);
  return better == better ? better : y;
}
