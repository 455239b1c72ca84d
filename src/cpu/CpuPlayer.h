// SPDX-License-Identifier: Apache-2.0
//
// CpuPlayer: plays command streams. It cuts a stream into intervals (a serial encoder's dispatches
// one by one; a concurrent encoder's between barriers), makes jobs of their commands, and runs each
// interval on this thread alone or, when it is worth it, together with the worker pool. One player a
// queue; one stream at a time.
#pragma once
#include "cpu/CpuPipeline.h"
#include "cpu/IntervalWork.h"
#include "device/HostQueue.h"
#include <random>

namespace pewter::cpu {

class CpuPlayer final : public device::StreamPlayer {
public:
  explicit CpuPlayer(WorkerPool &pool = WorkerPool::instance());
  void play(const device::CommandStream &stream, device::Completion &completion) override;

private:
  Result<void> addDispatch(const device::DispatchCommand &command);
  void addBlit(const device::Command &command);
  Result<void> flush();
  std::optional<std::string> runAlone();
  std::optional<std::string> runShared(double ticks);
  std::optional<std::string> runShuffled();
  Error describe(Error error, const device::CommandStream &stream) const;

  WorkerPool &pool_;
  WorkerPool::Seat *seat_ = nullptr;     ///< While a stream is played; null when none was free.
  std::unique_ptr<KernelRunner> runner_; ///< While a stream is played.
  IntervalWork work_;
  std::vector<Job> jobs_;                ///< The interval that is being gathered.
  std::vector<void *> arguments_;        ///< Of its dispatches, one after the other.
  std::vector<uint32_t> order_;
  std::minstd_rand random_{std::random_device{}()};
  const char *encoderLabel_ = "";
  const device::LogSink *log_ = nullptr; ///< Of the stream that plays.
  bool concurrent_ = false;
  bool shuffles_ = false;
};

} // namespace pewter::cpu
