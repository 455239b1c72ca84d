// SPDX-License-Identifier: Apache-2.0
#include "air/Reflection.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pewter::air {
namespace {

KernelReflection sample() {
  KernelReflection kernel;
  kernel.name = "scale";
  Argument buffer;
  buffer.kind = ArgumentKind::Buffer;
  buffer.slot = 3;
  buffer.addressSpace = AddressSpace::Constant;
  buffer.access = Access::ReadWrite;
  buffer.dataSize = 112;
  buffer.dataAlignment = 8;
  buffer.boundSize = 112;
  buffer.isArgumentBuffer = true;
  buffer.name = "args";
  buffer.typeName = "Args";
  buffer.metadataKind = "air.buffer";
  buffer.members = {{"n", "int", 4, 4, 0, 0, {}, 0},
                    {"table", "float", 8, 4, 16, 2, {}, 0},
                    {"inner", "constant Inner*", 72, 8, 0, 18, {{"x", "float", 0, 4, 0, 5, {}, 0}}, 16}};
  Argument position;
  position.kind = ArgumentKind::Builtin;
  position.parameter = 1;
  position.builtin = Builtin::GridSize;
  position.used = false;
  kernel.arguments = {buffer, position};
  kernel.constants = {{"steps", DataType::Short3, 7, true}};
  kernel.maxTotalThreadsPerThreadgroup = 256;
  kernel.staticThreadgroupBytes = 4096;
  kernel.usesThreadgroupBarrier = true;
  return kernel;
}

TEST(Reflection, SurvivesEncodingAndDecoding) {
  const Bytes bytes = encode(sample());
  auto decoded = decodeReflection(bytes);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().describe();
  EXPECT_EQ(encode(*decoded), bytes);
  EXPECT_EQ(decoded->name, "scale");
  ASSERT_EQ(decoded->arguments.size(), 2u);
  EXPECT_EQ(decoded->arguments[0].members[1].arrayLength, 16u);
  EXPECT_EQ(decoded->arguments[0].members[1].argumentIndex, 2u);
  EXPECT_EQ(decoded->arguments[1].builtin, Builtin::GridSize);
  EXPECT_FALSE(decoded->arguments[1].used);
  EXPECT_EQ(decoded->constants[0].type, DataType::Short3);
  EXPECT_TRUE(decoded->usesThreadgroupBarrier);
  EXPECT_FALSE(decoded->usesSimdgroupOperations);
}

TEST(Reflection, EveryShorterRecordIsRefused) {
  const Bytes bytes = encode(sample());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decodeReflection(ByteView(bytes).first(size)).has_value()) << size;
}

TEST(Reflection, ALongerRecordIsRefused) {
  Bytes bytes = encode(sample());
  bytes.push_back(std::byte(0));
  auto decoded = decodeReflection(bytes);
  ASSERT_FALSE(decoded.has_value());
  EXPECT_THAT(decoded.error().message(), ::testing::HasSubstr("[1] bytes too many"));
}

// A changed byte is either refused or read as a record of the same size; nothing else may happen.
TEST(Reflection, ChangedBytesNeverTrap) {
  const Bytes bytes = encode(sample());
  for (size_t at = 0; at < bytes.size(); ++at)
    for (unsigned value : {0u, 1u, 0x7fu, 0xffu}) {
      Bytes changed = bytes;
      changed[at] = std::byte(value);
      if (auto decoded = decodeReflection(changed))
        EXPECT_EQ(encode(*decoded), changed);
    }
}

} // namespace
} // namespace pewter::air
