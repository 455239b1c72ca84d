// SPDX-License-Identifier: Apache-2.0
//
// A seat's state is one word: open or closed, how many workers are in, and how many tickets were
// given since it opened. A worker joins by a compare-and-swap that finds the seat open; the player
// closes it and then waits until nobody is in. So a worker can never look at work that is over.
//
// Tested by WorkerPool_test.cpp.
#include "cpu/WorkerPool.h"
#include "base/Check.h"
#include "base/Toggles.h"
#include "cpu/Ticks.h"
#include "device/Spin.h"
#include <algorithm>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdio>
#include <linux/futex.h>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace pewter::cpu {
using device::spinPause;
namespace {

constexpr uint32_t kOpen = 1u << 31;
constexpr uint32_t kPlayerSleeps = 1u << 30;
constexpr uint32_t kInShift = 12; ///< Bits 12 to 23: workers in. Bits 0 to 11: tickets given.
constexpr uint32_t kOneIn = 1u << kInShift;
constexpr uint32_t kInMask = 0xfffu << kInShift;
constexpr uint32_t kTicketMask = kOneIn - 1;

constexpr uint64_t kWorkerSpinTicks = ticksOf(40'000);
constexpr uint64_t kMinPlayerSpinTicks = ticksOf(8'000);
constexpr uint64_t kMaxPlayerSpinTicks = ticksOf(100'000);
/// Shared work that takes less than this alone is not worth a system call.
constexpr uint64_t kWakeTicks = ticksOf(25'000);
constexpr uint64_t kStallTicks = ticksOf(250'000);
constexpr uint64_t kFirstPenaltyTicks = ticksOf(4'000'000);
constexpr uint64_t kLastPenaltyTicks = ticksOf(250'000'000);

void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void futexWake(std::atomic<uint32_t> &word, int count) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

unsigned threadsOfThisProcess() {
  if (auto text = environment("PEWTER_THREADS"); text && !text->empty()) {
    unsigned threads = 0;
    auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), threads);
    if (error == std::errc() && end == text->data() + text->size() && threads >= 1 &&
        threads <= WorkerPool::kMaxThreads)
      return threads;
    std::fprintf(stderr,
                 "pewter: PEWTER_THREADS is \"%s\"; expected a number from 1 to %u. It is "
                 "ignored.\n",
                 text->c_str(), WorkerPool::kMaxThreads);
  }
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof(cores), &cores) == 0)
    return std::clamp<unsigned>(CPU_COUNT(&cores), 1, WorkerPool::kMaxThreads);
  return std::clamp(std::thread::hardware_concurrency(), 1u, WorkerPool::kMaxThreads);
}

} // namespace

class alignas(64) WorkerPool::Seat {
public:
  std::atomic<uint32_t> state{0};
  SharedWork *work = nullptr; ///< Written while closed and empty.
  // The player's own.
  alignas(64) uint64_t aloneUntil = 0;
  uint64_t penalty = kFirstPenaltyTicks;
  uint32_t goodRuns = 0;
};

WorkerPool &WorkerPool::instance() {
  static WorkerPool &pool = *new WorkerPool(threadsOfThisProcess());
  return pool;
}

WorkerPool::WorkerPool(unsigned threads)
    : threads_(threads), seats_(std::make_unique<Seat[]>(kSeats)) {}

WorkerPool::Seat *WorkerPool::take() {
  uint32_t taken = seatsTaken_.load(std::memory_order_relaxed);
  while (taken != (1u << kSeats) - 1) {
    uint32_t index = static_cast<uint32_t>(__builtin_ctz(~taken));
    if (seatsTaken_.compare_exchange_weak(taken, taken | 1u << index, std::memory_order_acquire))
      return &seats_[index];
  }
  return nullptr;
}

void WorkerPool::giveBack(Seat *seat) {
  if (seat)
    seatsTaken_.fetch_and(~(1u << (seat - seats_.get())), std::memory_order_release);
}

bool WorkerPool::mayShare(const Seat &seat) const {
  return threads_ > 1 && (seat.aloneUntil == 0 || readTicks() >= seat.aloneUntil);
}

void WorkerPool::startWorkers() {
  static auto &mutex = *new std::mutex;
  std::lock_guard lock(mutex);
  if (started_.load(std::memory_order_relaxed))
    return;
  // Signals meant for the program do not belong on these threads; faults of their own do.
  sigset_t all, before;
  ::sigfillset(&all);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT})
    ::sigdelset(&all, signal);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  for (unsigned i = 1; i < threads_; ++i)
    std::thread([this] { workerMain(*this); }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  started_.store(true, std::memory_order_release);
}

