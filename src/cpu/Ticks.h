// SPDX-License-Identifier: Apache-2.0
//
// Ticks: the cheapest clock of the machine, for decisions that may be wrong by half: how long a piece
// of work takes, how long to spin. Never shown to anybody.
#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <chrono>
#endif

namespace pewter::cpu {

inline uint64_t readTicks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Ticks in so many nanoseconds: time-stamp counters run at 2 to 4 GHz.
constexpr uint64_t ticksOf(uint64_t nanoseconds) {
#if defined(__x86_64__)
  return nanoseconds * 5 / 2;
#else
  return nanoseconds;
#endif
}

} // namespace pewter::cpu
