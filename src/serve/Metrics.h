// SPDX-License-Identifier: Apache-2.0
//
// Metrics: counters and distributions in the form that Prometheus collects.
//
//   metrics.completed(result);
//   std::string text = metrics.text(gauges);
//
// Thread safe.
#pragma once
#include "serve/Completion.h"
#include <memory>

namespace pewter::serve {

class Metrics {
public:
  Metrics();
  ~Metrics();

  void answered(const std::string &route, int status);
  void completed(const CompletionResult &result);

  /// What is read at the moment of asking.
  struct Now {
    double slots = 0, busySlots = 0, waiting = 0, cacheFill = 0, unhealthy = 0;
    uint64_t overloads = 0;
    EngineThread::Statistics engine;
  };
  std::string text(const Now &now);

private:
  struct Families;
  std::unique_ptr<Families> families_;
};

} // namespace pewter::serve
