// SPDX-License-Identifier: Apache-2.0
#include "base/MemoryBandwidth.h"
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace pewter {

double measureReadBandwidth(unsigned threads) {
  using Clock = std::chrono::steady_clock;
  constexpr size_t kBytes = size_t(256) << 20;
  threads = std::max(threads, 1u);
  std::vector<uint64_t> memory(kBytes / 8, 1);
  double best = 0;
  for (int pass = 0; pass < 5; ++pass) {
    auto start = Clock::now();
    std::vector<std::thread> workers;
    std::vector<uint64_t> sums(size_t(threads) * 8);
    for (unsigned t = 0; t < threads; ++t)
      workers.emplace_back([&, t] {
        size_t begin = memory.size() / threads * t, end = begin + memory.size() / threads;
        uint64_t sum[8] = {};
        for (size_t i = begin; i + 8 <= end; i += 8)
          for (size_t j = 0; j < 8; ++j)
            sum[j] += memory[i + j];
        for (uint64_t s : sum)
          sums[size_t(t) * 8] += s;
      });
    for (auto &worker : workers)
      worker.join();
    volatile uint64_t sink = sums[0];
    static_cast<void>(sink);
    best = std::max(best, double(kBytes) / std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

} // namespace pewter
