// SPDX-License-Identifier: Apache-2.0
//
// SlotPool: 1 to 4 sequences that serve requests, and the queue of those who wait for one: at most 64,
// in the order in which they came, each until its deadline. A request takes the free slot whose cache
// begins with the most of its prompt.
//
//   PEWTER_TRY(auto lease, pool.acquire(ids, {}, cancelled));
//   lease->sequence ...   // the lease gives the slot back
//
// Once something has gone wrong that a new request could run into as well (a device that fails, a cache
// that cannot be trusted), the pool is unhealthy until the program is started again: every acquire is
// refused with 503.
//
// Thread safe.
#pragma once
#include "muse/Sequence.h"
#include "serve/Refusal.h"
#include <condition_variable>
#include <list>

namespace pewter::serve {

enum class SlotState { Idle, Prefill, Decode };
std::string_view nameOf(SlotState state);

struct Slot {
  uint32_t id = 0;
  std::unique_ptr<muse::Sequence> sequence;
  uint32_t exactRows = 0; ///< Leading rows that a fresh prefill of the same tokens would give bit for bit.
  // What others may look at while a request runs.
  std::atomic<SlotState> state = SlotState::Idle;
  std::atomic<uint32_t> promptTokens = 0, promptDone = 0, decoded = 0, position = 0;
  std::atomic<uint64_t> request = 0;
  std::atomic<double> tokensPerSecond = 0;
};

class SlotPool {
public:
  static constexpr size_t kMostWaiters = 64;

  static Result<std::unique_ptr<SlotPool>> create(const std::shared_ptr<muse::Engine> &engine, uint32_t slots,
                                                  uint32_t context, std::chrono::milliseconds patience);

  class Lease {
  public:
    Lease(SlotPool *pool, Slot *slot) : pool_(pool), slot_(slot) {}
    Lease(Lease &&other) noexcept : pool_(std::exchange(other.pool_, nullptr)), slot_(other.slot_) {}
    Lease &operator=(Lease &&) = delete;
    ~Lease() {
      if (pool_)
        pool_->release(*slot_);
    }
    Slot &operator*() const { return *slot_; }
    Slot *operator->() const { return slot_; }

  private:
    SlotPool *pool_;
    Slot *slot_;
  };

  /// A free slot, or slot `wanted`. `cancelled` is asked while waiting.
  Answer<Lease> acquire(std::span<const uint32_t> prompt, std::optional<uint32_t> wanted,
                        const std::function<bool()> &cancelled);
  void becomeUnhealthy(std::string reason);
  std::optional<std::string> unhealthy() const;
  size_t waiters() const;
  uint64_t overloads() const { return overloads_; }
  const std::vector<std::unique_ptr<Slot>> &slots() const { return slots_; }

private:
  SlotPool() = default;
  void release(Slot &slot);
  Slot *pick(std::span<const uint32_t> prompt, std::optional<uint32_t> wanted);

  struct Waiter {
    std::optional<uint32_t> wanted;
  };
  std::vector<std::unique_ptr<Slot>> slots_;
  std::chrono::milliseconds patience_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> taken_;
  std::list<Waiter> waiters_;
  std::optional<std::string> unhealthy_;
  std::atomic<uint64_t> overloads_ = 0;
};

} // namespace pewter::serve
