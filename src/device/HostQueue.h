// SPDX-License-Identifier: Apache-2.0
//
// HostQueue: a Queue whose streams are played by host threads: the queue's own, started at the first
// submission, or a caller that lends its thread through help(). One stream is played at a time, in
// submission order. Used by the CPU and the null device.
//
// Destroying the queue returns at once: what was submitted is still played and completed by the
// queue's thread, which owns what it needs. A stream that never ends blocks only its own queue.
//
// Waking a thread costs more than a small stream, and a caller that commits usually waits next. So
// a queue whose last streams were all taken by helpers does not wake its thread at submit; the
// thread, which naps while the queue is in use, takes what nobody claimed within kNap. As soon as
// that happens, submissions wake it again, until helpers have shown for a while that they come.
#pragma once
#include "device/Device.h"

namespace pewter::device {

/// Plays one stream from beginning to end; called by one thread at a time for each queue.
class StreamPlayer {
public:
  virtual ~StreamPlayer() = default;
  /// Fills the GPU times and the error.
  virtual void play(const CommandStream &stream, Completion &completion) = 0;
};

class HostQueue final : public Queue {
public:
  explicit HostQueue(std::shared_ptr<StreamPlayer> player);
  ~HostQueue() override;
  void submit(std::unique_ptr<CommandStream> stream, std::function<void()> scheduled,
              std::function<void(const Completion &)> completed) override;
  void help(const std::function<bool()> &done) override;

private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Seconds on the host's monotonic clock.
double hostSeconds();

} // namespace pewter::device
