// SPDX-License-Identifier: Apache-2.0
#include "ApiTest.h"
#include <cstdlib>

namespace pewter::test {
namespace {

using testing::HasSubstr;

class DeviceApi : public ApiTest {};
PEWTER_EVERY_DEVICE(DeviceApi);

TEST_P(DeviceApi, NamesItself) {
  EXPECT_FALSE(text(device->name()).empty());
  EXPECT_EQ(text(device->architecture()->name()), "pewter_" + GetParam());
  EXPECT_NE(device->registryID(), 0u);
  EXPECT_EQ(Pewter::DeviceKind(device), GetParam());
}

TEST_P(DeviceApi, HasMetalsLimits) {
  MTL::Size threads = device->maxThreadsPerThreadgroup();
  EXPECT_EQ(NS::UInteger(threads.width), 1024u);
  EXPECT_EQ(device->maxThreadgroupMemoryLength(), 32768u);
  EXPECT_GE(device->maxBufferLength(), NS::UInteger(1) << 28);
  EXPECT_GT(device->recommendedMaxWorkingSetSize(), 0u);
}

TEST_P(DeviceApi, AnswersFamiliesByComputeFeatures) {
  EXPECT_TRUE(device->supportsFamily(MTL::GPUFamilyApple7));
  EXPECT_TRUE(device->supportsFamily(MTL::GPUFamilyCommon3));
  EXPECT_FALSE(device->supportsFamily(MTL::GPUFamilyMetal4));
  EXPECT_FALSE(device->supportsRaytracing());
  EXPECT_TRUE(device->supportsFunctionPointers());
  EXPECT_TRUE(device->supportsDynamicLibraries());
}

TEST_P(DeviceApi, CountsAllocatedBytes) {
  NS::UInteger before = device->currentAllocatedSize();
  auto held = buffer(1 << 20);
  EXPECT_GE(device->currentAllocatedSize(), before + (1 << 20));
  held.reset();
  EXPECT_LE(device->currentAllocatedSize(), before);
}

TEST_P(DeviceApi, SamplesIncreasingTimestamps) {
  MTL::Timestamp cpu[2], gpu[2];
  device->sampleTimestamps(&cpu[0], &gpu[0]);
  device->sampleTimestamps(&cpu[1], &gpu[1]);
  EXPECT_GE(cpu[1], cpu[0]);
  EXPECT_GE(gpu[1], gpu[0]);
}

TEST_P(DeviceApi, RefusesWhatItCannotMake) {
  NS::Error *error = nullptr;
  EXPECT_EQ(device->newDynamicLibrary(static_cast<const NS::URL *>(nullptr), &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("newDynamicLibrary"));
  EXPECT_EQ(device->newCommandQueue(NS::UInteger(0)), nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("maxCommandBufferCount (0)"));
}

TEST(Devices, TheEnvironmentChoosesTheDefault) {
  ::setenv("PEWTER_DEVICE", "null", 1);
  EXPECT_EQ(MTL::CreateSystemDefaultDevice(), Pewter::CreateDevice("null"));
  ::setenv("PEWTER_DEVICE", "quantum", 1);
  std::string message;
  Pewter::SetMisuseHandler([&](const char *text) { message = text; });
  EXPECT_EQ(MTL::CreateSystemDefaultDevice(), nullptr);
  Pewter::SetMisuseHandler({});
  EXPECT_THAT(message, HasSubstr("PEWTER_DEVICE (quantum)"));
  ::unsetenv("PEWTER_DEVICE");
}

TEST(Devices, TheListHoldsTheDefaultAndNotTheNullDevice) {
  auto list = NS::TransferPtr(MTL::CopyAllDevices());
  auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  bool found = false;
  for (NS::UInteger i = 0; i < list->count(); ++i) {
    found = found || list->object<MTL::Device>(i) == device.get();
    EXPECT_STRNE(Pewter::DeviceKind(list->object<MTL::Device>(i)), "null");
  }
  EXPECT_EQ(found, device.get() != nullptr);
  EXPECT_NE(Pewter::CreateDevice("null"), nullptr);
  EXPECT_EQ(Pewter::CreateDevice("no such kind"), nullptr);
}

} // namespace
} // namespace pewter::test
