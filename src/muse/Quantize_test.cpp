// SPDX-License-Identifier: Apache-2.0
#include "muse/Quantize.h"
#include "muse/Dequantize.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace pewter::muse {
namespace {

std::vector<uint8_t> encode(TensorType type, const std::vector<float> &values) {
  Bytes bytes = quantizeBlocks(type, values);
  std::vector<uint8_t> out(bytes.size());
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

TEST(Quantize, ScalesAndMinimaPack) {
  const uint8_t scales[8] = {10, 20, 30, 40, 50, 60, 13, 37};
  const uint8_t mins[8] = {1, 2, 3, 4, 5, 33, 47, 63};
  uint8_t packed[12];
  packScaleMin(scales, mins, packed);
  const uint8_t expected[12] = {0xca, 0xd4, 0x1e, 0xa8, 0x01, 0x82,
                                0x83, 0xc4, 0x52, 0x1c, 0xfd, 0xf5};
  EXPECT_EQ(std::memcmp(packed, expected, 12), 0);
  for (int j = 0; j < 8; ++j) {
    EXPECT_EQ(unpackScaleMin(packed, j).scale, scales[j]);
    EXPECT_EQ(unpackScaleMin(packed, j).min, mins[j]);
  }
}

TEST(Quantize, Q8_0WorkedBlock) {
  std::vector<float> x(32);
  x[0] = -2.40625f;
  x[31] = 3.96875f;
  auto block = encode(TensorType::Q8_0, x);
  EXPECT_EQ(block[0], 0x00);
  EXPECT_EQ(block[1], 0x28);
  EXPECT_EQ(static_cast<int8_t>(block[2]), -77);
  EXPECT_EQ(block[33], 127);
}

TEST(Quantize, Q4_0WorkedBlock) {
  std::vector<float> x(32);
  x[1] = -2.0f; // the extreme becomes code 0
  x[5] = 1.75f;
  x[21] = -1.25f;
  auto block = encode(TensorType::Q4_0, x);
  EXPECT_EQ(block[1], 0x34);
  EXPECT_EQ(block[2 + 5], 0x3f);
}

TEST(Quantize, PlainTypes) {
  EXPECT_EQ(encode(TensorType::F16, {0.33325195f}), (std::vector<uint8_t>{0x55, 0x35}));
  EXPECT_EQ(encode(TensorType::BF16, {1.5f}), (std::vector<uint8_t>{0xc0, 0x3f}));
}

TEST(Quantize, Nvfp4WorkedBlock) {
  std::vector<float> x(16, 1.0f);
  Nvfp4 out = quantizeNvfp4(x);
  EXPECT_EQ(out.scale, 1.0f / (448 * 6));
  EXPECT_EQ(out.scales[0], std::byte(0x7e));
  EXPECT_EQ(out.codes[0], std::byte(0x77));
}

/// Relative root-mean-square error of a round trip of normal values.
double errorOf(TensorType type) {
  std::mt19937 bits(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(256 * 64), y(x.size());
  for (float &v : x)
    v = normal(bits);
  dequantizeBlocks(type, quantizeBlocks(type, x), y);
  double off = 0, square = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    off += (x[i] - y[i]) * (x[i] - y[i]);
    square += x[i] * x[i];
  }
  return std::sqrt(off / square);
}

TEST(Quantize, RoundTripErrorsAreSmall) {
  EXPECT_EQ(errorOf(TensorType::F32), 0);
  EXPECT_LT(errorOf(TensorType::F16), 3e-4);
  EXPECT_LT(errorOf(TensorType::BF16), 2e-3);
  EXPECT_LT(errorOf(TensorType::Q8_0), 0.007);
  EXPECT_LT(errorOf(TensorType::Q6_K), 0.020);
  EXPECT_LT(errorOf(TensorType::Q5_K), 0.040);
  EXPECT_LT(errorOf(TensorType::Q4_K), 0.080);
  EXPECT_LT(errorOf(TensorType::IQ4_NL), 0.090);
  EXPECT_LT(errorOf(TensorType::Q4_0), 0.110);
  EXPECT_LT(errorOf(TensorType::MXFP4), 0.140);
}

TEST(Quantize, ConstantAndZeroBlocksSurvive) {
  for (TensorType type : {TensorType::Q8_0, TensorType::Q4_0, TensorType::Q4_K, TensorType::Q5_K,
                          TensorType::Q6_K, TensorType::IQ4_NL, TensorType::MXFP4}) {
    for (float value : {0.0f, 1.0f, -1.0f, 1e-9f}) {
      std::vector<float> x(256, value), y(256);
      dequantizeBlocks(type, quantizeBlocks(type, x), y);
      for (float v : y)
        EXPECT_NEAR(v, value, std::fabs(value) * 0.35 + 1e-6) << nameOf(type) << " " << value;
    }
  }
}

} // namespace
} // namespace pewter::muse
