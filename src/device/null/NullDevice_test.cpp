// SPDX-License-Identifier: Apache-2.0
#include "device/null/NullDevice.h"
#include <cstring>
#include <future>
#include <gtest/gtest.h>

namespace pewter::device::null {
namespace {

std::shared_ptr<Device> device() { return connect().at(0); }

TEST(NullDevice, IsOne) { EXPECT_EQ(device(), device()); }

TEST(NullDevice, MemoryIsRealZeroedAndCounted) {
  uint64_t before = device()->currentAllocatedSize();
  auto memory = device()->allocate(1000, StorageMode::Private).value();
  EXPECT_EQ(device()->currentAllocatedSize(), before + 1000);
  auto *bytes = static_cast<unsigned char *>(memory->contents());
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(bytes[i], 0);
  std::memset(bytes, 1, 1000);
  memory.reset();
  EXPECT_EQ(device()->currentAllocatedSize(), before);
  EXPECT_EQ(device()->allocate(uint64_t(1) << 60, StorageMode::Shared).error().kind(),
            ErrorKind::OutOfMemory);
}

TEST(NullDevice, WrappedMemoryIsReleasedOnce) {
  char bytes[64];
  int released = 0;
  auto memory = device()->wrap(bytes, sizeof(bytes), [&] { ++released; }).value();
  EXPECT_EQ(memory->contents(), bytes);
  EXPECT_EQ(released, 0);
  memory.reset();
  EXPECT_EQ(released, 1);
}

// Streams complete in order, and events between queues hold them up.
TEST(NullDevice, EventsOrderQueues) {
  auto event = device()->createEvent();
  auto first = device()->createQueue(), second = device()->createQueue();
  auto waits = std::make_unique<CommandStream>();
  auto *wait = waits->append<EventCommand>(CommandKind::WaitEvent);
  wait->event = event.get();
  wait->value = 1;
  std::promise<uint64_t> seen;
  first->submit(std::move(waits), {}, [&](const Completion &c) {
    EXPECT_FALSE(c.error);
    EXPECT_LE(c.gpuStart, c.gpuEnd);
    seen.set_value(event->value());
  });
  auto signals = std::make_unique<CommandStream>();
  auto *signal = signals->append<EventCommand>(CommandKind::SignalEvent);
  signal->event = event.get();
  signal->value = 1;
  second->submit(std::move(signals), {}, [](const Completion &) {});
  EXPECT_EQ(seen.get_future().get(), 1u);
}

} // namespace
} // namespace pewter::device::null
