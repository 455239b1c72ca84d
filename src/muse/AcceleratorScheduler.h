// SPDX-License-Identifier: Apache-2.0
//
// AcceleratorScheduler: who may record and commit next. One permit exists; it covers one token or one
// prefill chunk, from the first recorded command to the end of the wait. Waiting decodes go before
// prefills, and rotate: the smallest waiting id above the last one served, then from the smallest again.
// Prefill can starve under endless decode; that is the policy.
//
//   PEWTER_TRY(AcceleratorScheduler::Permit permit, scheduler.acquire(sequence, WorkKind::Decode));
//   ...record, commit, wait...
//   // the permit's destructor releases
//
// Thread safe.
#pragma once
#include "base/Error.h"
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace pewter::muse {

enum class WorkKind { Decode, Prefill };

class AcceleratorScheduler {
public:
  class Permit {
  public:
    Permit(Permit &&other) noexcept : scheduler_(std::exchange(other.scheduler_, nullptr)) {}
    Permit &operator=(Permit &&other) noexcept {
      std::swap(scheduler_, other.scheduler_);
      return *this;
    }
    ~Permit() {
      if (scheduler_)
        scheduler_->release();
    }

  private:
    friend class AcceleratorScheduler;
    explicit Permit(AcceleratorScheduler *scheduler) : scheduler_(scheduler) {}
    AcceleratorScheduler *scheduler_;
  };

  /// Waits until nothing runs and this caller is the chosen next.
  Result<Permit> acquire(uint32_t sequence, WorkKind kind);
  /// One permit for 1 to 4 distinct sequences that decode together.
  Result<Permit> acquireGroup(std::span<const uint32_t> sequences);
  bool hasWaitingDecode() const;

private:
  uint32_t selected() const; ///< Of the waiting decodes, of which there is at least one.
  void release();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool active_ = false;
  std::set<uint32_t> waitingDecodes_;
  std::optional<uint32_t> lastServed_;
};

} // namespace pewter::muse
