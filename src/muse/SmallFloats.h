// SPDX-License-Identifier: Apache-2.0
//
// Conversions between float and the eight- and four-bit floats of weight files: E8M0, E4M3 and E2M1.
// Rounding is to nearest, ties to even. The 16-bit floats are in base/Half.h. Pure functions.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace pewter::muse {

/// 2^(code - 127); code 255 is NaN.
inline float fromE8M0(uint8_t code) {
  return code == 0 ? 0x1p-127f : code == 255 ? NAN : std::bit_cast<float>(uint32_t(code) << 23);
}

/// Sign, four exponent bits of bias 7, three mantissa bits; 0x7f and 0xff are NaN.
inline float fromE4M3(uint8_t code) {
  int exponent = code >> 3 & 15, mantissa = code & 7;
  float value = exponent ? std::ldexp(1.0f + mantissa / 8.0f, exponent - 7) : mantissa / 512.0f;
  if ((code & 127) == 127)
    value = NAN;
  return code & 128 ? -value : value;
}
/// The nearest code, ties to even; the magnitude is capped at 448.
inline uint8_t toE4M3(float value) {
  uint8_t sign = std::signbit(value) ? 128 : 0;
  float magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | 127;
  if (magnitude == 0)
    return sign;
  if (magnitude >= 448.0f)
    return sign | 126;
  int exponent = 0;
  std::frexp(magnitude, &exponent); // magnitude = f * 2^exponent, f in [0.5, 1)
  int step = std::max(exponent - 1, -6) - 3; // the weight of the last mantissa bit
  auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -step)));
  if (exponent - 1 < -6)
    return sign | static_cast<uint8_t>(units); // subnormal; 8 units are the first normal
  int field = exponent - 1 + 7;
  if (units == 16)
    ++field, units = 8;
  return sign | static_cast<uint8_t>(field << 3 | (units - 8));
}

inline constexpr float kE2M1[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
inline float fromE2M1(uint8_t code) { return code & 8 ? -kE2M1[code & 7] : kE2M1[code & 7]; }
/// The nearest code, ties to the even one; the magnitude is capped at 6.
inline uint8_t toE2M1(float value) {
  float x = std::fabs(value);
  uint8_t code = x <= 0.25f  ? 0
                 : x < 0.75f ? 1
                 : x <= 1.25f ? 2
                 : x < 1.75f  ? 3
                 : x <= 2.5f  ? 4
                 : x < 3.5f   ? 5
                 : x <= 5     ? 6
                              : 7;
  return std::signbit(value) ? code | 8 : code;
}

} // namespace pewter::muse
