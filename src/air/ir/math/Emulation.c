/* SPDX-License-Identifier: Apache-2.0
 *
 * Machine instructions in software, with the same bits: for code generators whose target lacks them,
 * and for operations that targets would round twice.
 *
 *   float pewter_soft_fma_f32(float a, float b, float c)    a * b + c, rounded once
 *   float pewter_soft_fma_odd_f16(float a, float b, float c)  the same for halves held in floats,
 *           rounded to odd: converting it to half gives the correctly rounded half
 *   float pewter_soft_f16_to_f32(Bits16 bits)
 *   Bits16 pewter_soft_f32_to_f16(float x)                  to nearest even
 *   Bits16 pewter_soft_f32_to_bf16(float x)                 to nearest even
 *
 * Rounding to odd: where a sum is inexact, its last bit becomes 1. A second rounding to a format at
 * least two bits shorter then gives what a single rounding would have given.
 *
 * Tested by tests/accuracy.
 */
#include "air/ir/math/Support.h"

/* The product of two floats is exact in a double; so is the error of the sum. */
float pewter_soft_fma_f32(float a, float b, float c) {
  double product = (double)a * (double)b, addend = c;
  double sum = product + addend;
  double part = sum - product;
  double error = (product - (sum - part)) + (addend - part);
  Bits64 bits = __builtin_bit_cast(Bits64, sum);
  int inexact = either(error > 0.0, error < 0.0);
  int outward = (error > 0.0) == (sum > 0.0);
  Bits64 moved = outward ? bits + 1 : bits - 1;
  bits = both(inexact, !(bits & 1)) ? moved : bits;
  return (float)__builtin_bit_cast(double, bits);
}

float pewter_soft_fma_odd_f16(float a, float b, float c) {
  float product = a * b;
  float sum = product + c;
  float part = sum - product;
  float error = (product - (sum - part)) + (c - part);
  Bits bits = bitsOf(sum);
  int inexact = either(error > 0.0f, error < 0.0f);
  int outward = (error > 0.0f) == (sum > 0.0f);
  Bits moved = outward ? bits + 1 : bits - 1;
  return floatOf(chooseBits(both(inexact, !(bits & 1)), moved, bits));
}

float pewter_soft_f16_to_f32(Bits16 half) {
  Bits magnitude = half & 0x7fff;
  float denormal = (float)(int)magnitude * 0x1p-24f;
  Bits normal = (magnitude << 13) + (112u << 23);
  Bits special = (magnitude << 13) | 0x7f800000;
  special |= only(magnitude > 0x7c00, 0x00400000); /* a NaN becomes quiet */
  Bits large = chooseBits(magnitude < 0x7c00, normal, special);
  Bits bits = chooseBits(magnitude < 0x0400, bitsOf(denormal), large);
  return floatOf(bits | (Bits)(half & 0x8000) << 16);
}

Bits16 pewter_soft_f32_to_f16(float x) {
  Bits magnitude = bitsOf(x) & 0x7fffffff;
  Bits sign = bitsOf(x) >> 16 & 0x8000;
  Bits normal = (magnitude - (112u << 23) + 0x0fff + (magnitude >> 13 & 1)) >> 13;
  /* The unit in the last place of 1/2 is that of denormal halves. */
  Bits denormal = bitsOf(floatOf(magnitude) + 0.5f) - 0x3f000000;
  Bits nan = 0x7e00 | (magnitude >> 13 & 0x01ff);
  Bits special = chooseBits(magnitude > 0x7f800000, nan, 0x7c00);
  Bits large = chooseBits(magnitude < 0x47800000, normal, special);
  Bits half = chooseBits(magnitude < 0x38800000, denormal, large);
  return (Bits16)(half | sign);
}

Bits16 pewter_soft_f32_to_bf16(float x) {
  Bits bits = bitsOf(x);
  Bits rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  Bits quiet = bits >> 16 | 0x0040;
  return (Bits16)chooseBits((bits & 0x7fffffff) > 0x7f800000, quiet, rounded);
}
