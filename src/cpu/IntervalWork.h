// SPDX-License-Identifier: Apache-2.0
//
// IntervalWork: everything between two barriers as one list of units, each a run of consecutive
// threadgroups of one job. Each participant begins with a contiguous share of the list and goes
// through it in order, so that rows stream; one that has finished takes the second half of what
// another still has. With an order given, units are taken singly in that order by whoever comes
// (the adversarial executor).
//
// Reused from interval to interval; one interval at a time.
#pragma once
#include "cpu/KernelRunner.h"
#include "cpu/WorkerPool.h"
#include <mutex>
#include <span>

namespace pewter::cpu {

class IntervalWork final : public SharedWork {
public:
  /// Units of all jobs, by `groupsPerUnit`, counted from each job's `done`. `order` permutes them
  /// and may be empty. Participant 0 uses `runner`, workers have their own.
  void begin(std::span<const Job> jobs, uint32_t unitCount, unsigned participants,
             std::span<const uint32_t> order, KernelRunner &runner);
  void work(unsigned participant) override;
  /// What the first kernel that failed did, after the work is over.
  std::optional<std::string> takeFault();

private:
  struct alignas(64) Share {
    std::atomic<uint64_t> range{0}; ///< Next unit in the low half, end in the high half.
  };
  std::optional<uint32_t> takeOwn(Share &share);
  bool steal(unsigned thief);
  void runUnit(KernelRunner &runner, uint32_t unit, size_t &jobHint);

  std::span<const Job> jobs_;
  std::span<const uint32_t> order_;
  KernelRunner *runner_ = nullptr;
  unsigned participants_ = 0;
  std::atomic<uint32_t> nextOrdered_{0};
  std::atomic<bool> stop_{false};
  std::mutex faultMutex_;
  std::optional<std::string> fault_;
  std::unique_ptr<Share[]> shares_ = std::make_unique<Share[]>(WorkerPool::kMaxThreads);
};

} // namespace pewter::cpu
