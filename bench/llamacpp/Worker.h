// SPDX-License-Identifier: Apache-2.0
//
// What both sides of the comparison with llama.cpp share: a program that holds one engine with one
// model and measures what its standard input asks for, a line a time, so that a driver can keep several
// of them alive and take turns between them:
//
//   prefill N     tokens per second of a prompt of N tokens from an empty cache
//   open D        fill a cache with D tokens (not measured); answers zeros
//   logits N FILE the logits that follow a prompt of N tokens, as floats, to a file (not measured); zeros
//   decode D N    tokens per second of N single steps after D tokens; leaves the cache at D
//
// An answer is one line with two numbers, the second by processor time. The first line, "ready", comes when the model is loaded.
#pragma once
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>
#include <time.h>
#include <vector>

namespace pewter::bench {

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of all threads of this process.
inline double processorSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The same ids on both sides. The last few of a vocabulary are control tokens, which llama.cpp treats alike.
inline std::vector<uint32_t> someTokens(uint32_t count, uint32_t vocabulary) {
  std::vector<uint32_t> ids(count);
  uint32_t state = 12345;
  for (uint32_t &id : ids) {
    state = state * 1664525 + 1013904223;
    id = (state >> 8) % (vocabulary - 16);
  }
  return ids;
}

/// Engine has prefill(count), logits() of that, open(depth) and decode(depth, count), which do the work.
template <class Engine> int serve(Engine &engine) {
  std::cout << "ready" << std::endl;
  std::string verb;
  while (std::cin >> verb) {
    uint32_t depth = 0, count = 0;
    double start = 0, processorStart = 0;
    if (verb == "prefill") {
      std::cin >> count;
      start = seconds();
      processorStart = processorSeconds();
      engine.prefill(count);
    } else if (verb == "logits") {
      std::string path;
      std::cin >> count >> path;
      engine.prefill(count);
      const auto logits = engine.logits();
      std::ofstream out(path, std::ios::binary);
      out.write(reinterpret_cast<const char *>(logits.data()), std::streamsize(logits.size() * sizeof(float)));
      if (!out.flush())
        return 1;
      start = seconds();
      processorStart = processorSeconds();
      count = 0;
    } else if (verb == "open") {
      std::cin >> depth;
      engine.open(depth);
    } else if (verb == "decode") {
      std::cin >> depth >> count;
      start = seconds();
      processorStart = processorSeconds();
      engine.decode(depth, count);
    } else {
      std::cerr << "worker: unknown request [" << verb << "]\n";
      return 1;
    }
    double taken = seconds() - start, processor = processorSeconds() - processorStart;
    if (verb == "decode")
      engine.rewind(depth);
    std::cout << count / taken << ' ' << count / processor << std::endl;
  }
  return 0;
}

} // namespace pewter::bench
