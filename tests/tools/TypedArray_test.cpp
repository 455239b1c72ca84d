// SPDX-License-Identifier: Apache-2.0
#include "pewter/TypedArray.h"
#include <gtest/gtest.h>

namespace pewter::tools {
namespace {

std::string errorOf(std::string_view spec) {
  auto array = arrayFromSpec(spec);
  return array ? "" : array.error().message();
}

TEST(TypedArray, SpecsMakeArrays) {
  TypedArray zeros = arrayFromSpec("zeros:f16[2,3]").value();
  EXPECT_EQ(zeros.type, ElementType::F16);
  EXPECT_EQ(zeros.shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(zeros.bytes, Bytes(12));
  EXPECT_EQ(arrayFromSpec("zeros:i64").value().bytes.size(), 8u);
  TypedArray random = arrayFromSpec("random:f32[100]:3").value();
  EXPECT_EQ(random.bytes, arrayFromSpec("random:f32[100]:3").value().bytes);
  EXPECT_NE(random.bytes, arrayFromSpec("random:f32[100]:4").value().bytes);
  for (uint64_t i = 0; i < 100; ++i) {
    float value = std::stof(elementText(random, i));
    EXPECT_TRUE(value >= -1 && value < 1) << value;
  }
}

TEST(TypedArray, BadSpecsAreNamed) {
  EXPECT_NE(errorOf("ones:f32[2]").find("\"ones:f32[2]\""), std::string::npos);
  EXPECT_NE(errorOf("zeros:f33[2]").find("\"f33\""), std::string::npos);
  EXPECT_NE(errorOf("zeros:f32[2").find("\"]\""), std::string::npos);
  EXPECT_NE(errorOf("zeros:f32[two]").find("\"two\""), std::string::npos);
  EXPECT_NE(errorOf("zeros:f32[99999999999,99999999999]").find("1 TiB"), std::string::npos);
  EXPECT_NE(errorOf("missing.npy").find("missing.npy"), std::string::npos);
}

TEST(TypedArray, ValuesParse) {
  TypedArray value = valueFromSpec("u32:6656,7").value();
  EXPECT_EQ(elementText(value, 0), "6656");
  EXPECT_EQ(elementText(value, 1), "7");
  EXPECT_EQ(elementText(valueFromSpec("bf16:1.5").value(), 0), "1.5");
  EXPECT_FALSE(valueFromSpec("u8:256").has_value());
  EXPECT_FALSE(valueFromSpec("6656").has_value());
  EXPECT_FALSE(valueFromSpec("bool:maybe").has_value());
}

TEST(TypedArray, NpyRoundTripsEveryType) {
  auto path = (std::filesystem::temp_directory_path() / "pewter-typed-array.npy").string();
  for (std::string type : {"f32", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64",
                           "bool"}) {
    TypedArray array = arrayFromSpec("random:" + type + "[3,5]:1").value();
    ASSERT_TRUE(writeNpy(path, array).has_value());
    TypedArray back = readNpy(path).value();
    EXPECT_EQ(back.type, array.type) << type;
    EXPECT_EQ(back.shape, array.shape) << type;
    EXPECT_EQ(back.bytes, array.bytes) << type;
  }
  std::filesystem::remove(path);
}

TEST(TypedArray, DamagedNpyFilesAreErrors) {
  auto path = (std::filesystem::temp_directory_path() / "pewter-damaged.npy").string();
  ASSERT_TRUE(writeNpy(path, arrayFromSpec("random:f32[4]:1").value()).has_value());
  Bytes good = readFile(path).value();
  for (size_t length = 0; length < good.size(); ++length) {
    ASSERT_TRUE(writeFileAtomically(path, ByteView(good).first(length)).has_value());
    auto damaged = readNpy(path);
    ASSERT_FALSE(damaged.has_value()) << length;
    EXPECT_NE(damaged.error().message().find(path), std::string::npos);
  }
  std::filesystem::remove(path);
}

} // namespace
} // namespace pewter::tools
