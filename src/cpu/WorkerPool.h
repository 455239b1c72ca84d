// SPDX-License-Identifier: Apache-2.0
//
// WorkerPool: the threads that help whoever plays a command stream. A player publishes a piece of
// shared work in its seat and takes part in it itself; workers that are free join, take what there
// is, and leave. Nothing ever waits for a worker that has not joined, so a worker that is busy
// elsewhere, not running, or caught in a kernel that never ends is only missed.
//
// The number of threads, the player's included, is that of the cores this process may use, or
// PEWTER_THREADS. Workers start at the first shared work and live as long as the process; they spin
// for a short while after work and then sleep.
//
// A player that has to wait long for a worker that joined takes it as a sign that the worker has lost
// its core to another process, and works alone for a while: longer each time, up to a bound.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

namespace pewter::cpu {

/// Work that several threads may take part in. `work` returns when nothing is left to take.
class SharedWork {
public:
  /// Participant 0 is the player; no two at a time have the same number.
  virtual void work(unsigned participant) = 0;

protected:
  ~SharedWork() = default;
};

class WorkerPool {
public:
  static constexpr unsigned kMaxThreads = 256;
  static constexpr unsigned kSeats = 16;

  /// The process's pool; never destroyed.
  static WorkerPool &instance();
  explicit WorkerPool(unsigned threads);
  ~WorkerPool() = delete;

  /// Threads that can work at once, the player's included.
  unsigned threads() const { return threads_; }

  class Seat;
  /// A seat for one player; null when all are taken. Give it back.
  Seat *take();
  void giveBack(Seat *seat);

  /// Runs `work` on this thread and on the workers that come; returns when all have left it.
  /// `ticks` is how long it would take alone (sleeping workers are woken only when that pays),
  /// `unitTicks` how long its pieces take (a worker is given so much time to finish its last one
  /// before this thread sleeps).
  void run(Seat &seat, SharedWork &work, uint64_t ticks, uint64_t unitTicks);
  /// Whether sharing is worth trying now.
  bool mayShare(const Seat &seat) const;

private:
  void startWorkers();
  static void workerMain(WorkerPool &pool);
  bool joinAny();

  const unsigned threads_;
  std::atomic<bool> started_{false};
  std::atomic<uint32_t> seatsTaken_{0}; ///< Bit set.
  alignas(64) std::atomic<uint32_t> epoch_{0};   ///< Rises with each published work; futex.
  alignas(64) std::atomic<uint32_t> sleepers_{0};
  std::unique_ptr<Seat[]> seats_;
};

} // namespace pewter::cpu
