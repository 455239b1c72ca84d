// SPDX-License-Identifier: Apache-2.0
#include "device/HostEvent.h"
#include <gtest/gtest.h>
#include <thread>

namespace pewter::device {
namespace {

TEST(HostEvent, ValuesNeverGoDown) {
  HostEvent event;
  event.signal(5);
  event.signal(3);
  EXPECT_EQ(event.value(), 5u);
  EXPECT_TRUE(event.wait(5, 0));
  EXPECT_FALSE(event.wait(6, 1));
}

TEST(HostEvent, CallsListenersOnceWhenReached) {
  HostEvent event;
  std::vector<uint64_t> calls;
  event.notify(2, [&](uint64_t value) { calls.push_back(value); });
  event.notify(0, [&](uint64_t value) { calls.push_back(100 + value); });
  EXPECT_EQ(calls, (std::vector<uint64_t>{100}));
  event.signal(1);
  EXPECT_EQ(calls.size(), 1u);
  event.signal(7);
  event.signal(8);
  EXPECT_EQ(calls, (std::vector<uint64_t>{100, 7}));
}

// A listener may use the event that calls it.
TEST(HostEvent, ListenerMaySignal) {
  HostEvent event;
  event.notify(1, [&](uint64_t) { event.signal(2); });
  event.signal(1);
  EXPECT_EQ(event.value(), 2u);
}

TEST(HostEvent, WaitsAcrossThreads) {
  HostEvent event;
  std::thread other([&] { event.signal(1); });
  EXPECT_TRUE(event.wait(1, ~uint64_t(0)));
  other.join();
}

} // namespace
} // namespace pewter::device
