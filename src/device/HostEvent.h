// SPDX-License-Identifier: Apache-2.0
//
// HostEvent: an Event whose counter lives on the host, for devices whose queues run there. Callbacks
// of notify() run on the thread that signals, after its lock is released. Any thread.
#pragma once
#include "device/Device.h"
#include <condition_variable>
#include <mutex>
#include <vector>

namespace pewter::device {

class HostEvent final : public Event {
public:
  uint64_t value() const override;
  void signal(uint64_t value) override;
  void notify(uint64_t value, std::function<void(uint64_t)> then) override;
  bool wait(uint64_t value, uint64_t timeoutMs) override;

private:
  struct Listener {
    uint64_t value;
    std::function<void(uint64_t)> then;
  };
  mutable std::mutex mutex_;
  std::condition_variable reached_;
  uint64_t value_ = 0;
  std::vector<Listener> listeners_;
};

} // namespace pewter::device
