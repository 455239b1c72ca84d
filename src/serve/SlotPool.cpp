// SPDX-License-Identifier: Apache-2.0
// Tested by tests/serve/Exactness.cpp.
#include "serve/SlotPool.h"
#include <algorithm>

namespace pewter::serve {

std::string_view nameOf(SlotState state) {
  switch (state) {
  case SlotState::Idle: return "idle";
  case SlotState::Prefill: return "prefill";
  case SlotState::Decode: return "decode";
  }
  return "unknown";
}

Result<std::unique_ptr<SlotPool>> SlotPool::create(const std::shared_ptr<muse::Engine> &engine, uint32_t slots,
                                                   uint32_t context, std::chrono::milliseconds patience) {
  if (slots < 1 || slots > muse::Sequence::kMaxTogether)
    return fail(ErrorKind::Validation, "The number of slots is [{}]; 1 to {} are expected.", slots,
                muse::Sequence::kMaxTogether);
  auto pool = std::unique_ptr<SlotPool>(new SlotPool);
  pool->patience_ = patience;
  pool->taken_.resize(slots);
  for (uint32_t id = 0; id < slots; ++id) {
    auto slot = std::make_unique<Slot>();
    slot->id = id;
    PEWTER_TRY(slot->sequence, muse::Sequence::create(engine, {.id = id, .maxContext = context}));
    pool->slots_.push_back(std::move(slot));
  }
  return pool;
}

Slot *SlotPool::pick(std::span<const uint32_t> prompt, std::optional<uint32_t> wanted) {
  Slot *best = nullptr;
  size_t most = 0;
  for (auto &slot : slots_) {
    if (taken_[slot->id] || (wanted && *wanted != slot->id))
      continue;
    const auto &known = slot->sequence->tokens();
    size_t same = static_cast<size_t>(
        std::ranges::mismatch(known, prompt).in1 - known.begin());
    if (!best || same > most || (same == most && known.size() < best->sequence->tokens().size())) {
      best = slot.get(); // of equals the one with the least to lose
      most = same;
    }
  }
  return best;
}

Answer<SlotPool::Lease> SlotPool::acquire(std::span<const uint32_t> prompt, std::optional<uint32_t> wanted,
                                          const std::function<bool()> &cancelled) {
  if (wanted && *wanted >= slots_.size())
    return refuse(400, "Slot [{}] does not exist; the server has {}.", *wanted, slots_.size());
  std::unique_lock lock(mutex_);
  auto deadline = std::chrono::steady_clock::now() + patience_;
  std::list<Waiter>::iterator self = waiters_.end();
  auto leave = [&] {
    if (self != waiters_.end())
      waiters_.erase(self);
    changed_.notify_all();
  };
  while (true) {
    if (unhealthy_) {
      leave();
      return refuse(503, "The server is unhealthy and has to be started again: {}", *unhealthy_);
    }
    // Somebody who came earlier goes first, unless they wait for another slot.
    bool mine = std::ranges::none_of(waiters_.begin(), self, [&](const Waiter &earlier) {
      return pick({}, earlier.wanted) && (!wanted || !earlier.wanted || *wanted == *earlier.wanted);
    });
    if (Slot *slot = mine ? pick(prompt, wanted) : nullptr) {
      taken_[slot->id] = true;
      leave();
      return Lease(this, slot);
    }
    if (self == waiters_.end()) {
      if (waiters_.size() >= kMostWaiters) {
        ++overloads_;
        return refuse(429, "All slots are busy and [{}] requests wait; no more can.", waiters_.size());
      }
      self = waiters_.insert(waiters_.end(), Waiter{wanted});
    }
    changed_.wait_until(lock, std::min(deadline, std::chrono::steady_clock::now() + std::chrono::milliseconds(50)));
    if (std::chrono::steady_clock::now() >= deadline && !pick({}, wanted)) {
      leave();
      ++overloads_;
      return refuse(429, "All slots stayed busy for [{}] ms.", patience_.count());
    }
    lock.unlock();
    bool gone = cancelled();
    lock.lock();
    if (gone) {
      leave();
      return refuse(499, "The client left while it waited for a slot.");
    }
  }
}

void SlotPool::release(Slot &slot) {
  slot.state = SlotState::Idle;
  std::lock_guard lock(mutex_);
  if (!taken_[slot.id] || std::uncaught_exceptions() > 0)
    unhealthy_ = unhealthy_.value_or(fmt::format("slot {} was given back in an unknown state.", slot.id));
  taken_[slot.id] = false;
  changed_.notify_all();
}

void SlotPool::becomeUnhealthy(std::string reason) {
  std::lock_guard lock(mutex_);
  unhealthy_ = unhealthy_.value_or(std::move(reason));
  changed_.notify_all();
}

std::optional<std::string> SlotPool::unhealthy() const {
  std::lock_guard lock(mutex_);
  return unhealthy_;
}

size_t SlotPool::waiters() const {
  std::lock_guard lock(mutex_);
  return waiters_.size();
}

} // namespace pewter::serve
