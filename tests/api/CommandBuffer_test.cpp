// SPDX-License-Identifier: Apache-2.0
#include "ApiTest.h"
#include <atomic>
#include <thread>

namespace pewter::test {
namespace {

using testing::HasSubstr;

class CommandBufferApi : public ApiTest {
protected:
  MTL::CommandBuffer *fill(MTL::Buffer *target, uint8_t value) {
    MTL::CommandBuffer *commands = queue->commandBuffer();
    MTL::BlitCommandEncoder *blit = commands->blitCommandEncoder();
    blit->fillBuffer(target, NS::Range(0, target->length()), value);
    blit->endEncoding();
    return commands;
  }
};
PEWTER_EVERY_DEVICE(CommandBufferApi);

TEST_P(CommandBufferApi, GoesThroughItsStates) {
  MTL::CommandBuffer *commands = queue->commandBuffer();
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusNotEnqueued);
  commands->enqueue();
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusEnqueued);
  commands->commit();
  EXPECT_GE(commands->status(), MTL::CommandBufferStatusCommitted);
  commands->waitUntilScheduled();
  EXPECT_GE(commands->status(), MTL::CommandBufferStatusScheduled);
  commands->waitUntilCompleted();
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusCompleted);
  EXPECT_EQ(commands->error(), nullptr);
  EXPECT_EQ(commands->commandQueue(), queue.get());
  EXPECT_EQ(commands->device(), device);
}

TEST_P(CommandBufferApi, NothingRunsBeforeCommit) {
  auto target = buffer(16);
  MTL::CommandBuffer *commands = fill(target.get(), 5);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(contentsOf<uint8_t>(target), std::vector<uint8_t>(16, 0));
  finish(commands);
  if (executes())
    EXPECT_EQ(contentsOf<uint8_t>(target), std::vector<uint8_t>(16, 5));
}

TEST_P(CommandBufferApi, RunsInTheOrderOfCommit) {
  auto target = buffer(1 << 16);
  MTL::CommandBuffer *last = nullptr;
  for (int i = 1; i <= 20; ++i) {
    last = fill(target.get(), static_cast<uint8_t>(i));
    last->commit();
  }
  last->waitUntilCompleted();
  if (executes())
    EXPECT_EQ(contentsOf<uint8_t>(target)[777], 20);
}

TEST_P(CommandBufferApi, EnqueueFixesTheOrder) {
  auto target = buffer(16);
  MTL::CommandBuffer *first = fill(target.get(), 1), *second = fill(target.get(), 2);
  first->enqueue();
  second->enqueue();
  second->commit();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_LT(second->status(), MTL::CommandBufferStatusScheduled);
  first->commit();
  second->waitUntilCompleted();
  EXPECT_EQ(first->status(), MTL::CommandBufferStatusCompleted);
  if (executes())
    EXPECT_EQ(contentsOf<uint8_t>(target)[3], 2);
}

TEST_P(CommandBufferApi, HandlersRunInOrderBeforeTheWaitReturns) {
  MTL::CommandBuffer *commands = queue->commandBuffer();
  std::vector<int> calls;
  commands->addScheduledHandler([&](MTL::CommandBuffer *b) {
    EXPECT_EQ(b, commands);
    EXPECT_EQ(b->status(), MTL::CommandBufferStatusScheduled);
    calls.push_back(1);
  });
  commands->addCompletedHandler([&](MTL::CommandBuffer *b) {
    EXPECT_EQ(b->status(), MTL::CommandBufferStatusCompleted);
    b->waitUntilCompleted(); // Must not wait for itself.
    calls.push_back(2);
  });
  commands->addCompletedHandler([&](MTL::CommandBuffer *) { calls.push_back(3); });
  finish(commands);
  EXPECT_EQ(calls, (std::vector<int>{1, 2, 3}));
}

