// SPDX-License-Identifier: Apache-2.0
// Each format against numbers worked out by hand.
#include "muse/Dequantize.h"
#include "base/Half.h"
#include "muse/SmallFloats.h"
#include <cstring>
#include <gtest/gtest.h>

namespace pewter::muse {
namespace {

std::vector<float> decode(TensorType type, const std::vector<uint8_t> &block) {
  std::vector<float> values(formatOf(type).blockElements);
  EXPECT_EQ(block.size(), formatOf(type).blockBytes);
  dequantizeBlocks(type, std::as_bytes(std::span(block)), values);
  return values;
}
std::vector<uint8_t> blockOf(TensorType type) {
  return std::vector<uint8_t>(formatOf(type).blockBytes);
}
void putHalf(std::vector<uint8_t> &block, size_t at, uint16_t bits) {
  std::memcpy(block.data() + at, &bits, 2);
}

TEST(Dequantize, PlainTypes) {
  EXPECT_EQ(decode(TensorType::F16, {0x55, 0x35})[0], 0.33325195f);
  EXPECT_EQ(decode(TensorType::BF16, {0xc0, 0x3f})[0], 1.5f);
  EXPECT_EQ(decode(TensorType::F32, {0, 0, 0xc0, 0x3f})[0], 1.5f);
  EXPECT_EQ(decode(TensorType::F16, {1, 0})[0], 0x1p-24f) << "subnormals are not flushed";
}

TEST(Dequantize, Q8_0) {
  auto block = blockOf(TensorType::Q8_0);
  putHalf(block, 0, 0x2800);
  block[2] = static_cast<uint8_t>(-77);
  block[33] = 127;
  auto y = decode(TensorType::Q8_0, block);
  EXPECT_EQ(y[0], -2.40625f);
  EXPECT_EQ(y[31], 3.96875f);
}

TEST(Dequantize, Q4_0) {
  auto block = blockOf(TensorType::Q4_0);
  putHalf(block, 0, 0x3400);
  block[2 + 5] = 0x3f;
  auto y = decode(TensorType::Q4_0, block);
  EXPECT_EQ(y[5], 1.75f);
  EXPECT_EQ(y[21], -1.25f);
}

const std::vector<uint8_t> kScales = {0xca, 0xd4, 0x1e, 0xa8, 0x01, 0x82,
                                      0x83, 0xc4, 0x52, 0x1c, 0xfd, 0xf5};

TEST(Dequantize, Q4_K) {
  auto block = blockOf(TensorType::Q4_K);
  putHalf(block, 0, 0x2c00);
  putHalf(block, 2, 0x3000);
  std::ranges::copy(kScales, block.begin() + 4);
  block[16] = 0x9c;
  block[16 + 101] = 0xb4;
  auto y = decode(TensorType::Q4_K, block);
  EXPECT_EQ(y[0], 7.375f);
  EXPECT_EQ(y[32], 11.0f);
  EXPECT_EQ(y[229], 17.5625f);
}

TEST(Dequantize, Q5_K) {
  auto block = blockOf(TensorType::Q5_K);
  putHalf(block, 0, 0x2c00);
  putHalf(block, 2, 0x3000);
  std::ranges::copy(kScales, block.begin() + 4);
  block[48 + 101] = 0xb4;
  block[16 + 5] = 0x80;
  auto y = decode(TensorType::Q5_K, block);
  EXPECT_EQ(y[229], 54.5625f);
  EXPECT_EQ(y[197], -2.625f);
}

TEST(Dequantize, Q6_K) {
  auto block = blockOf(TensorType::Q6_K);
  putHalf(block, 208, 0x2400);
  block[17] = 0xa7;
  block[49] = 0x3e;
  block[128 + 17] = 0xd2;
  block[192 + 1] = static_cast<uint8_t>(-20);
  block[192 + 3] = 15;
  block[192 + 5] = 127;
  block[192 + 7] = static_cast<uint8_t>(-128);
  auto y = decode(TensorType::Q6_K, block);
  EXPECT_EQ(y[17], -2.1875f);
  EXPECT_EQ(y[49], -4.21875f);
  EXPECT_EQ(y[81], -11.90625f);
  EXPECT_EQ(y[113], -38.0f);
}

TEST(Dequantize, Iq4nlAndMxfp4) {
  auto block = blockOf(TensorType::IQ4_NL);
  putHalf(block, 0, 0x2800); // 1/32
  block[2] = 0xf0;
  auto y = decode(TensorType::IQ4_NL, block);
  EXPECT_EQ(y[0], -127 / 32.0f);
  EXPECT_EQ(y[16], 113 / 32.0f);
  block = blockOf(TensorType::MXFP4);
  block[0] = 126; // 1/2
  block[1] = 0xf3;
  y = decode(TensorType::MXFP4, block);
  EXPECT_EQ(y[0], 0.75f);
  EXPECT_EQ(y[16], -3.0f);
}

TEST(Dequantize, Nvfp4PairAndScale) {
  auto y = decode(TensorType::NVFP4_E2M1, {0xd5});
  EXPECT_EQ(y[0] * fromE4M3(0x3e) * 0.25f, 1.3125f);
  EXPECT_EQ(y[1] * fromE4M3(0x3e) * 0.25f, -1.3125f);
  EXPECT_EQ(y[0] * fromE4M3(0x3e) * std::bit_cast<float>(0x3b124925u), 0.011718751f);
}

TEST(SmallFloats, RoundTrip) {
  for (int code = 0; code < 256; ++code)
    if ((code & 127) != 127)
      EXPECT_EQ(toE4M3(fromE4M3(static_cast<uint8_t>(code))), code);
  for (int code = 0; code < 16; ++code)
    EXPECT_EQ(toE2M1(fromE2M1(static_cast<uint8_t>(code))), code);
  EXPECT_EQ(toE4M3(1000), 0x7e);
  EXPECT_EQ(toE4M3(0.5f), 0x30);
  // Ties go to the even code: halfway between 1.0 (0x38) and 1.125 (0x39), and the next pair.
  EXPECT_EQ(toE4M3(1.0625f), 0x38);
  EXPECT_EQ(toE4M3(1.1875f), 0x3a);
  EXPECT_EQ(fromE4M3(1), 1 / 512.0f);
  EXPECT_EQ(toE2M1(2.5f), 4);
  EXPECT_EQ(toE2M1(3.5f), 6);
  EXPECT_EQ(toE2M1(5.0f), 6);
  EXPECT_EQ(toE2M1(0.25f), 0);
  EXPECT_EQ(bfloatFromFloat(1.5f), 0x3fc0);
}

} // namespace
} // namespace pewter::muse
