/* SPDX-License-Identifier: Apache-2.0
 *
 * The polynomials that several functions use, all minimax with float coefficients, and the
 * reductions that belong to them.
 */
#pragma once
#include "air/ir/math/Support.h"

/* e^r for |r| <= ln(2) / 2; relative error 2^-28. */
INLINE float expNearZero(float r) {
  float p = 0x1.6a6b8ap-10f;
  p = FMA(p, r, 0x1.123dcp-7f);
  p = FMA(p, r, 0x1.55589ap-5f);
  p = FMA(p, r, 0x1.55548cp-3f);
  p = FMA(p, r, 0x1.fffffcp-2f);
  p = FMA(p, r, 1.0f);
  return FMA(p, r, 1.0f);
}

/* 2^r for |r| <= 1/2; relative error 2^-28. */
INLINE float exp2NearZero(float r) {
  float p = 0x1.3fa206p-13f;
  p = FMA(p, r, 0x1.5f0b82p-10f);
  p = FMA(p, r, 0x1.3b30ap-7f);
  p = FMA(p, r, 0x1.c6af76p-5f);
  p = FMA(p, r, 0x1.ebfbd8p-3f);
  p = FMA(p, r, 0x1.62e43p-1f);
  return FMA(p, r, 1.0f);
}

/* 2^(x + low), denormal results as zero; low is small beside x. At whole x the remainder is -1, where
 * the polynomial is exact, and -126 is not yet flushed. */
INLINE float exp2Flushed(float x, float low) {
  float bounded = atLeast(atMost(x, 128.75f), -127.0f);
  float sum = (bounded + 0.50001f) + (ROUNDER + 126.0f);
  float r = (bounded - (sum - (ROUNDER + 126.0f))) + low;
  float p = 0x1.c8f25ap-13f;
  p = FMA(p, r, 0x1.4e1bd6p-9f);
  p = FMA(p, r, 0x1.39e2p-6f);
  p = FMA(p, r, 0x1.c69452p-4f);
  p = FMA(p, r, 0x1.ebfabep-2f);
  p = FMA(p, r, 0x1.62e42cp0f);
  p = FMA(p, r, 2.0f);
  return p * floatOf(bitsOf(sum) << 23);
}

/* x = m * 2^k with m in [2/3, 4/3); for normal positive x. */
INLINE int exponentAround(float x) { return (int)(bitsOf(x) - 0x3f2aaaab) >> 23; }
INLINE float mantissaAround(float x, int k) { return floatOf(bitsOf(x) - ((Bits)k << 23)); }

/* log(1 + f) for f in [-1/3, 1/3]. */
INLINE float logNearOne(float f) {
  float p = 0x1.ea92cap-4f;
  p = FMA(p, f, -0x1.fd1b86p-4f);
  p = FMA(p, f, 0x1.b92aa6p-4f);
  p = FMA(p, f, -0x1.f74aaap-4f);
  p = FMA(p, f, 0x1.24e842p-3f);
  p = FMA(p, f, -0x1.55788ep-3f);
  p = FMA(p, f, 0x1.999816p-3f);
  p = FMA(p, f, -0x1.ffffb4p-3f);
  p = FMA(p, f, 0x1.555556p-2f);
  p = FMA(p, f, -0.5f);
  return FMA(f * f, p, f);
}

/* log(1 + a) for a >= 0 and below 2^126. */
INLINE float logOfOnePlus(float a) {
  int k = exponentAround(1.0f + a);
  float scale = powerOfTwo(-k);
  float f = FMA(a, scale, scale - 1.0f);
  return FMA((float)k, LN2, logNearOne(f));
}

/* sin(r) and cos(r) for |r| <= pi / 4, within an ulp. */
INLINE float sinNearZero(float r) {
  float z = r * r;
  float p = 0x1.77db1cp-19f;
  p = FMA(p, z, -0x1.a04858p-13f);
  p = FMA(p, z, 0x1.111164p-7f);
  p = FMA(p, z, -0x1.555556p-3f);
  return FMA(z * r, p, r);
}
INLINE float cosNearZero(float r) {
  float z = r * r;
  float p = 0x1.99e81p-16f;
  p = FMA(p, z, -0x1.6c0c28p-10f);
  p = FMA(p, z, 0x1.55554ap-5f);
  p = FMA(p, z, -0.5f);
  return FMA(p, z, 1.0f);
}