TEST_P(CommandBufferApi, LivesUntilItsHandlersHaveRun) {
  std::atomic<bool> done{false};
  {
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    MTL::CommandBuffer *commands = queue->commandBuffer();
    commands->addCompletedHandler([&](MTL::CommandBuffer *) { done = true; });
    commands->commit();
  }
  for (int i = 0; i < 2000 && !done; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(done);
}

TEST_P(CommandBufferApi, KeepsResourcesAliveUntilTheyAreUsed) {
  auto target = buffer(1 << 20);
  auto source = buffer(1 << 20);
  MTL::CommandBuffer *commands = queue->commandBuffer();
  MTL::BlitCommandEncoder *blit = commands->blitCommandEncoder();
  blit->fillBuffer(source.get(), NS::Range(0, 1 << 20), 9);
  blit->copyFromBuffer(source.get(), 0, target.get(), 0, 1 << 20);
  blit->endEncoding();
  source.reset();
  finish(commands);
  if (executes())
    EXPECT_EQ(contentsOf<uint8_t>(target)[12345], 9);
}

TEST_P(CommandBufferApi, ReportsTimes) {
  auto target = buffer(1 << 20);
  MTL::CommandBuffer *commands = fill(target.get(), 3);
  finish(commands);
  EXPECT_GE(commands->GPUEndTime(), commands->GPUStartTime());
  EXPECT_GE(commands->kernelEndTime(), commands->kernelStartTime());
  if (executes()) {
    EXPECT_GT(commands->GPUStartTime(), 0);
    EXPECT_GT(commands->GPUEndTime(), commands->GPUStartTime());
  }
}

TEST_P(CommandBufferApi, MisuseFailsTheBufferAndNotTheQueue) {
  auto target = buffer(16);
  target->setLabel(MTLSTR("target"));
  MTL::CommandBuffer *commands = queue->commandBuffer();
  commands->setLabel(MTLSTR("bad"));
  MTL::BlitCommandEncoder *blit = commands->blitCommandEncoder();
  blit->setLabel(MTLSTR("filler"));
  blit->fillBuffer(target.get(), NS::Range(0, 8), 1);
  blit->fillBuffer(target.get(), NS::Range(8, 9), 1);
  blit->endEncoding();
  std::string message = takeMisuse();
  EXPECT_THAT(message, HasSubstr("BlitCommandEncoder::fillBuffer"));
  EXPECT_THAT(message, HasSubstr("\"target\""));
  EXPECT_THAT(message, HasSubstr("\"filler\""));
  EXPECT_THAT(message, HasSubstr("\"bad\""));
  commands->commit();
  commands->waitUntilCompleted();
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusError);
  EXPECT_THAT(text(commands->error()), HasSubstr("fillBuffer"));
  EXPECT_EQ(commands->error()->code(), MTL::CommandBufferErrorInvalidResource);
  EXPECT_TRUE(commands->error()->domain()->isEqualToString(MTL::CommandBufferErrorDomain));
  EXPECT_EQ(contentsOf<uint8_t>(target)[0], 0);
  finish(fill(target.get(), 4));
}

TEST_P(CommandBufferApi, EncoderInfoComesWithTheErrorWhenAskedFor) {
  auto descriptor = NS::TransferPtr(MTL::CommandBufferDescriptor::alloc()->init());
  descriptor->setErrorOptions(MTL::CommandBufferErrorOptionEncoderExecutionStatus);
  MTL::CommandBuffer *commands = queue->commandBuffer(descriptor.get());
  MTL::BlitCommandEncoder *blit = commands->blitCommandEncoder();
  blit->setLabel(MTLSTR("filler"));
  blit->fillBuffer(nullptr, NS::Range(0, 8), 1);
  blit->endEncoding();
  takeMisuse();
  commands->commit();
  commands->waitUntilCompleted();
  auto *infos =
      commands->error()->userInfo()->object<NS::Array>(MTL::CommandBufferEncoderInfoErrorKey);
  ASSERT_NE(infos, nullptr);
  ASSERT_EQ(infos->count(), 1u);
  EXPECT_EQ(text(infos->object<MTL::CommandBufferEncoderInfo>(0)->label()), "filler");
}

