// SPDX-License-Identifier: Apache-2.0
#include "base/Half.h"
#include <cmath>
#include <gtest/gtest.h>

namespace pewter {
namespace {

// The reference: the compiler's own _Float16, for every half and for floats around each of them.
TEST(Half, AgreesWithTheCompilerEverywhere) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = floatFromHalf(uint16_t(bits));
    float reference = float(std::bit_cast<_Float16>(uint16_t(bits)));
    if (std::isnan(reference)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(floatFromHalf(halfFromFloat(value)))) << bits;
      continue;
    }
    ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(reference)) << bits;
    for (int step = -0x1001; step <= 0x1001; step += 0x801 - (step == 0)) {
      float near = std::bit_cast<float>(std::bit_cast<uint32_t>(value) + uint32_t(step));
      if (std::isnan(near))
        continue;
      ASSERT_EQ(halfFromFloat(near), std::bit_cast<uint16_t>(_Float16(near))) << near;
    }
  }
}

TEST(Half, BfloatRoundsToNearestEven) {
  EXPECT_EQ(bfloatFromFloat(1.0f), 0x3f80);
  EXPECT_EQ(bfloatFromFloat(std::bit_cast<float>(0x3f808000u)), 0x3f80); // tie, even stays
  EXPECT_EQ(bfloatFromFloat(std::bit_cast<float>(0x3f818000u)), 0x3f82); // tie, odd goes up
  EXPECT_EQ(bfloatFromFloat(std::bit_cast<float>(0x7f7fffffu)), 0x7f80); // overflow
  EXPECT_TRUE(std::isnan(floatFromBfloat(bfloatFromFloat(NAN))));
}

} // namespace
} // namespace pewter
