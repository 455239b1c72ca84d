// SPDX-License-Identifier: Apache-2.0
// `pewter bench`: prefill and decode rates of a model on this machine, in rows like llama-bench prints,
// with the share of the memory's measured speed that decoding reaches.
#include "base/MemoryBandwidth.h"
#include "pewter/Commands.h"
#include "pewter/EngineOptions.h"
#include "pewter/MatvecChoice.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <thread>

namespace pewter::tools {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
double seconds(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

struct BenchFlags {
  EngineFlags engine;
  std::vector<uint32_t> prompts = {128, 512}, depths = {16, 1024, 8192};
  uint32_t count = 128, repeats = 3;
  bool json = false, race = false, profile = false;
  std::string trace;
};

struct Row {
  std::string test;
  std::vector<double> rates; ///< Tokens per second, one per repeat.
  double gigabytes = 0;      ///< Per second, of weights and cache; decode only.
  double median() const {
    auto sorted = rates;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

std::vector<uint32_t> someTokens(const muse::Engine &engine, uint32_t count) {
  std::vector<uint32_t> ids(count);
  uint32_t state = 12345;
  for (uint32_t &id : ids) {
    state = state * 1664525 + 1013904223;
    id = (state >> 8) % engine.config().vocab;
  }
  return ids;
}

Result<Row> benchPrefill(muse::Sequence &sequence, uint32_t count, uint32_t repeats) {
  Row row{fmt::format("pp{}", count), {}};
  auto ids = someTokens(sequence.engine(), count);
  for (uint32_t r = 0; r <= repeats; ++r) { // the first warms up
    sequence.reset();
    auto start = Clock::now();
    PEWTER_TRY_VOID(sequence.prefill(ids, {}));
    if (r > 0)
      row.rates.push_back(count / seconds(start));
  }
  return row;
}

Result<Row> benchDecode(muse::Sequence &sequence, uint32_t depth, uint32_t count, uint32_t repeats) {
  const muse::ModelConfig &c = sequence.engine().config();
  Row row{fmt::format("tg{}@{}", count, depth), {}};
  auto ids = someTokens(sequence.engine(), depth + count * (repeats + 1));
  sequence.reset();
  PEWTER_TRY_VOID(sequence.prefill(std::span(ids).first(depth), {}));
  size_t next = depth;
  for (uint32_t r = 0; r <= repeats; ++r) {
    auto start = Clock::now();
    for (uint32_t i = 0; i < count; ++i)
      PEWTER_TRY_VOID(sequence.decode(ids[next++]));
    if (r > 0)
      row.rates.push_back(count / seconds(start));
  }
  uint64_t rows = uint64_t(c.slidingLayers()) * std::min(depth + count, c.window) +
                  uint64_t(c.fullLayers()) * (depth + count);
  uint64_t bytes = sequence.engine().weights().streamedBytes() +
                   rows * 2 * c.kvDim() * sequence.engine().kvElementBytes();
  row.gigabytes = row.median() * static_cast<double>(bytes) / 1e9;
  return row;
}

void print(const Row &row, double bandwidth) {
  auto [least, most] = std::ranges::minmax(row.rates);
  fmt::print("| {:<14} | {:>10.2f} | {:>9.2f} - {:<9.2f} |", row.test, row.median(), least, most);
  if (row.gigabytes > 0)
    fmt::print(" {:>7.2f} | {:>7.2f} |\n", row.gigabytes, row.gigabytes / bandwidth);
  else
    fmt::print(" {:>7} | {:>7} |\n", "", "");
}

/// Options that what was chosen would not look at.
Result<void> checkFlags(const BenchFlags &flags) {
  if (!flags.trace.empty() && !flags.profile)
    return fail(ErrorKind::Validation, "--trace [{}] is given without --phase-profile, which has what it writes.",
                flags.trace);
  if (flags.race && flags.profile)
    return fail(ErrorKind::Validation, "--race and --phase-profile are given; one of them is expected.");
  if (flags.json && (flags.race || flags.profile))
    return fail(ErrorKind::Validation, "--json is given with {}, which prints text.",
                flags.race ? "--race" : "--phase-profile");
  return {};
}

Result<void> run(BenchFlags &flags) {
  uint32_t threads = flags.engine.threads ? flags.engine.threads : std::thread::hardware_concurrency();
  uint64_t needed = 0;
  PEWTER_TRY(auto engine, makeEngine(flags.engine));
  double bandwidth = measureReadBandwidth(threads) / 1e9;
  uint32_t most = engine->maxContext();
  PEWTER_TRY(auto sequence, muse::Sequence::create(engine, {}));
  std::vector<Row> rows;
  Json skipped = Json::array();
  if (!flags.json) {
    fmt::print("{} on {}, {} kernels, {} threads; memory reads {:.1f} GB/s\n\n", engine->config().name,
               engine->context().deviceName(), muse::nameOf(engine->context().options().math), threads, bandwidth);
    fmt::print("| {:<14} | {:>10} | {:>21} | {:>7} | {:>7} |\n", "test", "tok/s", "least - most", "GB/s",
               "of read");
    fmt::print("|{:-<16}|{:->12}|{:->23}|{:->9}|{:->9}|\n", "", "", "", "", "");
  }
  auto add = [&](Row row) {
    if (!flags.json)
      print(row, bandwidth);
    rows.push_back(std::move(row));
  };
  for (uint32_t count : flags.prompts) {
    if (count == 0) // As llama-bench has it: no prompt is measured.
      continue;
    needed = count;
    if (needed > most) {
      skipped.push_back(fmt::format("pp{}", count));
      continue;
    }
    PEWTER_TRY(Row row, benchPrefill(*sequence, count, flags.repeats));
    add(std::move(row));
  }
  for (uint32_t depth : flags.count ? flags.depths : std::vector<uint32_t>()) {
    needed = depth + uint64_t(flags.count) * (flags.repeats + 1);
    if (needed > most) {
      skipped.push_back(fmt::format("tg{}@{}", flags.count, depth));
      continue;
    }
    PEWTER_TRY(Row row, benchDecode(*sequence, depth, flags.count, flags.repeats));
    add(std::move(row));
  }
  if (flags.json) {
    Json out = {{"model", engine->config().name},
                {"device", engine->context().deviceName()},
                {"math", std::string(muse::nameOf(engine->context().options().math))},
                {"matvec", engine->options().matvec},
                {"activations", flags.engine.activations},
                {"threads", threads},
                {"read_gbs", bandwidth},
                {"skipped", skipped}};
    for (const Row &row : rows)
      out["rows"].push_back({{"test", row.test},
                             {"tokens_per_second", row.median()},
                             {"all", row.rates},
                             {"gbs", row.gigabytes}});
    fmt::print("{}\n", out.dump());
  } else if (!skipped.empty()) {
    fmt::print("\nleft out, the context is {}: {}\n", most, skipped.dump());
  }
  return {};
}

/// The same decode with every matvec geometry, interleaved; the fastest is the choice for this machine.
Result<void> race(BenchFlags &flags) {
  struct Runner {
    std::string name;
    std::unique_ptr<muse::Sequence> sequence;
    Row row;
  };
  std::vector<Runner> runners;
  for (const char *name : {"1r1s", "2r1s", "4r2s"}) {
    EngineFlags engineFlags = flags.engine;
    engineFlags.matvec = name;
    PEWTER_TRY(auto engine, makeEngine(engineFlags));
    PEWTER_TRY(auto sequence, muse::Sequence::create(engine, {.maxContext = std::min(512u, engine->maxContext())}));
    runners.push_back({name, std::move(sequence), {name, {}}});
  }
  for (uint32_t r = 0; r <= flags.repeats; ++r)
    for (Runner &runner : runners) {
      auto ids = someTokens(runner.sequence->engine(), 64);
      runner.sequence->reset();
      auto start = Clock::now();
      for (uint32_t id : ids)
        PEWTER_TRY_VOID(runner.sequence->decode(id));
      if (r > 0)
        runner.row.rates.push_back(64 / seconds(start));
    }
  auto best = std::ranges::max_element(runners, {}, [](const Runner &r) { return r.row.median(); });
  for (const Runner &runner : runners)
    fmt::print("{}  {:10.2f} tok/s  {:5.2f} of the best{}\n", runner.name, runner.row.median(),
               runner.row.median() / best->row.median(), &runner == &*best ? "  <- use --matvec " + best->name : "");
  const muse::Engine &engine = best->sequence->engine();
  recordMatvec(engine.context(), engine.model(), best->name);
  fmt::print("recorded for this device and mix of formats\n");
  return {};
}

void printProfile(std::string_view title, const std::vector<muse::PhaseSample> &samples) {
  std::vector<std::pair<std::string, std::pair<double, int>>> sums;
  double total = 0;
  for (const muse::PhaseSample &sample : samples) {
    auto found = std::ranges::find(sums, sample.label, [](const auto &s) { return s.first; });
    if (found == sums.end())
      found = sums.insert(sums.end(), {sample.label, {0.0, 0}});
    found->second.first += sample.end - sample.start;
    ++found->second.second;
    total += sample.end - sample.start;
  }
  fmt::print("{:<22} {:>6} {:>10} {:>7}\n", title, "count", "ms", "share");
  for (const auto &[label, sum] : sums)
    fmt::print("{:<22} {:>6} {:>10.4f} {:>6.1f}%\n", label, sum.second, sum.first * 1e3, 100 * sum.first / total);
  fmt::print("{:<22} {:>6} {:>10.4f}\n\n", "sum", samples.size(), total * 1e3);
}

/// Adds the samples to a list of events as chrome://tracing and Perfetto read them: a row per layer.
void addToTrace(Json &events, std::string_view process, int id, const std::vector<muse::PhaseSample> &samples) {
  events.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", id}, {"args", {{"name", process}}}});
  for (const muse::PhaseSample &sample : samples)
    events.push_back({{"name", sample.label},
                      {"cat", process},
                      {"ph", "X"},
                      {"pid", id},
                      {"tid", sample.layer + 1},
                      {"ts", (sample.start - samples.front().start) * 1e6},
                      {"dur", (sample.end - sample.start) * 1e6}});
}

/// Where the time of a token and of a prompt goes: each group alone, as the device timed it.
Result<void> profile(BenchFlags &flags) {
  PEWTER_TRY(auto engine, makeEngine(flags.engine));
  PEWTER_TRY(auto sequence, muse::Sequence::create(engine, {}));
  Json events = Json::array();
  int id = 0;
  for (uint32_t depth : flags.depths) {
    if (depth + 2 > engine->maxContext())
      continue;
    auto ids = someTokens(*engine, depth + 2);
    sequence->reset();
    PEWTER_TRY_VOID(sequence->prefill(std::span(ids).first(depth + 1), {}));
    PEWTER_TRY(auto samples, sequence->profileDecode(ids[depth + 1]));
    std::string title = fmt::format("decode at {}", depth + 1);
    printProfile(title, samples);
    addToTrace(events, title, ++id, samples);
  }
  for (uint32_t count : flags.prompts) {
    if (count == 0 || count > engine->maxContext())
      continue;
    std::vector<muse::PhaseSample> samples;
    sequence->reset();
    PEWTER_TRY_VOID(sequence->prefill(someTokens(*engine, count), {.profile = &samples}));
    std::string title = fmt::format("prefill of {}", count);
    printProfile(title, samples);
    addToTrace(events, title, ++id, samples);
  }
  if (!flags.trace.empty()) {
    std::ofstream file(flags.trace);
    file << Json{{"traceEvents", events}}.dump() << "\n";
    file.close();
    if (!file)
      return fail(ErrorKind::Io, "The trace \"{}\" cannot be written.", flags.trace);
  }
  return {};
}

} // namespace

void addBench(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand("bench", "Measure a model on this machine");
  auto flags = std::make_shared<BenchFlags>();
  flags->engine.addTo(*command);
  command->add_option("-p,--prompts", flags->prompts, "Prompt lengths")->delimiter(',')->capture_default_str();
  command->add_option("-d,--depths", flags->depths, "Depths of decode")->delimiter(',')->capture_default_str();
  command->add_option("-n,--count", flags->count, "Tokens to decode")->capture_default_str();
  command->add_option("-r,--repeats", flags->repeats, "Repeats")->check(CLI::Range(1u, 1000u))->capture_default_str();
  command->add_flag("--json", flags->json, "As JSON");
  command->add_flag("--race", flags->race, "Compare the matvec geometries and record the fastest for later runs");
  command->add_flag("--phase-profile", flags->profile, "Time each group of a token and of a prompt");
  command->add_option("--trace", flags->trace, "With --phase-profile: also write a Chrome trace (JSON)");
  command->callback([flags, &status] {
    auto result = checkFlags(*flags);
    if (result)
      result = flags->race ? race(*flags) : flags->profile ? profile(*flags) : run(*flags);
    status = result ? 0 : report(result.error());
  });
}

} // namespace pewter::tools