TEST_P(CommandBufferApi, WrongOrderOfCallsIsReported) {
  MTL::CommandBuffer *commands = queue->commandBuffer();
  commands->waitUntilCompleted();
  EXPECT_THAT(takeMisuse(), HasSubstr("not committed"));
  MTL::ComputeCommandEncoder *first = commands->computeCommandEncoder();
  EXPECT_EQ(commands->blitCommandEncoder(), nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("still open"));
  first->endEncoding();
  first->endEncoding();
  EXPECT_THAT(takeMisuse(), HasSubstr("endEncoding was already called"));
  commands->commit();
  commands->waitUntilCompleted();
  commands->commit();
  EXPECT_THAT(takeMisuse(), HasSubstr("already committed"));
  EXPECT_EQ(commands->computeCommandEncoder(), nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("already committed"));
  commands->addCompletedHandler([](MTL::CommandBuffer *) {});
  EXPECT_THAT(takeMisuse(), HasSubstr("before commit"));
}

TEST_P(CommandBufferApi, CommitWithAnOpenEncoderFails) {
  MTL::CommandBuffer *commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
  commands->commit();
  EXPECT_THAT(takeMisuse(), HasSubstr("still open"));
  commands->waitUntilCompleted();
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusError);
  (void)encoder;
}

TEST_P(CommandBufferApi, DebugGroupsMustBalance) {
  MTL::CommandBuffer *commands = queue->commandBuffer();
  commands->pushDebugGroup(MTLSTR("outer"));
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
  encoder->pushDebugGroup(MTLSTR("inner"));
  encoder->insertDebugSignpost(MTLSTR("here"));
  encoder->popDebugGroup();
  encoder->popDebugGroup();
  EXPECT_THAT(takeMisuse(), HasSubstr("no debug group is open"));
  encoder->endEncoding();
  commands->popDebugGroup();
}

class CommandQueueApi : public ApiTest {};
PEWTER_EVERY_DEVICE(CommandQueueApi);

TEST_P(CommandQueueApi, CountsBuffersInFlight) {
  auto small = NS::TransferPtr(device->newCommandQueue(2));
  for (int i = 0; i < 50; ++i) {
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    small->commandBuffer()->commit();
  }
  MTL::CommandBuffer *last = small->commandBuffer();
  finish(last);
}

TEST_P(CommandQueueApi, ABufferThatIsNeverCommittedDoesNotBlockTheQueue) {
  {
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    queue->commandBuffer()->enqueue();
  }
  finish(queue->commandBuffer());
}

TEST_P(CommandQueueApi, OutlivesItsReferenceWhileBuffersRun) {
  auto other = NS::TransferPtr(device->newCommandQueue());
  auto target = buffer(1 << 20);
  auto commands = NS::RetainPtr(other->commandBuffer());
  MTL::BlitCommandEncoder *blit = commands->blitCommandEncoder();
  blit->fillBuffer(target.get(), NS::Range(0, 1 << 20), 6);
  blit->endEncoding();
  commands->commit();
  other.reset();
  commands->waitUntilCompleted();
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusCompleted);
}

TEST_P(CommandQueueApi, TwoQueuesFromTwoThreads) {
  constexpr int kCount = 200;
  auto work = [&](uint8_t value, const NS::SharedPtr<MTL::Buffer> &target) {
    auto own = NS::TransferPtr(device->newCommandQueue());
    for (int i = 0; i < kCount; ++i) {
      auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
      MTL::CommandBuffer *commands = own->commandBuffer();
      MTL::BlitCommandEncoder *blit = commands->blitCommandEncoder();
      blit->fillBuffer(target.get(), NS::Range(0, 256), value);
      blit->endEncoding();
      commands->commit();
      commands->waitUntilCompleted();
      ASSERT_EQ(commands->status(), MTL::CommandBufferStatusCompleted);
    }
  };
  auto a = buffer(256), b = buffer(256);
  std::thread other([&] { work(1, a); });
  work(2, b);
  other.join();
  if (executes()) {
    EXPECT_EQ(contentsOf<uint8_t>(a)[255], 1);
    EXPECT_EQ(contentsOf<uint8_t>(b)[255], 2);
  }
}

TEST_P(CommandQueueApi, OneQueueFromTwoThreads) {
  auto work = [&] {
    for (int i = 0; i < 200; ++i) {
      auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
      MTL::CommandBuffer *commands = queue->commandBuffer();
      commands->computeCommandEncoder()->endEncoding();
      commands->commit();
      commands->waitUntilCompleted();
    }
  };
  std::thread other(work);
  work();
  other.join();
}

} // namespace
} // namespace pewter::test
