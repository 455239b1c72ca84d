// SPDX-License-Identifier: Apache-2.0
//
// RatioReporter: the console reporter that also keeps the median of every benchmark "cell/implementation"
// and prints, for each cell, how fast each implementation is beside the fastest one whose name starts
// with "pewter": by the clock, and by the processor time of all threads, which other work on the machine
// disturbs less (but which counts a spinning thread as busy).
#pragma once
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <map>
#include <string>
#include <vector>

namespace twins {

class RatioReporter : public benchmark::ConsoleReporter {
public:
  RatioReporter() : ConsoleReporter(OO_Tabular) {}

  void ReportRuns(const std::vector<Run> &runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run &run : runs) {
      if (run.run_type != Run::RT_Aggregate || run.aggregate_name != "median")
        continue;
      std::string name = run.run_name.function_name;
      size_t slash = name.find('/');
      Entry entry{name.substr(slash + 1), run.GetAdjustedRealTime(), run.GetAdjustedCPUTime(), 0, 0};
      if (auto counter = run.counters.find("bytes"); counter != run.counters.end())
        entry.bytes = counter->second.value;
      if (auto counter = run.counters.find("flops"); counter != run.counters.end())
        entry.operations = counter->second.value;
      cells_[name.substr(0, slash)].push_back(entry);
    }
  }

  void printRatios() const {
    fmt::print("\n| case | implementation | median us | GB/s | GFLOP/s | pewter's speed / its | CPU us | by CPU |\n"
               "|---|---|---|---|---|---|---|---|\n");
    for (const auto &[cell, entries] : cells_) {
      const Entry *own = nullptr;
      for (const Entry &entry : entries)
        if (entry.name.starts_with("pewter") && (!own || entry.microseconds < own->microseconds))
          own = &entry;
      for (const Entry &entry : entries) {
        double ratio = !own ? 0
                       : entry.name == "peak" ? own->operations / entry.operations
                                              : entry.microseconds / own->microseconds;
        fmt::print("| {} | {} | {:.2f} | {:.1f} | {:.1f} | {:.2f} | {:.2f} | {:.2f} |\n", cell,
                   entry.name, entry.microseconds, entry.bytes / 1e9, entry.operations / 1e9, ratio,
                   entry.cpuMicroseconds, own ? entry.cpuMicroseconds / own->cpuMicroseconds : 0);
      }
    }
  }

private:
  struct Entry {
    std::string name;
    double microseconds, cpuMicroseconds, bytes, operations;
  };
  std::map<std::string, std::vector<Entry>> cells_;
};

} // namespace twins
