// SPDX-License-Identifier: Apache-2.0
// Tested by tests/serve/Telemetry.cpp.
#include "serve/Metrics.h"
#include <mutex>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace pewter::serve {
namespace {

prometheus::Histogram::BucketBoundaries seconds() {
  return {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30};
}
const char *nameOf(Finish finish) {
  switch (finish) {
  case Finish::EndToken: return "end";
  case Finish::StopString: return "stop_string";
  case Finish::Length: return "length";
  case Finish::ContextFull: return "context_full";
  case Finish::ClientLeft: return "client_left";
  }
  return "unknown";
}

} // namespace

struct Metrics::Families {
  prometheus::Registry registry;
  std::mutex mutex;
  /// Raises a counter to a total that somebody else keeps.
  static void raise(prometheus::Counter &counter, double total) {
    if (total > counter.Value())
      counter.Increment(total - counter.Value());
  }
  prometheus::Family<prometheus::Counter> &counter(const char *name, const char *help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  prometheus::Family<prometheus::Gauge> &gauge(const char *name, const char *help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }
  prometheus::Histogram &histogram(const char *name, const char *help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, seconds());
  }
  prometheus::Family<prometheus::Counter> &requests = counter("pewter_requests_total", "Answers by route and status.");
  prometheus::Family<prometheus::Counter> &finished = counter("pewter_completions_total", "Generations by how they ended.");
  prometheus::Counter &promptTokens = counter("pewter_prompt_tokens_total", "Tokens of prompts.").Add({});
  prometheus::Counter &cachedTokens = counter("pewter_cached_tokens_total", "Tokens of prompts that a slot held already.").Add({});
  prometheus::Counter &tokens = counter("pewter_completion_tokens_total", "Tokens made.").Add({});
  prometheus::Histogram &queued = histogram("pewter_queue_seconds", "Waiting for a slot.");
  prometheus::Histogram &first = histogram("pewter_first_token_seconds", "From the slot to the first token.");
  prometheus::Histogram &perToken = histogram("pewter_token_seconds", "Mean time per token of a generation, after the first.");
  prometheus::Counter &sampling = counter("pewter_sampling_seconds_total", "Choosing tokens.").Add({});
  prometheus::Family<prometheus::Counter> &steps = counter("pewter_decode_steps_total", "Decode steps by rows.");
  prometheus::Counter &decodeSeconds = counter("pewter_decode_seconds_total", "The device's time in decode steps.").Add({});
  prometheus::Counter &prefillSeconds = counter("pewter_prefill_seconds_total", "The device's time in prefill.").Add({});
  prometheus::Counter &prefillTokens = counter("pewter_prefill_tokens_total", "Tokens fed by prefill.").Add({});
  prometheus::Counter &overloads = counter("pewter_overloads_total", "Requests that found no slot in time.").Add({});
  prometheus::Gauge &slots = gauge("pewter_slots", "Slots.").Add({});
  prometheus::Gauge &busy = gauge("pewter_slots_busy", "Slots that serve a request.").Add({});
  prometheus::Gauge &waiting = gauge("pewter_queue_depth", "Requests that wait for a slot.").Add({});
  prometheus::Gauge &fill = gauge("pewter_cache_fill_ratio", "Rows in use of all slots' caches.").Add({});
  prometheus::Gauge &unhealthy = gauge("pewter_unhealthy", "1 when the server has to be started again.").Add({});
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {}
Metrics::~Metrics() = default;

void Metrics::answered(const std::string &route, int status) {
  families_->requests.Add({{"route", route}, {"status", std::to_string(status)}}).Increment();
}

void Metrics::completed(const CompletionResult &result) {
  Families &f = *families_;
  f.finished.Add({{"finish", nameOf(result.finish)}}).Increment();
  f.promptTokens.Increment(result.promptTokens);
  f.cachedTokens.Increment(result.cachedTokens);
  f.tokens.Increment(static_cast<double>(result.tokens.size()));
  f.queued.Observe(result.times.queue);
  f.sampling.Increment(result.times.sampling);
  if (!result.tokens.empty())
    f.first.Observe(result.times.firstToken);
  if (result.tokens.size() > 1)
    f.perToken.Observe(result.times.decode / static_cast<double>(result.tokens.size() - 1));
}

std::string Metrics::text(const Now &now) {
  Families &f = *families_;
  std::lock_guard lock(f.mutex);
  for (size_t width = 0; width < now.engine.steps.size(); ++width)
    Families::raise(f.steps.Add({{"rows", std::to_string(width + 1)}}), static_cast<double>(now.engine.steps[width]));
  Families::raise(f.decodeSeconds, now.engine.decodeSeconds);
  Families::raise(f.prefillSeconds, now.engine.prefillSeconds);
  Families::raise(f.prefillTokens, static_cast<double>(now.engine.prefillTokens));
  Families::raise(f.overloads, static_cast<double>(now.overloads));
  f.slots.Set(now.slots);
  f.busy.Set(now.busySlots);
  f.waiting.Set(now.waiting);
  f.fill.Set(now.cacheFill);
  f.unhealthy.Set(now.unhealthy);
  return prometheus::TextSerializer().Serialize(f.registry.Collect());
}

} // namespace pewter::serve
