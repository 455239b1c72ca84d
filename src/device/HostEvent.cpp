// SPDX-License-Identifier: Apache-2.0
//
// Tested by HostEvent_test.cpp.
#include "device/HostEvent.h"
#include <chrono>

namespace pewter::device {

uint64_t HostEvent::value() const {
  std::lock_guard lock(mutex_);
  return value_;
}

void HostEvent::signal(uint64_t value) {
  std::vector<Listener> due;
  {
    std::lock_guard lock(mutex_);
    if (value <= value_)
      return;
    value_ = value;
    std::vector<Listener> later;
    for (Listener &listener : listeners_)
      (listener.value > value ? later : due).push_back(std::move(listener));
    listeners_ = std::move(later);
    reached_.notify_all();
  }
  for (Listener &listener : due)
    listener.then(value);
}

void HostEvent::notify(uint64_t value, std::function<void(uint64_t)> then) {
  uint64_t now;
  {
    std::lock_guard lock(mutex_);
    now = value_;
    if (now < value) {
      listeners_.push_back({value, std::move(then)});
      return;
    }
  }
  then(now);
}

bool HostEvent::wait(uint64_t value, uint64_t timeoutMs) {
  std::unique_lock lock(mutex_);
  auto isReached = [&] { return value_ >= value; };
  // Longer than a year is for ever; the sum below must not overflow.
  if (timeoutMs > uint64_t(365) * 24 * 3600 * 1000) {
    reached_.wait(lock, isReached);
    return true;
  }
  return reached_.wait_until(
      lock, std::chrono::steady_clock::now() + std::chrono::milliseconds(timeoutMs), isReached);
}

} // namespace pewter::device
