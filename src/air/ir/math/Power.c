/* SPDX-License-Identifier: Apache-2.0
 *
 * pow and powr: 2^(y * log2(|x|)). The product may be near 128, so the logarithm needs seven bits
 * more than a float has: it is computed as a sum of two floats (f - f^2/2 + f^3/3 exactly enough, the
 * rest of the series in one float). Fast forms leave out the f^3 correction and denormals, and are
 * still far closer than exp2(y * log2(x)) in single floats, which is all that Metal asks of them.
 *
 * Tested by tests/accuracy.
 */
#include "air/ir/math/Polynomials.h"

typedef struct {
  float high, low;
} Pair;

/* For |a| >= |b| or a = 0. */
INLINE Pair sumOf(float a, float b) {
  float high = a + b;
  return (Pair){high, b - (high - a)};
}

INLINE Pair productOf(float a, float b) {
  float high = a * b;
  return (Pair){high, FMA(a, b, -high)};
}

/* log(1 + f) with a relative error of about 2^-31. */
INLINE Pair longLogNearOne(float f) {
  float p = -0x1.bbf9f6p-4f;
  p = FMA(p, f, 0x1.d087ap-4f);
  p = FMA(p, f, -0x1.8e71f4p-4f);
  p = FMA(p, f, 0x1.bf0594p-4f);
  p = FMA(p, f, -0x1.003cbp-3f);
  p = FMA(p, f, 0x1.24b326p-3f);
  p = FMA(p, f, -0x1.555484p-3f);
  p = FMA(p, f, 0x1.999952p-3f);
  p = FMA(p, f, -0.25f);
  Pair square = productOf(f, f);
  Pair cube = productOf(square.high, f);
  cube.low = FMA(square.low, f, cube.low);
  const float third = 0x1.555556p-2f, thirdLow = -0x1.555556p-27f;
  Pair term = productOf(cube.high, third);
  term.low = FMA(cube.low, third, FMA(cube.high, thirdLow, term.low));
  Pair first = sumOf(f, -0.5f * square.high);
  Pair second = sumOf(first.high, term.high);
  float rest = FMA(square.high * square.high, p, FMA(-0.5f, square.low, term.low));
  return sumOf(second.high, rest + (first.low + second.low));
}

/* The same to about 2^-27. */
INLINE Pair shortLogNearOne(float f) {
  float p = 0x1.ea92cap-4f;
  p = FMA(p, f, -0x1.fd1b86p-4f);
  p = FMA(p, f, 0x1.b92aa6p-4f);
  p = FMA(p, f, -0x1.f74aaap-4f);
  p = FMA(p, f, 0x1.24e842p-3f);
  p = FMA(p, f, -0x1.55788ep-3f);
  p = FMA(p, f, 0x1.999816p-3f);
  p = FMA(p, f, -0x1.ffffb4p-3f);
  p = FMA(p, f, 0x1.555556p-2f);
  Pair square = productOf(f, f);
  Pair first = sumOf(f, -0.5f * square.high);
  float rest = FMA(square.high * f, p, -0.5f * square.low);
  return sumOf(first.high, rest + first.low);
}

/* log2 from log and the exponent. */
INLINE Pair binaryLog(Pair logarithm, float k) {
  Pair product = productOf(logarithm.high, LOG2_E);
  product.low = FMA(logarithm.high, LOG2_E_LOW, FMA(logarithm.low, LOG2_E, product.low));
  Pair sum = sumOf(k, product.high);
  return sumOf(sum.high, sum.low + product.low);
}

/* y * log2, with infinities kept and no NaN but from a NaN or 0 * infinity. */
INLINE Pair scaled(Pair log2, float y) {
  Pair product = productOf(y, log2.high);
  float low = FMA(y, log2.low, product.low);
  product.low = absolute(product.high) < 256.0f ? low : 0.0f;
  return product;
}

INLINE float exp2Of(Pair x) {
  float bounded = atLeast(atMost(x.high, 129.0f), -151.0f);
  float sum = bounded + ROUNDER;
  float r = (bounded - (sum - ROUNDER)) + x.low;
  return scaleBy(exp2NearZero(r), integerIn(sum));
}

/* |x|^y; x = 1 gives 1 whatever y is. `smallest` and below count as zero. */
INLINE float magnitudeOf(float a, Pair log2, float y, float smallest, int precise) {
  float edge = a < smallest ? -INFINITE : INFINITE;
  int inside = both(a >= smallest, a < INFINITE);
  log2.high = inside ? log2.high : edge;
  log2.low = inside ? log2.low : 0.0f;
  Pair product = scaled(log2, y);
  float result = precise ? exp2Of(product) : exp2Flushed(product.high, product.low);
  return a == 1.0f ? 1.0f : result;
}

INLINE float precisePower(float a, float y) {
  int small = a < 0x1p-126f;
  float normal = small ? a * 0x1p23f : a;
  int k = exponentAround(normal);
  Pair log2 = binaryLog(longLogNearOne(mantissaAround(normal, k) - 1.0f),
                        (float)k - (small ? 23.0f : 0.0f));
  return magnitudeOf(a, log2, y, 0x1p-149f, 1);
}

INLINE float fastPower(float a, float y) {
  int k = exponentAround(a);
  Pair log2 = binaryLog(shortLogNearOne(mantissaAround(a, k) - 1.0f), (float)k);
  return magnitudeOf(a, log2, y, 0x1p-126f, 0);
}

/* The sign of x^y, NaN for a negative base with a fraction, and the cases that are 1. */
INLINE float withSign(float magnitude, float x, float y) {
  float size = absolute(y);
  int whole = (int)(size < 0x1p24f ? size : 0.0f); /* a NaN becomes 0 */
  int integral = either(size >= 0x1p24f, (float)whole == size);
  int odd = both(size < 0x1p24f, both(integral, whole & 1));
  int negative = (int)bitsOf(x) < 0;
  float result = choose(both(odd, negative), -magnitude, magnitude);
  int fraction = both(both(x < 0.0f, x > -INFINITE), !integral);
  result = choose(fraction, NOT_A_NUMBER, result);
  result = choose(either(x != x, y != y), NOT_A_NUMBER, result);
  return choose(either(x == 1.0f, y == 0.0f), 1.0f, result);
}

float PRECISE(pow)(float x, float y) {
  return withSign(precisePower(absolute(x), y), x, y);
}

float FAST(pow)(float x, float y) {
  return withSign(fastPower(absolute(x), y), x, y);
}

/* powr is defined for x >= 0 only, and has no exception for y = 0 where the limit does not exist. */
INLINE float positiveBase(float magnitude, float x, float y) {
  int unordered = either(x < 0.0f, either(x != x, y != y));
  int edge = both(y == 0.0f, either(x == 0.0f, x == INFINITE));
  int one = both(x == 1.0f, absolute(y) == INFINITE);
  float result = choose(y == 0.0f, 1.0f, magnitude);
  return choose(either(unordered, either(edge, one)), NOT_A_NUMBER, result);
}

float PRECISE(powr)(float x, float y) {
  return positiveBase(precisePower(absolute(x), y), x, y);
}

float FAST(powr)(float x, float y) {
  float magnitude = fastPower(absolute(x), y);
  magnitude = y == 0.0f ? 1.0f : magnitude;
  return x >= 0.0f ? magnitude : NOT_A_NUMBER;
}
