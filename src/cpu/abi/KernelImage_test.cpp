// SPDX-License-Identifier: Apache-2.0
#include "cpu/abi/KernelImage.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

namespace pewter::cpu {
namespace {

using testing::HasSubstr;

KernelImage sample() {
  KernelImage image;
  image.target = 1;
  image.lanesPerCall = 64;
  image.shapeKind = 2;
  image.shapeSize[0] = 32;
  image.shapeSize[1] = 2;
  image.shapeSize[2] = 3;
  image.rangeEntry = 0;
  image.simdgroupEntry = 128;
  image.stackBytes = 4096;
  image.prefersExactShape = true;
  image.reflection.name = "saxpy";
  image.reflection.staticThreadgroupBytes = 48;
  air::Argument argument;
  argument.kind = air::ArgumentKind::Buffer;
  argument.slot = 3;
  argument.name = "x";
  image.reflection.arguments.push_back(argument);
  for (int i = 0; i < 300; ++i)
    image.code.push_back(std::byte(uint8_t(i * 7)));
  return image;
}

std::string errorOf(const Bytes &bytes) {
  auto parsed = parseKernelImage(bytes);
  return parsed ? "" : parsed.error().message();
}

TEST(KernelImage, RoundTrips) {
  KernelImage image = sample();
  auto parsed = parseKernelImage(encode(image));
  ASSERT_TRUE(parsed.has_value()) << parsed.error().describe();
  EXPECT_EQ(parsed->target, 1u);
  EXPECT_EQ(parsed->lanesPerCall, 64u);
  EXPECT_EQ(parsed->shapeKind, 2u);
  EXPECT_EQ(parsed->shapeSize[2], 3u);
  EXPECT_EQ(parsed->rangeEntry, 0u);
  EXPECT_EQ(parsed->simdgroupEntry, 128u);
  EXPECT_EQ(parsed->stackBytes, 4096u);
  EXPECT_EQ(parsed->codeAlignment, 64u);
  EXPECT_TRUE(parsed->prefersExactShape);
  EXPECT_EQ(parsed->reflection.name, "saxpy");
  EXPECT_EQ(parsed->reflection.staticThreadgroupBytes, 48u);
  ASSERT_EQ(parsed->reflection.arguments.size(), 1u);
  EXPECT_EQ(parsed->reflection.arguments[0].slot, 3u);
  EXPECT_EQ(parsed->code, image.code);
  EXPECT_EQ(encode(*parsed), encode(image));
}

TEST(KernelImage, EverySingleDamagedByteIsRefused) {
  Bytes good = encode(sample());
  for (size_t i = 0; i < good.size(); ++i) {
    Bytes bad = good;
    bad[i] ^= std::byte(1 << (i % 8));
    EXPECT_NE(errorOf(bad), "") << "byte " << i;
  }
}

TEST(KernelImage, EveryTruncationAndExtensionIsRefused) {
  Bytes good = encode(sample());
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(errorOf(Bytes(good.begin(), good.begin() + ptrdiff_t(size))), "") << size;
  good.push_back(std::byte(0));
  EXPECT_NE(errorOf(good), "");
}

TEST(KernelImage, ErrorsSayWhatIsWrong) {
  Bytes bytes = encode(sample());
  EXPECT_THAT(errorOf(Bytes(10)), HasSubstr("has [10] bytes"));
  Bytes foreign = bytes;
  foreign[0] = std::byte('X');
  EXPECT_THAT(errorOf(foreign), HasSubstr("not a kernel image"));
  Bytes other = bytes;
  other[4] = std::byte(99);
  EXPECT_THAT(errorOf(other), HasSubstr("ABI version [99]"));
  Bytes damaged = bytes;
  damaged.back() ^= std::byte(1);
  EXPECT_THAT(errorOf(damaged), HasSubstr("checksum"));
}

// Images that are consistent as bytes but say something that cannot be: the checksum is right.
TEST(KernelImage, InconsistentFieldsAreRefused) {
  auto refuse = [](auto change, const char *message) {
    KernelImage image = sample();
    change(image);
    EXPECT_THAT(errorOf(encode(image)), HasSubstr(message));
  };
  refuse([](KernelImage &i) { i.target = 6; }, "target [6]");
  refuse([](KernelImage &i) { i.lanesPerCall = 33; }, "[33] lanes");
  refuse([](KernelImage &i) { i.lanesPerCall = 0; }, "[0] lanes");
  refuse([](KernelImage &i) { i.target = 5; }, "expected 1 for target 5");
  refuse([](KernelImage &i) { i.shapeKind = 3; }, "shape kind [3]");
  refuse([](KernelImage &i) { i.shapeSize[1] = 100; }, "[32 x 100 x 3]");
  refuse([](KernelImage &i) { i.shapeSize[0] = 0; }, "[0 x 2 x 3]");
  refuse([](KernelImage &i) { i.stackBytes = ~0u; }, "bytes of stack");
  refuse([](KernelImage &i) { i.codeAlignment = 48; }, "aligned to [48]");
  refuse([](KernelImage &i) { i.codeAlignment = 8192; }, "aligned to [8192]");
  refuse([](KernelImage &i) { i.rangeEntry = 300; }, "entry at [300]");
  refuse([](KernelImage &i) { i.rangeEntry = i.simdgroupEntry = KernelImage::kNoEntry; },
         "no entry point");
  refuse(
      [](KernelImage &i) {
        i.code.clear();
        i.simdgroupEntry = KernelImage::kNoEntry;
      },
      "entry at [0]");
}

TEST(KernelImage, RandomBytesNeverCrash) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes(random() % 600);
    for (std::byte &b : bytes)
      b = std::byte(uint8_t(random()));
    EXPECT_NE(errorOf(bytes), "");
  }
}

} // namespace
} // namespace pewter::cpu
