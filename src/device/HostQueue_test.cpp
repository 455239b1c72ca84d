// SPDX-License-Identifier: Apache-2.0
#include "device/HostQueue.h"
#include <atomic>
#include <future>
#include <gtest/gtest.h>
#include <thread>

namespace pewter::device {
namespace {

/// Plays by calling a function with the stream's label.
class CallingPlayer final : public StreamPlayer {
public:
  std::function<void(const std::string &)> call = [](const std::string &) {};
  void play(const CommandStream &stream, Completion &) override { call(stream.label); }
};

std::unique_ptr<CommandStream> labelled(const std::string &label) {
  auto stream = std::make_unique<CommandStream>();
  stream->label = label;
  return stream;
}

TEST(HostQueue, PlaysInOrderFromItsOwnThread) {
  auto player = std::make_shared<CallingPlayer>();
  std::string order;
  player->call = [&](const std::string &label) { order += label; };
  std::promise<void> last;
  {
    HostQueue queue(player);
    for (char c = 'a'; c <= 'z'; ++c)
      queue.submit(labelled(std::string(1, c)), [&] { order += '('; },
                   [&, c](const Completion &) {
                     order += ')';
                     if (c == 'z')
                       last.set_value();
                   });
  } // The queue goes away; its streams do not.
  last.get_future().wait();
  std::string expected;
  for (char c = 'a'; c <= 'z'; ++c)
    expected += std::string("(") + c + ")";
  EXPECT_EQ(order, expected);
}

TEST(HostQueue, HelperPlaysOnItsThread) {
  auto player = std::make_shared<CallingPlayer>();
  std::atomic<int> here{0}, total{0};
  auto self = std::this_thread::get_id();
  player->call = [&](const std::string &) {
    ++total;
    here += std::this_thread::get_id() == self;
  };
  HostQueue queue(player);
  for (int i = 0; i < 200; ++i) {
    std::atomic<bool> done{false};
    queue.submit(labelled("x"), {}, [&](const Completion &) { done = true; });
    queue.help([&] { return done.load(); });
    while (!done)
      std::this_thread::yield();
  }
  EXPECT_EQ(total, 200);
  EXPECT_GT(here, 0);
}

// After helpers have come for a while, a stream that nobody waits for is still played.
TEST(HostQueue, PlaysWhatNoHelperTakes) {
  auto player = std::make_shared<CallingPlayer>();
  HostQueue queue(player);
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 10; ++i) {
      std::atomic<bool> done{false};
      queue.submit(labelled("x"), {}, [&](const Completion &) { done = true; });
      queue.help([&] { return done.load(); });
      while (!done)
        std::this_thread::yield();
    }
    std::promise<void> alone;
    queue.submit(labelled("y"), {}, [&](const Completion &) { alone.set_value(); });
    ASSERT_EQ(alone.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  }
}

// A helper that leaves when its own stream is done does not strand the later ones.
TEST(HostQueue, LeftOverStreamsAreNotStranded) {
  auto player = std::make_shared<CallingPlayer>();
  HostQueue queue(player);
  for (int round = 0; round < 100; ++round) {
    std::atomic<bool> first{false};
    std::promise<void> second;
    queue.submit(labelled("1"), {}, [&](const Completion &) { first = true; });
    queue.submit(labelled("2"), {}, [&](const Completion &) { second.set_value(); });
    queue.help([&] { return first.load(); });
    ASSERT_EQ(second.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
    while (!first)
      std::this_thread::yield();
  }
}

TEST(HostQueue, StuckStreamBlocksOnlyItsQueue) {
  struct Gate {
    std::promise<void> open;
    std::shared_future<void> opened = open.get_future().share();
  };
  auto gate = std::make_shared<Gate>();
  auto stuckPlayer = std::make_shared<CallingPlayer>();
  stuckPlayer->call = [gate](const std::string &) { gate->opened.wait(); };
  HostQueue stuck(stuckPlayer), other(std::make_shared<CallingPlayer>());
  std::promise<void> stuckDone, otherDone;
  stuck.submit(labelled("stuck"), {}, [&](const Completion &) { stuckDone.set_value(); });
  other.submit(labelled("other"), {}, [&](const Completion &) { otherDone.set_value(); });
  otherDone.get_future().wait();
  auto waiting = stuckDone.get_future();
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  gate->open.set_value();
  waiting.wait();
}

TEST(HostQueue, ObjectsOfAStreamAreReleasedBeforeCompletion) {
  HostQueue queue(std::make_shared<CallingPlayer>());
  auto object = std::make_shared<int>(1);
  auto stream = labelled("keeps");
  stream->keep(object);
  std::promise<long> uses;
  queue.submit(std::move(stream), {},
               [&](const Completion &) { uses.set_value(object.use_count()); });
  EXPECT_EQ(uses.get_future().get(), 1);
}

} // namespace
} // namespace pewter::device
