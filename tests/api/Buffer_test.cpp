// SPDX-License-Identifier: Apache-2.0
#include "ApiTest.h"
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace pewter::test {
namespace {

using testing::HasSubstr;

class BufferApi : public ApiTest {};
PEWTER_EVERY_DEVICE(BufferApi);

TEST_P(BufferApi, SharedMemoryIsZeroedAndWritable) {
  auto b = buffer(100);
  EXPECT_EQ(b->length(), 100u);
  EXPECT_GE(b->allocatedSize(), 100u);
  EXPECT_EQ(contentsOf<char>(b), std::vector<char>(100, 0));
  std::memset(b->contents(), 7, 100);
  EXPECT_NE(b->gpuAddress(), 0u);
  EXPECT_EQ(b->device(), device);
}

TEST_P(BufferApi, CopiesTheBytesItIsMadeFrom) {
  std::vector<int> values{1, 2, 3};
  auto b = bufferOf(values);
  values[0] = 9;
  EXPECT_EQ(contentsOf<int>(b), (std::vector<int>{1, 2, 3}));
}

TEST_P(BufferApi, PrivateMemoryHasNoContents) {
  auto b = buffer(64, MTL::ResourceStorageModePrivate);
  ASSERT_TRUE(b);
  EXPECT_EQ(b->contents(), nullptr);
  EXPECT_EQ(b->storageMode(), MTL::StorageModePrivate);
  EXPECT_EQ(device->newBuffer("x", 1, MTL::ResourceStorageModePrivate), nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("private storage"));
}

TEST_P(BufferApi, WrapsMemoryAndCallsTheDeallocatorOnce) {
  size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void *memory = std::aligned_alloc(page, 2 * page);
  int calls = 0;
  auto b = NS::TransferPtr(device->newBuffer(memory, 2 * page, MTL::ResourceStorageModeShared,
                                             [&](void *pointer, NS::UInteger length) {
                                               ++calls;
                                               EXPECT_EQ(pointer, memory);
                                               EXPECT_EQ(length, 2 * page);
                                             }));
  ASSERT_TRUE(b);
  EXPECT_EQ(b->contents(), memory);
  b.reset();
  EXPECT_EQ(calls, 1);
  b = NS::TransferPtr(device->newBuffer(memory, page, MTL::ResourceStorageModeShared, nullptr));
  EXPECT_TRUE(b);
  b.reset();
  std::free(memory);
}

TEST_P(BufferApi, RefusesMemoryThatIsNotWholePages) {
  alignas(4096) static char memory[8192];
  EXPECT_EQ(device->newBuffer(memory + 1, 4096, 0, nullptr), nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("page size"));
  EXPECT_EQ(device->newBuffer(memory, 100, 0, nullptr), nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("length (100)"));
}

TEST_P(BufferApi, RefusesLengthsOutsideTheLimits) {
  EXPECT_EQ(device->newBuffer(0, MTL::ResourceStorageModeShared), nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("length (0)"));
  EXPECT_EQ(device->newBuffer(device->maxBufferLength() + 1, MTL::ResourceStorageModeShared),
            nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("limit"));
}

TEST_P(BufferApi, KeepsOptionsAndLabel) {
  auto b = buffer(16, MTL::ResourceStorageModeShared | MTL::ResourceCPUCacheModeWriteCombined |
                          MTL::ResourceHazardTrackingModeUntracked);
  EXPECT_EQ(b->cpuCacheMode(), MTL::CPUCacheModeWriteCombined);
  EXPECT_EQ(b->hazardTrackingMode(), MTL::HazardTrackingModeUntracked);
  EXPECT_EQ(buffer(16)->hazardTrackingMode(), MTL::HazardTrackingModeTracked);
  EXPECT_EQ(b->label(), nullptr);
  b->setLabel(MTLSTR("weights"));
  EXPECT_EQ(text(b->label()), "weights");
  EXPECT_EQ(b->setPurgeableState(MTL::PurgeableStateVolatile), MTL::PurgeableStateNonVolatile);
  EXPECT_EQ(b->setPurgeableState(MTL::PurgeableStateKeepCurrent), MTL::PurgeableStateVolatile);
}

TEST_P(BufferApi, DidModifyRangeIsForManagedMemory) {
  auto managed = buffer(16, MTL::ResourceStorageModeManaged);
  managed->didModifyRange(NS::Range(0, 16));
  managed->didModifyRange(NS::Range(8, 16));
  EXPECT_THAT(takeMisuse(), HasSubstr("(8 + 16)"));
  buffer(16)->didModifyRange(NS::Range(0, 16));
  EXPECT_THAT(takeMisuse(), HasSubstr("not managed"));
}

} // namespace
} // namespace pewter::test
