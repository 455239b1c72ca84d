// SPDX-License-Identifier: Apache-2.0
#include "ApiTest.h"
#include <atomic>
#include <thread>

namespace pewter::test {
namespace {

using ::testing::HasSubstr;

class EventApi : public ApiTest {};
PEWTER_EVERY_DEVICE(EventApi);

TEST_P(EventApi, TheHostSignalsAndWaits) {
  auto event = NS::TransferPtr(device->newSharedEvent());
  EXPECT_EQ(event->signaledValue(), 0u);
  EXPECT_FALSE(event->waitUntilSignaledValue(1, 5));
  event->setSignaledValue(3);
  EXPECT_EQ(event->signaledValue(), 3u);
  EXPECT_TRUE(event->waitUntilSignaledValue(2, 0));
  event->setLabel(MTLSTR("frame"));
  EXPECT_EQ(text(event->label()), "frame");
}

TEST_P(EventApi, ACommandBufferSignalsAtItsPlace) {
  auto event = NS::TransferPtr(device->newSharedEvent());
  MTL::CommandBuffer *commands = queue->commandBuffer();
  commands->encodeSignalEvent(event.get(), 7);
  EXPECT_EQ(event->signaledValue(), 0u);
  commands->commit();
  EXPECT_TRUE(event->waitUntilSignaledValue(7, 10000));
  commands->waitUntilCompleted();
}

TEST_P(EventApi, ACommandBufferWaitsForTheHost) {
  auto event = NS::TransferPtr(device->newSharedEvent());
  MTL::CommandBuffer *commands = queue->commandBuffer();
  commands->encodeWait(event.get(), 1);
  commands->commit();
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_LT(commands->status(), MTL::CommandBufferStatusCompleted);
  event->setSignaledValue(1);
  commands->waitUntilCompleted();
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusCompleted);
}

TEST_P(EventApi, EventsOrderTwoQueues) {
  auto other = NS::TransferPtr(device->newCommandQueue());
  auto event = NS::TransferPtr(device->newEvent());
  auto target = buffer(64);
  MTL::CommandBuffer *second = other->commandBuffer();
  second->encodeWait(event.get(), 1);
  auto *blit = second->blitCommandEncoder();
  blit->fillBuffer(target.get(), NS::Range(0, 64), 2);
  blit->endEncoding();
  second->commit();
  MTL::CommandBuffer *first = queue->commandBuffer();
  blit = first->blitCommandEncoder();
  blit->fillBuffer(target.get(), NS::Range(0, 64), 1);
  blit->endEncoding();
  first->encodeSignalEvent(event.get(), 1);
  finish(first);
  second->waitUntilCompleted();
  if (executes())
    EXPECT_EQ(contentsOf<uint8_t>(target)[0], 2);
}

TEST_P(EventApi, ListenersHearOfValues) {
  auto event = NS::TransferPtr(device->newSharedEvent());
  auto listener = NS::TransferPtr(MTL::SharedEventListener::alloc()->init());
  std::atomic<uint64_t> heard{0};
  event->notifyListener(listener.get(), 2, [&](MTL::SharedEvent *e, std::uint64_t value) {
    EXPECT_EQ(e, event.get());
    heard = value;
  });
  event->setSignaledValue(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(heard, 0u);
  event->setSignaledValue(2);
  for (int i = 0; i < 2000 && heard == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(heard, 2u);
}

TEST_P(EventApi, AHandleNamesItsEvent) {
  auto event = NS::TransferPtr(device->newSharedEvent());
  auto handle = NS::TransferPtr(event->newSharedEventHandle());
  auto again = NS::TransferPtr(device->newSharedEvent(handle.get()));
  again->setSignaledValue(4);
  EXPECT_EQ(event->signaledValue(), 4u);
}

TEST_P(EventApi, EventsAreEncodedBetweenEncoders) {
  auto event = NS::TransferPtr(device->newEvent());
  MTL::CommandBuffer *commands = queue->commandBuffer();
  auto *encoder = commands->computeCommandEncoder();
  commands->encodeSignalEvent(event.get(), 1);
  EXPECT_THAT(takeMisuse(), HasSubstr("encodeSignalEvent"));
  encoder->endEncoding();
}

TEST_P(EventApi, FencesAreAcceptedByBothEncoders) {
  auto fence = NS::TransferPtr(device->newFence());
  fence->setLabel(MTLSTR("fence"));
  MTL::CommandBuffer *commands = queue->commandBuffer();
  auto *blit = commands->blitCommandEncoder();
  blit->updateFence(fence.get());
  blit->endEncoding();
  auto *compute = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
  EXPECT_EQ(compute->dispatchType(), MTL::DispatchTypeConcurrent);
  compute->waitForFence(fence.get());
  compute->endEncoding();
  finish(commands);
}

} // namespace
} // namespace pewter::test
