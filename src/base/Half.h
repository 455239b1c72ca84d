// SPDX-License-Identifier: Apache-2.0
//
// Conversions between float and the 16-bit floats, on the host: IEEE binary16 ("half") and bfloat16,
// as raw bits. Round to nearest even; NaN stays NaN (quiet), overflow goes to infinity, subnormals
// are exact. Pure functions.
#pragma once
#include <bit>
#include <cstdint>

namespace pewter {

inline float floatFromBfloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

inline uint16_t bfloatFromFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float floatFromHalf(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000) << 16;
  uint32_t magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00) // infinity and NaN
    return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13 |
                                (magnitude > 0x7c00 ? 0x400000 : 0));
  if (magnitude >= 0x400) // normal: rebias the exponent by 127 - 15
    return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  float value = float(magnitude) * 0x1p-24f;
  return sign ? -value : value;
}

inline uint16_t halfFromFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00 | uint16_t(magnitude >> 13 & 0x1ff);
  if (magnitude >= 0x477ff000) // rounds to 65536 or more
    return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Subnormal result: adding 0.5 leaves the value's last half place in the float's last place.
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | uint16_t(std::bit_cast<uint32_t>(shifted) - 0x3f000000);
  }
  uint32_t rebiased = magnitude - (112u << 23);
  return sign | uint16_t((rebiased + 0xfff + (rebiased >> 13 & 1)) >> 13);
}

} // namespace pewter
