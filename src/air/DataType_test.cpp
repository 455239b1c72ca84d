// SPDX-License-Identifier: Apache-2.0
#include "air/DataType.h"
#include <gtest/gtest.h>

namespace pewter::air {
namespace {

TEST(DataType, NumbersAreMetals) {
  EXPECT_EQ(static_cast<int>(DataType::Float4), 6);
  EXPECT_EQ(static_cast<int>(DataType::Half), 16);
  EXPECT_EQ(static_cast<int>(DataType::Int), 0x1d);
  EXPECT_EQ(static_cast<int>(DataType::Short), 0x25);
  EXPECT_EQ(static_cast<int>(DataType::Bool), 0x35);
  EXPECT_EQ(static_cast<int>(DataType::ULong4), 88);
  EXPECT_EQ(static_cast<int>(DataType::BFloat4), 124);
  EXPECT_EQ(static_cast<int>(DataType::Half4x4), 28);
}

TEST(DataType, NamesReadBack) {
  for (int number = 0; number < 128; ++number) {
    const auto type = static_cast<DataType>(number);
    const std::string_view name = nameOf(type);
    if (name.empty() || sizeOf(type) == 0)
      continue;
    EXPECT_EQ(dataTypeNamed(name), type) << name;
  }
  EXPECT_EQ(nameOf(DataType::UChar3), "uchar3");
  EXPECT_EQ(nameOf(DataType::Float2x4), "float2x4");
  EXPECT_EQ(nameOf(static_cast<DataType>(99)), "");
  EXPECT_FALSE(dataTypeNamed("float5").has_value());
  EXPECT_EQ(dataTypeNamed("uint32_t"), DataType::UInt);
}

TEST(DataType, SizesAreThoseInMemory) {
  EXPECT_EQ(sizeOf(DataType::Float3), 16u);
  EXPECT_EQ(sizeOf(DataType::Bool), 1u);
  EXPECT_EQ(sizeOf(DataType::Long2), 16u);
  EXPECT_EQ(alignmentOf(DataType::Half3), 8u);
  EXPECT_EQ(sizeOf(DataType::Float4x3), 64u);
  EXPECT_EQ(sizeOf(DataType::Half2x2), 8u);
  EXPECT_EQ(alignmentOf(DataType::Half2x2), 4u);
  EXPECT_EQ(sizeOf(DataType::Struct), 0u);
}

TEST(DataType, ComponentsOfVectorsAndScalars) {
  EXPECT_EQ(componentsOf(DataType::Float4).scalar, DataType::Float);
  EXPECT_EQ(componentsOf(DataType::Float4).count, 4u);
  EXPECT_EQ(componentsOf(DataType::BFloat).count, 1u);
}

} // namespace
} // namespace pewter::air
