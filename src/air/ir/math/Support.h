/* SPDX-License-Identifier: Apache-2.0
 *
 * What the math sources share. They are C, compiled to bitcode for no particular machine, linked into
 * a kernel by LowerMath and inlined there. Rules, which MathLibrary_test.cpp checks:
 *
 *   - No branches, loops or tables in memory: a SIMD group runs one instruction stream, so a choice
 *     is a select. Functions call nothing but llvm intrinsics that every machine has as instructions
 *     (fabs, copysign, sqrt, floor, ceil, trunc, fma).
 *   - No contraction: a fused multiply-add is written as fusedMultiplyAdd and nothing else is one,
 *     so every device computes the same bits.
 *   - An out-of-range float never meets a conversion to integer: it would be poison.
 *
 * Names: pewter_math_<op> keeps the precise bounds of Metal, pewter_fast_<op> the fast ones; an
 * operation without the second uses the first. pewter_soft_<op> stand in for machine instructions.
 */
#pragma once

#define PRECISE(op) pewter_math_##op
#define FAST(op) pewter_fast_##op
#define INLINE static inline __attribute__((always_inline))

typedef unsigned short Bits16;
typedef unsigned int Bits;
typedef unsigned long long Bits64;

#define INFINITE __builtin_inff()
#define NOT_A_NUMBER __builtin_nanf("")

INLINE Bits bitsOf(float x) { return __builtin_bit_cast(Bits, x); }
INLINE float floatOf(Bits x) { return __builtin_bit_cast(float, x); }
INLINE float absolute(float x) { return __builtin_fabsf(x); }
INLINE float withSignOf(float magnitude, float sign) {
  return __builtin_copysignf(magnitude, sign);
}
INLINE float squareRoot(float x) { return __builtin_sqrtf(x); }
INLINE float fusedMultiplyAdd(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#define FMA fusedMultiplyAdd

/* Choices whose sides are computed either way. Conditions are 0 or 1; && and || would be branches. */
INLINE float choose(int condition, float yes, float no) { return condition ? yes : no; }
INLINE Bits chooseBits(int condition, Bits yes, Bits no) { return condition ? yes : no; }
INLINE int both(int a, int b) { return a & b; }
INLINE int either(int a, int b) { return a | b; }
INLINE Bits only(int condition, Bits x) { return condition ? x : 0; }
INLINE float negatedIf(float x, Bits lowestBit) { return floatOf(bitsOf(x) ^ lowestBit << 31); }

/* A NaN in x passes through both. */
INLINE float atMost(float x, float limit) { return x > limit ? limit : x; }
INLINE float atLeast(float x, float limit) { return x < limit ? limit : x; }

/* Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum; valid to 2^22. */
#define ROUNDER 12582912.0f
INLINE int integerIn(float sum) { return (int)bitsOf(sum) - 0x4b400000; }

/* 2^n for n from -126 to 127. */
INLINE float powerOfTwo(int n) { return floatOf((Bits)(n + 127) << 23); }

/* p * 2^n for n from -252 to 254 and p near 1: rounded once, even into the denormals. */
INLINE float scaleBy(float p, int n) {
  int half = n >> 1;
  return p * powerOfTwo(half) * powerOfTwo(n - half);
}

#define LN2 0x1.62e43p-1f
#define LN2_LOW -0x1.05c61p-29f
#define LOG2_E 0x1.715476p+0f
#define LOG2_E_LOW 0x1.4ae0cp-26f
#define PI 0x1.921fb6p+1f
#define PI_LOW -0x1.777a5cp-24f
#define HALF_PI 0x1.921fb6p+0f
#define HALF_PI_LOW -0x1.777a5cp-25f
#define HALF_PI_LOWEST -0x1.ee59dap-50f
#define ONE_OVER_PI 0x1.45f306p-2f
#define TWO_OVER_PI 0x1.45f306p-1f