void WorkerPool::run(Seat &seat, SharedWork &work, uint64_t ticks, uint64_t unitTicks) {
  if (!started_.load(std::memory_order_acquire)) [[unlikely]]
    startWorkers();
  seat.work = &work;
  seat.state.store(kOpen, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (ticks >= kWakeTicks && sleepers_.load(std::memory_order_seq_cst) != 0)
    futexWake(epoch_, INT_MAX);
  work.work(0);
  uint32_t state = seat.state.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  if ((state & kInMask) == 0)
    return;
  uint64_t start = readTicks();
  uint64_t spin = std::clamp(2 * unitTicks, kMinPlayerSpinTicks, kMaxPlayerSpinTicks);
  bool sleepy = false;
  while ((state & kInMask) != 0) {
    for (int i = 0; i < 32 && (state & kInMask) != 0; ++i) {
      spinPause();
      state = seat.state.load(std::memory_order_acquire);
    }
    if ((state & kInMask) == 0)
      break;
    // The worker is long in coming: give it this core.
    if (sleepy || readTicks() - start > spin) {
      sleepy = true;
      state = seat.state.fetch_or(kPlayerSleeps, std::memory_order_acq_rel) | kPlayerSleeps;
      if ((state & kInMask) != 0)
        futexWait(seat.state, state);
      state = seat.state.fetch_and(~kPlayerSleeps, std::memory_order_acq_rel) & ~kPlayerSleeps;
    }
  }
  uint64_t waited = readTicks() - start;
  if (waited > kStallTicks && waited > 4 * unitTicks) {
    seat.aloneUntil = readTicks() + seat.penalty;
    seat.penalty = std::min(seat.penalty * 2, kLastPenaltyTicks);
    seat.goodRuns = 0;
  } else if (++seat.goodRuns == 64) {
    seat.goodRuns = 0;
    seat.penalty = std::max(seat.penalty / 2, kFirstPenaltyTicks);
  }
}

bool WorkerPool::joinAny() {
  bool any = false;
  for (unsigned i = 0; i < kSeats; ++i) {
    Seat &seat = seats_[i];
    uint32_t state = seat.state.load(std::memory_order_acquire);
    while ((state & kOpen) != 0 && (state & kTicketMask) + 1 < threads_) {
      if (!seat.state.compare_exchange_weak(state, state + kOneIn + 1, std::memory_order_acq_rel))
        continue;
      seat.work->work((state & kTicketMask) + 1);
      uint32_t before = seat.state.fetch_sub(kOneIn, std::memory_order_acq_rel);
      if ((before & kInMask) == kOneIn && (before & kPlayerSleeps) != 0)
        futexWake(seat.state, 1);
      any = true;
      break;
    }
  }
  return any;
}

void WorkerPool::workerMain(WorkerPool &pool) {
  ::pthread_setname_np(::pthread_self(), "pewter-worker");
  uint32_t seen = pool.epoch_.load(std::memory_order_acquire) - 1;
  uint64_t idleSince = readTicks();
  while (true) {
    uint32_t epoch = pool.epoch_.load(std::memory_order_acquire);
    if (epoch != seen) {
      seen = epoch;
      if (pool.joinAny())
        idleSince = readTicks();
      continue;
    }
    for (int i = 0; i < 16; ++i)
      spinPause();
    if (readTicks() - idleSince < kWorkerSpinTicks)
      continue;
    pool.sleepers_.fetch_add(1, std::memory_order_seq_cst);
    if (pool.epoch_.load(std::memory_order_seq_cst) == seen)
      futexWait(pool.epoch_, seen);
    pool.sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    idleSince = readTicks();
  }
}

} // namespace pewter::cpu
