// SPDX-License-Identifier: Apache-2.0
//
// Streams through the CPU device's queues, with hand-made kernels.
#include "HandMadeKernel.h"
#include "base/Toggles.h"
#include "cpu/CpuDevice.h"
#include <chrono>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

namespace pewter::cpu {
namespace {

using device::CommandKind;
using device::Completion;
using device::Size3;
using pewter::testing::bufferArgument;
using pewter::testing::pipelineOf;
using pewter::testing::Recorder;
using pewter::testing::runAndWait;
using pewter::testing::threadgroupArgument;
using ::testing::HasSubstr;

std::shared_ptr<device::Device> cpuDevice() { return connect().at(0); }

std::shared_ptr<device::Memory> allocate(uint64_t length) {
  return cpuDevice()->allocate(length, device::StorageMode::Shared).value();
}

template <class T> T *contents(const std::shared_ptr<device::Memory> &memory) {
  return static_cast<T *>(memory->contents());
}

/// out[group] += 1, with enough arithmetic to be worth sharing.
void addOne(void *const *arguments, KernelContext *, uint64_t begin, uint64_t end) {
  auto *out = static_cast<uint32_t *>(arguments[0]);
  for (uint64_t i = begin; i < end; ++i)
    __atomic_fetch_add(&out[i], 1, __ATOMIC_RELAXED);
}
/// out[i] = in[i] + 1
void nextOf(void *const *arguments, KernelContext *, uint64_t begin, uint64_t end) {
  auto *in = static_cast<const uint32_t *>(arguments[0]);
  auto *out = static_cast<uint32_t *>(arguments[1]);
  for (uint64_t i = begin; i < end; ++i)
    out[i] = in[i] + 1;
}
void reverseNextOf(void *const *arguments, KernelContext *c, uint64_t begin, uint64_t end) {
  auto *in = static_cast<const uint32_t *>(arguments[0]);
  auto *out = static_cast<uint32_t *>(arguments[1]);
  uint64_t last = c->threadgroupsPerGrid[0] - 1;
  for (uint64_t i = begin; i < end; ++i)
    out[i] = in[last - i] + 1;
}

class CpuQueue : public ::testing::Test {
protected:
  std::unique_ptr<device::Queue> queue_ = cpuDevice()->createQueue();
};

TEST_F(CpuQueue, EveryThreadgroupRunsOnce) {
  auto pipeline = pipelineOf({.range = addOne});
  for (uint64_t groups : {1, 2, 3, 31, 1000, 100'000}) {
    auto memory = allocate(groups * 4 + 64);
    Recorder recorder;
    recorder.begin();
    for (int i = 0; i < 5; ++i)
      recorder.dispatch(*pipeline, {groups, 1, 1}, {32, 1, 1}, {bufferArgument(memory->contents())});
    recorder.end();
    auto completion = runAndWait(*queue_, recorder);
    ASSERT_FALSE(completion.error);
    EXPECT_LE(completion.gpuStart, completion.gpuEnd);
    for (uint64_t i = 0; i < groups; ++i)
      ASSERT_EQ(contents<uint32_t>(memory)[i], 5u) << groups << " " << i;
    EXPECT_EQ(contents<uint32_t>(memory)[groups], 0u);
  }
}

// A chain that reads what the dispatch before wrote elsewhere: order between dispatches, whoever
// runs them.
TEST_F(CpuQueue, SerialDispatchesAreOrdered) {
  auto pipeline = pipelineOf({.range = reverseNextOf});
  constexpr uint64_t kGroups = 20'000;
  auto a = allocate(kGroups * 4), b = allocate(kGroups * 4);
  for (bool shuffle : {false, true}) {
    setToggle(Toggle::shuffle_threadgroups, shuffle);
    Recorder recorder;
    recorder.fill(*a, 0, kGroups * 4, 0);
    recorder.begin();
    for (int i = 0; i < 20; ++i)
      recorder.dispatch(*pipeline, {kGroups, 1, 1}, {32, 1, 1},
                        {bufferArgument((i % 2 ? b : a)->contents()),
                         bufferArgument((i % 2 ? a : b)->contents())});
    recorder.end();
    ASSERT_FALSE(runAndWait(*queue_, recorder).error);
    for (uint64_t i = 0; i < kGroups; ++i)
      ASSERT_EQ(contents<uint32_t>(a)[i], 20u);
  }
  setToggle(Toggle::shuffle_threadgroups, false);
}

TEST_F(CpuQueue, BarriersOrderConcurrentDispatches) {
  auto pipeline = pipelineOf({.range = reverseNextOf});
  constexpr uint64_t kGroups = 5'000;
  auto a = allocate(kGroups * 4), b = allocate(kGroups * 4), c = allocate(kGroups * 4);
  for (bool shuffle : {false, true}) {
    setToggle(Toggle::shuffle_threadgroups, shuffle);
    Recorder recorder;
    recorder.fill(*a, 0, kGroups * 4, 0).begin(/*concurrent=*/true);
    for (int i = 0; i < 20; ++i)
      recorder
          .dispatch(*pipeline, {kGroups, 1, 1}, {32, 1, 1},
                    {bufferArgument(a->contents()), bufferArgument(b->contents())})
          .dispatch(*pipeline, {kGroups, 1, 1}, {32, 1, 1},
                    {bufferArgument(a->contents()), bufferArgument(c->contents())})
          .barrier()
          .dispatch(*pipeline, {kGroups, 1, 1}, {32, 1, 1},
                    {bufferArgument((i % 2 ? b : c)->contents()), bufferArgument(a->contents())})
          .barrier();
    recorder.end();
    ASSERT_FALSE(runAndWait(*queue_, recorder).error);
    for (uint64_t i = 0; i < kGroups; ++i)
      ASSERT_EQ(contents<uint32_t>(a)[i], 40u);
  }
  setToggle(Toggle::shuffle_threadgroups, false);
}

void noteOrder(void *const *arguments, KernelContext *, uint64_t begin, uint64_t end) {
  auto *counter = static_cast<uint32_t *>(arguments[0]);
  auto *out = static_cast<uint32_t *>(arguments[1]);
  for (uint64_t i = begin; i < end; ++i)
    out[i] = __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

// The adversarial executor really takes threadgroups out of order, and mixes dispatches.
TEST_F(CpuQueue, ShufflingReorders) {
  auto pipeline = pipelineOf({.range = noteOrder});
  constexpr uint64_t kGroups = 1000;
  auto counter = allocate(4), first = allocate(kGroups * 4), second = allocate(kGroups * 4);
  setToggle(Toggle::shuffle_threadgroups, true);
  Recorder recorder;
  recorder.begin(true)
      .dispatch(*pipeline, {kGroups, 1, 1}, {32, 1, 1},
                {bufferArgument(counter->contents()), bufferArgument(first->contents())})
      .dispatch(*pipeline, {kGroups, 1, 1}, {32, 1, 1},
                {bufferArgument(counter->contents()), bufferArgument(second->contents())})
      .end();
  ASSERT_FALSE(runAndWait(*queue_, recorder).error);
  setToggle(Toggle::shuffle_threadgroups, false);
  EXPECT_EQ(*contents<uint32_t>(counter), 2 * kGroups);
  int descents = 0, early = 0;
  for (uint64_t i = 1; i < kGroups; ++i) {
    descents += contents<uint32_t>(first)[i] < contents<uint32_t>(first)[i - 1];
    early += contents<uint32_t>(second)[i] < kGroups;
  }
  EXPECT_GT(descents, 300);
  EXPECT_GT(early, 300);
}

TEST_F(CpuQueue, NothingRunsBeforeItsTurnAndEmptyGridsDoNothing) {
  auto pipeline = pipelineOf({.range = addOne});
  auto memory = allocate(64);
  Recorder recorder;
  recorder.begin().dispatch(*pipeline, {0, 1, 1}, {32, 1, 1}, {bufferArgument(memory->contents())});
  recorder.end();
  EXPECT_FALSE(runAndWait(*queue_, recorder).error);
  EXPECT_EQ(contents<uint32_t>(memory)[0], 0u);
  Recorder empty;
  EXPECT_FALSE(runAndWait(*queue_, empty).error);
}

TEST_F(CpuQueue, IndirectCountsAreReadWhenTheyAreDue) {
  auto pipeline = pipelineOf({.range = addOne});
  auto memory = allocate(4096), counts = allocate(12), source = allocate(12);
  contents<uint32_t>(source)[0] = 7;
  contents<uint32_t>(source)[1] = contents<uint32_t>(source)[2] = 1;
  Recorder recorder;
  recorder.copy(*source, 0, *counts, 0, 12)
      .begin()
      .dispatch(*pipeline, {}, {32, 1, 1}, {bufferArgument(memory->contents())}, false,
                contents<uint32_t>(counts))
      .end();
  ASSERT_FALSE(runAndWait(*queue_, recorder).error);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(contents<uint32_t>(memory)[i], i < 7 ? 1u : 0u);
}

void showArguments(void *const *arguments, KernelContext *c, uint64_t, uint64_t) {
  auto *out = static_cast<uint64_t *>(arguments[0]);
  out[0] = reinterpret_cast<uint64_t>(arguments[1]); // Bytes.
  out[1] = reinterpret_cast<uint64_t>(arguments[2]); // Threadgroup offsets.
  out[2] = reinterpret_cast<uint64_t>(arguments[3]);
  out[3] = reinterpret_cast<uint64_t>(arguments[4]); // Unbound.
  out[4] = reinterpret_cast<uint64_t>(c->threadgroupMemory) % 128;
  out[5] = c->threadsPerGrid[0];
  out[6] = c->threadgroupsPerGrid[0];
  out[7] = c->simdgroupsPerThreadgroup;
}

TEST_F(CpuQueue, ArgumentsArriveByConvention) {
  auto pipeline = pipelineOf({.range = showArguments, .staticThreadgroupBytes = 20});
  auto memory = allocate(64);
  Recorder recorder;
  auto *bytes = static_cast<uint32_t *>(recorder.stream().allocateData(4));
  *bytes = 5;
  recorder.begin()
      .dispatch(*pipeline, {70, 1, 1}, {48, 1, 1},
                {bufferArgument(memory->contents()),
                 {device::ArgumentBinding::Kind::Bytes, 4, reinterpret_cast<uint64_t>(bytes)},
                 threadgroupArgument(30), threadgroupArgument(16),
                 {}},
                /*exactThreads=*/true)
      .end();
  ASSERT_FALSE(runAndWait(*queue_, recorder).error);
  auto *out = contents<uint64_t>(memory);
  EXPECT_EQ(out[0], reinterpret_cast<uint64_t>(bytes));
  EXPECT_EQ(out[1], 32u);
  EXPECT_EQ(out[2], 64u);
  EXPECT_EQ(out[3], 0u);
  EXPECT_EQ(out[4], 0u);
  EXPECT_EQ(out[5], 70u);
  EXPECT_EQ(out[6], 2u);
  EXPECT_EQ(out[7], 2u);
}

TEST_F(CpuQueue, CopiesAndFills) {
  constexpr uint64_t kLength = 3'000'000;
  auto a = allocate(kLength), b = allocate(kLength);
  for (uint64_t i = 0; i < kLength; ++i)
    contents<uint8_t>(a)[i] = uint8_t(i * 7 + i / 251);
  std::vector<uint8_t> before(contents<uint8_t>(a), contents<uint8_t>(a) + kLength);
  Recorder recorder;
  recorder.fill(*b, 0, kLength, 0xee)
      .copy(*a, 5, *b, 9, kLength - 100)
      .copy(*a, 0, *a, 1000, kLength - 1000); // Overlapping.
  ASSERT_FALSE(runAndWait(*queue_, recorder).error);
  for (uint64_t i = 0; i < kLength; ++i) {
    uint8_t wanted = i >= 9 && i < kLength - 91 ? before[i - 4] : 0xee;
    ASSERT_EQ(contents<uint8_t>(b)[i], wanted) << i;
    ASSERT_EQ(contents<uint8_t>(a)[i], i < 1000 ? before[i] : before[i - 1000]) << i;
  }
}

TEST_F(CpuQueue, EventsOrderQueues) {
  auto event = cpuDevice()->createEvent();
  auto pipeline = pipelineOf({.range = addOne});
  auto memory = allocate(64);
  auto other = cpuDevice()->createQueue();
  std::promise<uint32_t> seen;
  Recorder waits;
  waits.event(CommandKind::WaitEvent, *event, 2);
  queue_->submit(waits.take(), {},
                 [&](const Completion &) { seen.set_value(*contents<uint32_t>(memory)); });
  Recorder signals;
  signals.begin()
      .dispatch(*pipeline, {1, 1, 1}, {32, 1, 1}, {bufferArgument(memory->contents())})
      .end()
      .event(CommandKind::SignalEvent, *event, 2);
  other->submit(signals.take(), {}, [](const Completion &) {});
  EXPECT_EQ(seen.get_future().get(), 1u);
}

TEST_F(CpuQueue, CompletionsComeInOrder) {
  auto pipeline = pipelineOf({.range = addOne});
  auto memory = allocate(64);
  std::vector<int> order;
  std::promise<void> last;
  for (int i = 0; i < 100; ++i) {
    Recorder recorder;
    recorder.begin()
        .dispatch(*pipeline, {1, 1, 1}, {32, 1, 1}, {bufferArgument(memory->contents())})
        .end();
    queue_->submit(recorder.take(), [&order, i] { order.push_back(2 * i); },
                   [&, i](const Completion &) {
                     order.push_back(2 * i + 1);
                     if (i == 99)
                       last.set_value();
                   });
  }
  last.get_future().wait();
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(order[i], i);
}

void splitBarrier(void *const *, KernelContext *c) {
  if (c->simdgroupIndex == 0)
    c->runtime->barrier(c);
}

TEST_F(CpuQueue, BarrierMistakeNamesKernelEncoderAndBuffer) {
  auto pipeline = pipelineOf({.name = "splits", .simdgroup = splitBarrier, .barrier = true});
  auto good = pipelineOf({.range = addOne});
  auto memory = allocate(64);
  auto event = cpuDevice()->createEvent();
  Recorder recorder;
  recorder.stream().label = "frame 7";
  recorder.begin(false, "tail")
      .dispatch(*pipeline, {5, 1, 1}, {64, 1, 1}, {})
      .dispatch(*good, {1, 1, 1}, {32, 1, 1}, {bufferArgument(memory->contents())})
      .end()
      .event(CommandKind::SignalEvent, *event, 1);
  auto completion = runAndWait(*queue_, recorder);
  ASSERT_TRUE(completion.error);
  EXPECT_EQ(completion.error->kind(), ErrorKind::DeviceLost);
  for (const char *part : {"\"splits\"", "barrier", "\"tail\"", "\"frame 7\""})
    EXPECT_THAT(completion.error->describe(), HasSubstr(part));
  EXPECT_EQ(*contents<uint32_t>(memory), 0u); // What follows is left out,
  EXPECT_EQ(event->value(), 1u);              // but nobody waits for ever.
  Recorder next;
  next.begin().dispatch(*good, {1, 1, 1}, {32, 1, 1}, {bufferArgument(memory->contents())}).end();
  EXPECT_FALSE(runAndWait(*queue_, next).error);
  EXPECT_EQ(*contents<uint32_t>(memory), 1u);
}

#ifndef PEWTER_NO_FAULT_TESTS
void faultAtSome(void *const *arguments, KernelContext *, uint64_t begin, uint64_t end) {
  for (uint64_t i = begin; i < end; ++i) {
    for (volatile int spin = 0; spin < 2000; spin = spin + 1)
      ;
    if (i == 3000)
      *static_cast<volatile int *>(arguments[0]) = 1;
  }
}

TEST_F(CpuQueue, FaultOnAnyThreadEndsOnlyItsCommandBuffer) {
  auto pipeline = pipelineOf({.name = "strays", .range = faultAtSome});
  for (int round = 0; round < 10; ++round) {
    Recorder recorder;
    recorder.begin()
        .dispatch(*pipeline, {4000, 1, 1}, {32, 1, 1},
                  {bufferArgument(reinterpret_cast<void *>(16))})
        .end();
    auto completion = runAndWait(*queue_, recorder);
    ASSERT_TRUE(completion.error);
    EXPECT_THAT(completion.error->describe(), HasSubstr("\"strays\""));
    EXPECT_THAT(completion.error->describe(), HasSubstr("0x10"));
  }
  auto good = pipelineOf({.range = addOne});
  auto memory = allocate(4 * 100'000);
  Recorder next;
  next.begin()
      .dispatch(*good, {100'000, 1, 1}, {32, 1, 1}, {bufferArgument(memory->contents())})
      .end();
  EXPECT_FALSE(runAndWait(*queue_, next).error);
  EXPECT_EQ(contents<uint32_t>(memory)[99'999], 1u);
}
#endif

TEST_F(CpuQueue, TooLargeGridIsAnError) {
  auto pipeline = pipelineOf({.name = "huge", .range = addOne});
  Recorder recorder;
  recorder.begin().dispatch(*pipeline, {uint64_t(1) << 40, 1, 1}, {32, 1, 1}, {}).end();
  auto completion = runAndWait(*queue_, recorder);
  ASSERT_TRUE(completion.error);
  EXPECT_THAT(completion.error->message(), HasSubstr("1099511627776"));
}

void waitForRelease(void *const *arguments, KernelContext *, uint64_t, uint64_t) {
  auto *flag = static_cast<uint32_t *>(arguments[0]);
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0)
    std::this_thread::yield();
}

// A kernel that does not end holds up its own queue alone, even when it took every worker.
TEST_F(CpuQueue, EndlessKernelBlocksOnlyItsQueue) {
  auto endless = pipelineOf({.range = waitForRelease}), good = pipelineOf({.range = addOne});
  auto flag = allocate(64), memory = allocate(4 * 100'000);
  Recorder recorder;
  recorder.begin()
      .dispatch(*endless, {100, 1, 1}, {32, 1, 1}, {bufferArgument(flag->contents())})
      .end();
  std::promise<void> ended;
  queue_->submit(recorder.take(), {}, [&](const Completion &) { ended.set_value(); });
  auto end = ended.get_future();
  auto other = cpuDevice()->createQueue();
  for (uint32_t round = 1; round <= 20; ++round) {
    Recorder next;
    next.begin()
        .dispatch(*good, {100'000, 1, 1}, {32, 1, 1}, {bufferArgument(memory->contents())})
        .end();
    ASSERT_FALSE(runAndWait(*other, next).error);
    ASSERT_EQ(contents<uint32_t>(memory)[50'000], round);
  }
  EXPECT_EQ(end.wait_for(std::chrono::milliseconds(5)), std::future_status::timeout);
  __atomic_store_n(contents<uint32_t>(flag), 1, __ATOMIC_RELEASE);
  end.wait();
}

// The process may end while a kernel still runs.
TEST(CpuQueueDeathTest, ExitWhileAKernelNeverEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        auto endless = pipelineOf({.range = waitForRelease});
        auto flag = allocate(64);
        auto queue = cpuDevice()->createQueue();
        Recorder recorder;
        recorder.begin()
            .dispatch(*endless, {100, 1, 1}, {32, 1, 1}, {bufferArgument(flag->contents())})
            .end();
        queue->submit(recorder.take(), {}, [](const Completion &) {});
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        std::exit(7);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(CpuQueues, TwoQueuesFromTwoThreads) {
  auto pipeline = pipelineOf({.range = nextOf});
  constexpr uint64_t kGroups = 4096;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      auto queue = cpuDevice()->createQueue();
      auto a = allocate(kGroups * 4), b = allocate(kGroups * 4);
      for (int round = 0; round < 50; ++round) {
        Recorder recorder;
        recorder.begin();
        for (int i = 0; i < 4; ++i)
          recorder.dispatch(*pipeline, {kGroups, 1, 1}, {32, 1, 1},
                            {bufferArgument((i % 2 ? b : a)->contents()),
                             bufferArgument((i % 2 ? a : b)->contents())});
        recorder.end();
        wrong += runAndWait(*queue, recorder).error.has_value();
        for (uint64_t i = 0; i < kGroups; ++i)
          wrong += contents<uint32_t>(a)[i] != 4u * (round + 1);
      }
    });
  for (auto &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

} // namespace
} // namespace pewter::cpu
