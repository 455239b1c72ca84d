/* SPDX-License-Identifier: Apache-2.0
 *
 * asin, acos, atan, atan2.
 *
 * Tested by tests/accuracy.
 */
#include "air/ir/math/Polynomials.h"

/* asin(s) for s in [0, 1/2], given z = s * s. */
INLINE float asinSmall(float s, float z) {
  float p = 0x1.1abf9p-5f;
  p = FMA(p, z, 0x1.0fedbcp-6f);
  p = FMA(p, z, 0x1.ffbd4cp-6f);
  p = FMA(p, z, 0x1.6d3e76p-5f);
  p = FMA(p, z, 0x1.3334cep-4f);
  p = FMA(p, z, 0x1.555554p-3f);
  return FMA(z * s, p, s);
}

/* Past one half: asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)). */
float PRECISE(asin)(float x) {
  float a = absolute(x);
  int large = a > 0.5f;
  float z = choose(large, FMA(a, -0.5f, 0.5f), a * a);
  float p = asinSmall(choose(large, squareRoot(z), a), z);
  float far = FMA(p, -2.0f, HALF_PI_LOW) + HALF_PI;
  return withSignOf(large ? far : p, x);
}

float PRECISE(acos)(float x) {
  float a = absolute(x);
  int large = a > 0.5f, negative = x < 0.0f;
  float z = choose(large, FMA(a, -0.5f, 0.5f), a * a);
  float p = asinSmall(choose(large, squareRoot(z), a), z);
  float twice = p + p;
  float far = choose(negative, (2.0f * HALF_PI_LOW - twice) + 2.0f * HALF_PI, twice);
  float near = (HALF_PI_LOW - withSignOf(p, x)) + HALF_PI;
  return choose(large, far, near);
}

/* atan(q) for q in [0, 1]. */
INLINE float atanSmall(float q) {
  float z = q * q;
  float p = -0x1.449996p-9f;
  p = FMA(p, z, 0x1.c62e36p-7f);
  p = FMA(p, z, -0x1.2a7576p-5f);
  p = FMA(p, z, 0x1.01e50ap-4f);
  p = FMA(p, z, -0x1.636dfp-4f);
  p = FMA(p, z, 0x1.c423eep-4f);
  p = FMA(p, z, -0x1.246f74p-3f);
  p = FMA(p, z, 0x1.99984cp-3f);
  p = FMA(p, z, -0x1.555554p-2f);
  return FMA(z * q, p, q);
}

float PRECISE(atan)(float x) {
  float a = absolute(x);
  int large = a > 1.0f;
  float near = atanSmall(choose(large, 1.0f / a, a));
  return withSignOf(choose(large, (HALF_PI_LOW - near) + HALF_PI, near), x);
}

float PRECISE(atan2)(float y, float x) {
  float ax = absolute(x), ay = absolute(y);
  int steep = ay > ax;
  float large = steep ? ay : ax, small = steep ? ax : ay;
  float quotient = small / large;
  quotient = large == 0.0f ? 0.0f : quotient;
  quotient = small == INFINITE ? 1.0f : quotient;
  float angle = atanSmall(quotient);
  angle = choose(steep, (HALF_PI_LOW - angle) + HALF_PI, angle);
  int left = (int)bitsOf(x) < 0;
  angle = choose(left, (2.0f * HALF_PI_LOW - angle) + 2.0f * HALF_PI, angle);
  angle = choose(either(x != x, y != y), NOT_A_NUMBER, angle);
  return withSignOf(angle, y);
}
