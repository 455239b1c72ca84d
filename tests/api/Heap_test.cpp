// SPDX-License-Identifier: Apache-2.0
#include "ApiTest.h"

namespace pewter::test {
namespace {

using testing::HasSubstr;

class HeapApi : public ApiTest {
protected:
  NS::SharedPtr<MTL::Heap> heap(NS::UInteger size, MTL::HeapType type = MTL::HeapTypeAutomatic) {
    auto descriptor = NS::TransferPtr(MTL::HeapDescriptor::alloc()->init());
    descriptor->setSize(size);
    descriptor->setStorageMode(MTL::StorageModeShared);
    descriptor->setType(type);
    return NS::TransferPtr(device->newHeap(descriptor.get()));
  }
};
PEWTER_EVERY_DEVICE(HeapApi);

TEST_P(HeapApi, GivesDisjointRangesUntilItIsFull) {
  auto h = heap(4096);
  ASSERT_TRUE(h);
  auto a = NS::TransferPtr(h->newBuffer(1000, MTL::ResourceStorageModeShared));
  auto b = NS::TransferPtr(h->newBuffer(2000, MTL::ResourceStorageModeShared));
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->heap(), h.get());
  EXPECT_EQ(a->hazardTrackingMode(), MTL::HazardTrackingModeUntracked);
  EXPECT_GE(b->gpuAddress(), a->gpuAddress() + 1000);
  EXPECT_EQ(h->usedSize(), 1024u + 2048u);
  EXPECT_EQ(h->newBuffer(2048, MTL::ResourceStorageModeShared), nullptr);
  EXPECT_EQ(h->maxAvailableSize(256), 1024u);
}

TEST_P(HeapApi, ReusesAndMergesWhatComesBack) {
  auto h = heap(4096);
  NS::SharedPtr<MTL::Buffer> parts[4];
  for (auto &part : parts)
    part = NS::TransferPtr(h->newBuffer(1024, MTL::ResourceStorageModeShared));
  EXPECT_EQ(h->maxAvailableSize(256), 0u);
  parts[1].reset();
  parts[3].reset();
  EXPECT_EQ(h->maxAvailableSize(256), 1024u);
  parts[2].reset();
  EXPECT_EQ(h->maxAvailableSize(256), 3072u);
  EXPECT_TRUE(NS::TransferPtr(h->newBuffer(3072, MTL::ResourceStorageModeShared)));
}

TEST_P(HeapApi, AliasableRoomIsGivenAgain) {
  auto h = heap(1024);
  auto a = NS::TransferPtr(h->newBuffer(1024, MTL::ResourceStorageModeShared));
  EXPECT_FALSE(a->isAliasable());
  a->makeAliasable();
  EXPECT_TRUE(a->isAliasable());
  auto b = NS::TransferPtr(h->newBuffer(1024, MTL::ResourceStorageModeShared));
  ASSERT_TRUE(b);
  EXPECT_EQ(a->gpuAddress(), b->gpuAddress());
}

TEST_P(HeapApi, PlacementHeapsTakeTheOffset) {
  auto h = heap(4096, MTL::HeapTypePlacement);
  auto a = NS::TransferPtr(h->newBuffer(512, MTL::ResourceStorageModeShared, 1024));
  ASSERT_TRUE(a);
  EXPECT_EQ(a->heapOffset(), 1024u);
  EXPECT_EQ(h->newBuffer(512, MTL::ResourceStorageModeShared, 3840), nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("offset (3840)"));
  EXPECT_EQ(h->newBuffer(512, MTL::ResourceStorageModeShared, 100), nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("multiple of 256"));
  EXPECT_EQ(h->newBuffer(512, MTL::ResourceStorageModeShared), nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("placement"));
}

TEST_P(HeapApi, SaysHowLongABufferIs) {
  MTL::SizeAndAlign need = device->heapBufferSizeAndAlign(1000, MTL::ResourceStorageModeShared);
  EXPECT_EQ(NS::UInteger(need.size), 1024u);
  EXPECT_EQ(NS::UInteger(need.align), 256u);
}

TEST_P(HeapApi, RefusesAnotherStorageMode) {
  auto h = heap(4096);
  EXPECT_EQ(h->newBuffer(512, MTL::ResourceStorageModePrivate), nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("storage mode (2)"));
}

} // namespace
} // namespace pewter::test
