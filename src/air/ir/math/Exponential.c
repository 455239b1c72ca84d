/* SPDX-License-Identifier: Apache-2.0
 *
 * exp, exp2, exp10: x = n * unit + r, a polynomial in r, and 2^n put into the exponent.
 *
 * Precise: r lies around zero and 2^n is applied in two halves, so denormal results are right.
 * Fast: n is rounded up, so that r is in [-unit, 0] and the polynomial in [1/2, 1]: then twice the
 * polynomial times 2^(n-1) covers every normal result with one multiplication, overflows to
 * infinity and underflows to zero by itself; denormal results become zero.
 *
 * Tested by tests/accuracy.
 */
#include "air/ir/math/Polynomials.h"

float PRECISE(exp)(float x) {
  float bounded = atLeast(atMost(x, 89.0f), -104.5f);
  float sum = FMA(bounded, LOG2_E, ROUNDER);
  float n = sum - ROUNDER;
  float r = FMA(n, -LN2_LOW, FMA(n, -LN2, bounded));
  return scaleBy(expNearZero(r), integerIn(sum));
}

float FAST(exp)(float x) {
  float bounded = atLeast(atMost(x, 89.0f), -87.5f);
  float sum = FMA(bounded, LOG2_E, 0.5f) + (ROUNDER + 126.0f);
  float n = sum - (ROUNDER + 126.0f);
  float r = FMA(n, -LN2, bounded);
  float p = 0x1.82efecp-7f;
  p = FMA(p, r, 0x1.46aedap-4f);
  p = FMA(p, r, 0x1.540f4p-2f);
  p = FMA(p, r, 0x1.ffe6a4p-1f);
  p = FMA(p, r, 0x1.ffff58p0f);
  p = FMA(p, r, 2.0f);
  return p * floatOf(bitsOf(sum) << 23);
}

float PRECISE(exp2)(float x) {
  float bounded = atLeast(atMost(x, 129.0f), -151.0f);
  float sum = bounded + ROUNDER;
  float r = bounded - (sum - ROUNDER);
  return scaleBy(exp2NearZero(r), integerIn(sum));
}

float FAST(exp2)(float x) { return exp2Flushed(x, 0.0f); }

float PRECISE(exp10)(float x) {
  float bounded = atLeast(atMost(x, 38.6f), -45.5f);
  float sum = FMA(bounded, 0x1.a934fp+1f, ROUNDER);
  float n = sum - ROUNDER;
  float r = FMA(n, 0x1.ec10cp-27f, FMA(n, -0x1.344136p-2f, bounded));
  float p = 0x1.a4985p-3f;
  p = FMA(p, r, 0x1.156bbcp-1f);
  p = FMA(p, r, 0x1.2bdbdap0f);
  p = FMA(p, r, 0x1.046f9ap1f);
  p = FMA(p, r, 0x1.535248p1f);
  p = FMA(p, r, 0x1.26bb1cp1f);
  p = FMA(p, r, 1.0f);
  return scaleBy(p, integerIn(sum));
}
