// SPDX-License-Identifier: Apache-2.0
#include "muse/AcceleratorScheduler.h"
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

namespace pewter::muse {
namespace {

using namespace std::chrono_literals;

/// Starts waiters in threads and records the order in which they are served.
class Waiters {
public:
  explicit Waiters(AcceleratorScheduler &scheduler) : scheduler_(scheduler) {}
  ~Waiters() { join(); }
  void start(uint32_t id, WorkKind kind) {
    threads_.emplace_back([this, id, kind] {
      auto permit = scheduler_.acquire(id, kind);
      std::lock_guard lock(mutex_);
      order_.push_back(kind == WorkKind::Prefill ? 100 + id : id);
    });
    std::this_thread::sleep_for(20ms); // let it reach its wait
  }
  void join() {
    for (auto &thread : threads_)
      if (thread.joinable())
        thread.join();
  }
  std::vector<uint32_t> order() {
    join();
    return order_;
  }

private:
  AcceleratorScheduler &scheduler_;
  std::mutex mutex_;
  std::vector<uint32_t> order_;
  std::vector<std::thread> threads_;
};

// A22, A24: decodes rotate in ascending cyclic order after the last served.
TEST(AcceleratorScheduler, DecodesRotate) {
  AcceleratorScheduler scheduler;
  { auto first = scheduler.acquire(1, WorkKind::Decode).value(); } // last served: 1
  Waiters waiters(scheduler);
  {
    auto busy = scheduler.acquire(9, WorkKind::Prefill).value();
    for (uint32_t id : {0u, 1u, 2u})
      waiters.start(id, WorkKind::Decode);
  }
  EXPECT_EQ(waiters.order(), (std::vector<uint32_t>{2, 0, 1}));
}

// A23: a prefill that waited first still lets a decode pass.
TEST(AcceleratorScheduler, DecodeBeforePrefill) {
  AcceleratorScheduler scheduler;
  Waiters waiters(scheduler);
  {
    auto busy = scheduler.acquire(9, WorkKind::Prefill).value();
    waiters.start(5, WorkKind::Prefill);
    waiters.start(3, WorkKind::Decode);
  }
  EXPECT_EQ(waiters.order(), (std::vector<uint32_t>{3, 105}));
}

TEST(AcceleratorScheduler, GroupsAreChecked) {
  AcceleratorScheduler scheduler;
  EXPECT_FALSE(scheduler.acquireGroup({}));
  const uint32_t five[] = {1, 2, 3, 4, 5}, twice[] = {1, 2, 1}, good[] = {3, 1};
  EXPECT_FALSE(scheduler.acquireGroup(five));
  EXPECT_FALSE(scheduler.acquireGroup(twice));
  EXPECT_FALSE(scheduler.hasWaitingDecode()) << "a failed group leaves nobody waiting";
  EXPECT_TRUE(scheduler.acquireGroup(good));
}

TEST(AcceleratorScheduler, ASequenceWaitsOnlyOnce) {
  AcceleratorScheduler scheduler;
  Waiters waiters(scheduler);
  auto busy = std::make_optional(scheduler.acquire(9, WorkKind::Prefill).value());
  waiters.start(4, WorkKind::Decode);
  EXPECT_TRUE(scheduler.hasWaitingDecode());
  EXPECT_FALSE(scheduler.acquire(4, WorkKind::Decode));
  busy.reset();
  EXPECT_EQ(waiters.order(), std::vector<uint32_t>{4});
}

// A25: never two at once.
TEST(AcceleratorScheduler, OnePermitAtATime) {
  AcceleratorScheduler scheduler;
  std::atomic<int> inside = 0, most = 0;
  std::vector<std::thread> threads;
  for (uint32_t id = 0; id < 4; ++id)
    threads.emplace_back([&, id] {
      for (int i = 0; i < 200; ++i) {
        auto permit = scheduler.acquire(id, i % 5 ? WorkKind::Decode : WorkKind::Prefill);
        most = std::max(most.load(), ++inside);
        --inside;
      }
    });
  for (auto &thread : threads)
    thread.join();
  EXPECT_EQ(most, 1);
}

} // namespace
} // namespace pewter::muse
