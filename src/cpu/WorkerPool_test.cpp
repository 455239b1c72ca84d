// SPDX-License-Identifier: Apache-2.0
#include "cpu/WorkerPool.h"
#include <chrono>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace pewter::cpu {
namespace {

/// Hands out numbers; each must be taken once.
class Counting final : public SharedWork {
public:
  explicit Counting(uint32_t count) : taken(count) {}
  void work(unsigned participant) override {
    ++visits;
    for (uint32_t i; (i = next.fetch_add(1)) < taken.size();)
      taken[i].fetch_add(1);
  }
  std::atomic<uint32_t> next{0}, visits{0};
  std::vector<std::atomic<int>> taken;
};

// A pool lives for ever; the tests share one.
WorkerPool &pool() {
  static WorkerPool &pool = *new WorkerPool(4);
  return pool;
}

TEST(WorkerPool, TakesEverythingOnce) {
  auto *seat = pool().take();
  ASSERT_NE(seat, nullptr);
  for (int round = 0; round < 2000; ++round) {
    Counting work(50);
    pool().run(*seat, work, ~uint64_t(0), 0);
    for (auto &taken : work.taken)
      ASSERT_EQ(taken.load(), 1);
    ASSERT_LE(work.visits.load(), 4u);
  }
  pool().giveBack(seat);
}

TEST(WorkerPool, ServesSeveralPlayers) {
  std::vector<std::thread> players;
  std::atomic<int> wrong{0};
  for (int p = 0; p < 3; ++p)
    players.emplace_back([&] {
      auto *seat = pool().take();
      for (int round = 0; round < 500; ++round) {
        Counting work(30);
        pool().run(*seat, work, round % 2 ? ~uint64_t(0) : 0, 0);
        for (auto &taken : work.taken)
          wrong += taken.load() != 1;
      }
      pool().giveBack(seat);
    });
  for (auto &player : players)
    player.join();
  EXPECT_EQ(wrong, 0);
}

TEST(WorkerPool, SeatsRunOut) {
  std::vector<WorkerPool::Seat *> seats;
  while (auto *seat = pool().take())
    seats.push_back(seat);
  EXPECT_EQ(seats.size(), size_t(WorkerPool::kSeats));
  pool().giveBack(seats.back());
  EXPECT_EQ(pool().take(), seats.back());
  for (auto *seat : seats)
    pool().giveBack(seat);
  pool().giveBack(nullptr);
}

/// A worker that comes is caught until it is let go.
class Catching final : public SharedWork {
public:
  void work(unsigned participant) override {
    if (participant == 0)
      return;
    ++caught;
    while (!letGo)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::atomic<int> caught{0};
  std::atomic<bool> letGo{false};
};

// Workers caught in one player's work are only missed by another.
TEST(WorkerPool, CaughtWorkersStopNobodyElse) {
  Catching catching;
  std::thread stuck([&] {
    auto *seat = pool().take();
    while (catching.caught == 0 && !catching.letGo)
      pool().run(*seat, catching, ~uint64_t(0), 0);
    pool().giveBack(seat);
  });
  auto *seat = pool().take();
  for (int round = 0; round < 100; ++round) {
    Counting work(100);
    pool().run(*seat, work, ~uint64_t(0), 0);
    for (auto &taken : work.taken)
      ASSERT_EQ(taken.load(), 1);
  }
  pool().giveBack(seat);
  catching.letGo = true;
  stuck.join();
}

// After a worker kept its player waiting, the player works alone for a while.
TEST(WorkerPool, StallsMakeAPlayerWorkAlone) {
  class Slow final : public SharedWork {
  public:
    void work(unsigned participant) override {
      if (participant == 0) {
        while (came == 0 && ++looks < 100'000)
          std::this_thread::yield();
        return;
      }
      ++came;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::atomic<int> came{0};
    int looks = 0;
  } slow;
  static WorkerPool &own = *new WorkerPool(3); // No other test has stalled here.
  auto *seat = own.take();
  EXPECT_TRUE(own.mayShare(*seat));
  own.run(*seat, slow, ~uint64_t(0), 0);
  ASSERT_GT(slow.came, 0);
  EXPECT_FALSE(own.mayShare(*seat));
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_TRUE(own.mayShare(*seat));
  own.giveBack(seat);
}

} // namespace
} // namespace pewter::cpu
