/* SPDX-License-Identifier: Apache-2.0
 *
 * sinh, cosh, tanh and their inverses.
 *
 * Tested by tests/accuracy.
 */
#include "air/ir/math/Polynomials.h"

/* e^x / 2 for x >= 0; does not overflow before sinh and cosh do. */
INLINE float halfExp(float x) {
  float bounded = atMost(x, 90.0f);
  float sum = FMA(bounded, LOG2_E, ROUNDER);
  float n = sum - ROUNDER;
  float r = FMA(n, -LN2_LOW, FMA(n, -LN2, bounded));
  return scaleBy(expNearZero(r), integerIn(sum) - 1);
}

float PRECISE(sinh)(float x) {
  float a = absolute(x);
  float z = a * a;
  float p = 0x1.725236p-19f;
  p = FMA(p, z, 0x1.a03554p-13f);
  p = FMA(p, z, 0x1.1110c6p-7f);
  p = FMA(p, z, 0x1.555556p-3f);
  float small = FMA(z * a, p, a);
  float half = halfExp(a);
  return withSignOf(a < 1.0f ? small : half - 0.25f / half, x);
}

float PRECISE(cosh)(float x) {
  float half = halfExp(absolute(x));
  return half + 0.25f / half;
}

/* From e^(2|x|) - 1, which is accurate near zero; past 10 the result is 1. */
float PRECISE(tanh)(float x) {
  float y = absolute(x) * 2.0f;
  float bounded = atMost(y, 20.0f);
  float sum = FMA(bounded, LOG2_E, ROUNDER);
  float n = sum - ROUNDER;
  float r = FMA(n, -LN2_LOW, FMA(n, -LN2, bounded));
  float p = 0x1.6b7e14p-10f;
  p = FMA(p, r, 0x1.122adep-7f);
  p = FMA(p, r, 0x1.55571p-5f);
  p = FMA(p, r, 0x1.5554acp-3f);
  p = FMA(p, r, 0x1.fffffep-2f);
  float q = FMA(r * r, p, r);
  float scale = powerOfTwo(integerIn(sum));
  float grown = FMA(scale, q, scale - 1.0f);
  return withSignOf(grown / (grown + 2.0f), x);
}

float PRECISE(asinh)(float x) {
  float a = absolute(x);
  int large = a > 0x1p28f;
  float bounded = large ? 1.0f : a;
  float square = bounded * bounded;
  float argument = bounded + square / (1.0f + squareRoot(1.0f + square));
  float result = logOfOnePlus(large ? a * 0.25f : argument);
  result += large ? 3.0f * LN2 : 0.0f;
  return withSignOf(a < INFINITE ? result : a, x);
}

float PRECISE(acosh)(float x) {
  int large = x > 0x1p28f;
  float t = large ? 0.0f : x - 1.0f;
  float argument = t + squareRoot(FMA(t, t, t + t));
  float result = logOfOnePlus(large ? x * 0.25f : argument);
  result += large ? 3.0f * LN2 : 0.0f;
  result = x < 1.0f ? NOT_A_NUMBER : result;
  return x < INFINITE ? result : x;
}

float PRECISE(atanh)(float x) {
  float a = absolute(x);
  float inside = a < 1.0f ? a : 0.0f;
  float result = 0.5f * logOfOnePlus((inside + inside) / (1.0f - inside));
  float outside = a == 1.0f ? INFINITE : NOT_A_NUMBER;
  return withSignOf(a < 1.0f ? result : outside, x);
}
