// SPDX-License-Identifier: Apache-2.0
//
// Tested by CpuQueue_test.cpp.
#include "cpu/IntervalWork.h"
#include <algorithm>

namespace pewter::cpu {
namespace {

constexpr uint64_t packRange(uint32_t next, uint32_t end) { return uint64_t(end) << 32 | next; }

} // namespace

void IntervalWork::begin(std::span<const Job> jobs, uint32_t unitCount, unsigned participants,
                         std::span<const uint32_t> order, KernelRunner &runner) {
  jobs_ = jobs;
  runner_ = &runner;
  order_ = order;
  participants_ = std::clamp(participants, 1u, WorkerPool::kMaxThreads);
  nextOrdered_.store(0, std::memory_order_relaxed);
  stop_.store(false, std::memory_order_relaxed);
  for (unsigned i = 0; i < participants_; ++i) {
    auto first = static_cast<uint32_t>(uint64_t(unitCount) * i / participants_);
    auto last = static_cast<uint32_t>(uint64_t(unitCount) * (i + 1) / participants_);
    shares_[i].range.store(packRange(first, last), std::memory_order_relaxed);
  }
}

std::optional<uint32_t> IntervalWork::takeOwn(Share &share) {
  uint64_t range = share.range.load(std::memory_order_relaxed);
  while (true) {
    auto next = static_cast<uint32_t>(range), end = static_cast<uint32_t>(range >> 32);
    if (next >= end)
      return std::nullopt;
    if (share.range.compare_exchange_weak(range, packRange(next + 1, end),
                                          std::memory_order_relaxed))
      return next;
  }
}

bool IntervalWork::steal(unsigned thief) {
  for (unsigned i = 1; i < participants_; ++i) {
    Share &victim = shares_[(thief + i) % participants_];
    uint64_t range = victim.range.load(std::memory_order_relaxed);
    while (true) {
      auto next = static_cast<uint32_t>(range), end = static_cast<uint32_t>(range >> 32);
      if (next >= end)
        break;
      uint32_t middle = end - (end - next + 1) / 2;
      if (victim.range.compare_exchange_weak(range, packRange(next, middle),
                                             std::memory_order_relaxed)) {
        shares_[thief].range.store(packRange(middle, end), std::memory_order_relaxed);
        return true;
      }
    }
  }
  return false;
}

void IntervalWork::runUnit(KernelRunner &runner, uint32_t unit, size_t &jobHint) {
  if (unit < jobs_[jobHint].firstUnit)
    jobHint = 0;
  while (unit >= jobs_[jobHint].firstUnit + jobs_[jobHint].unitCount)
    ++jobHint;
  const Job &job = jobs_[jobHint];
  uint64_t begin = job.done + (unit - job.firstUnit) * job.groupsPerUnit;
  uint64_t end = std::min(job.groups, begin + job.groupsPerUnit);
  if (auto fault = runner.run(job, begin, end)) {
    std::lock_guard lock(faultMutex_);
    if (!fault_)
      fault_ = std::move(fault);
    stop_.store(true, std::memory_order_relaxed);
  }
}

void IntervalWork::work(unsigned participant) {
  // Workers live as long as the process, and so do their runners.
  static thread_local KernelRunner *workerRunner = nullptr;
  if (participant != 0 && !workerRunner)
    workerRunner = KernelRunner::obtain().release();
  KernelRunner &runner = participant == 0 ? *runner_ : *workerRunner;
  size_t jobHint = 0;
  if (!order_.empty()) {
    while (!stop_.load(std::memory_order_relaxed)) {
      uint32_t at = nextOrdered_.fetch_add(1, std::memory_order_relaxed);
      if (at >= order_.size())
        break;
      runUnit(runner, order_[at], jobHint);
    }
  } else if (participant < participants_) {
    Share &own = shares_[participant];
    while (!stop_.load(std::memory_order_relaxed)) {
      if (auto unit = takeOwn(own))
        runUnit(runner, *unit, jobHint);
      else if (!steal(participant))
        break;
    }
  }
}

std::optional<std::string> IntervalWork::takeFault() {
  std::lock_guard lock(faultMutex_);
  auto fault = std::move(fault_);
  fault_.reset();
  return fault;
}

} // namespace pewter::cpu
