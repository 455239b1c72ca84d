// SPDX-License-Identifier: Apache-2.0
// Tested by tests/engine/Goldens.cpp.
#include "muse/Generation.h"
#include <chrono>
#include <cmath>

namespace pewter::muse {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace

std::string_view nameOf(StopReason reason) {
  switch (reason) {
  case StopReason::EndToken: return "end";
  case StopReason::Length: return "length";
  case StopReason::ContextFull: return "context";
  case StopReason::Cancelled: return "cancelled";
  }
  return "unknown";
}

Result<GenerationResult> generate(Sequence &sequence, std::span<const uint32_t> prompt,
                                  const GenerationOptions &options,
                                  const std::function<void(const GenerationStep &)> &onStep) {
  PEWTER_TRY_VOID(options.sampler.check());
  const uint32_t vocabulary = sequence.engine().config().vocab;
  for (auto [id, bias] : options.sampler.logitBias)
    if (id >= vocabulary)
      return fail(ErrorKind::Validation, "The logit bias of token [{}] is for no token: the vocabulary has {}.",
                  id, vocabulary);
  const Tokenizer &tokenizer = sequence.engine().tokenizer();
  auto cancelled = [&] { return options.cancel && options.cancel->load(); };
  Sampler sampler(options.sampler);
  GenerationResult result;
  result.seed = sampler.seed();
  result.promptTokens = static_cast<uint32_t>(prompt.size());
  double start = now();
  auto filled = sequence.prefill(
      prompt, {.cancel = options.cancel, .progress = options.prefillProgress});
  result.promptSeconds = now() - start;
  if (!filled) {
    if (!cancelled())
      return std::unexpected(std::move(filled).error());
    result.stop = StopReason::Cancelled;
    return result;
  }
  for (uint32_t id : prompt)
    sampler.accept(id);
  if (options.maxTokens == 0u) {
    result.stop = StopReason::Length;
    return result;
  }
  StreamDecoder decoder(tokenizer, options.showControl);
  start = now();
  while (true) {
    GenerationStep step;
    PEWTER_TRY(step.id, sampler.sample(sequence.logits()));
    sampler.accept(step.id);
    if (options.logProbabilities) {
      PEWTER_TRY(step.best, topLogProbabilities(sequence.logits(), options.logProbabilities));
      result.best.push_back(step.best);
    }
    result.ids.push_back(step.id);
    bool ends = !options.ignoreEnd && tokenizer.endsGeneration(step.id);
    bool last = ends || (options.maxTokens && result.ids.size() >= *options.maxTokens) || cancelled();
    step.text = decoder.push(step.id);
    if (last || sequence.position() >= sequence.maxContext())
      step.text += decoder.finish();
    result.text += step.text;
    if (onStep)
      onStep(step);
    result.decodeSeconds = now() - start;
    if (last) {
      result.stop = ends          ? StopReason::EndToken
                    : cancelled() ? StopReason::Cancelled
                                  : StopReason::Length;
      return result;
    }
    if (sequence.position() >= sequence.maxContext()) {
      result.stop = StopReason::ContextFull;
      return result;
    }
    PEWTER_TRY_VOID(sequence.decode(step.id));
  }
}

Result<Perplexity> measurePerplexity(Sequence &sequence, std::span<const uint32_t> tokens, uint32_t window,
                                     const std::function<void(double)> &progress) {
  window = std::min(window ? window : sequence.maxContext(), sequence.maxContext());
  if (tokens.size() < 2)
    return fail(ErrorKind::Validation, "The text has [{}] tokens; at least 2 are needed.", tokens.size());
  if (window < 2)
    return fail(ErrorKind::Validation, "The window has [{}] token; at least 2 are needed.", window);
  Perplexity out;
  const size_t vocabulary = sequence.engine().config().vocab;
  double start = now(), loss = 0;
  for (size_t begin = 0; begin + 1 < tokens.size(); begin += window) {
    auto part = tokens.subspan(begin, std::min<size_t>(window, tokens.size() - begin));
    bool whole = part.size() == window;
    size_t firstCounted = whole ? part.size() / 2 : 0;
    if (!whole && begin > 0)
      break; // a rest without context would count badly
    sequence.reset();
    // A chunk's logits lie in tiles of 32 tokens.
    std::vector<float> row(vocabulary);
    auto count = [&](uint32_t first, uint32_t chunk, std::span<const float> logits) {
      for (uint32_t t = 0; t < chunk; ++t) {
        size_t i = first + t;
        if (i + 1 < firstCounted || i + 1 >= part.size())
          continue;
        for (size_t id = 0; id < vocabulary; ++id)
          row[id] = logits[(t / 32 * vocabulary + id) * 32 + t % 32];
        loss += logSumExp(row) - row[part[i + 1]];
        ++out.tokens;
      }
    };
    PEWTER_TRY_VOID(sequence.prefill(part.first(part.size() - 1), {.onLogits = count}));
    if (progress)
      progress(static_cast<double>(begin + part.size()) / static_cast<double>(tokens.size()));
  }
  out.seconds = now() - start;
  out.meanLogLoss = loss / static_cast<double>(out.tokens);
  out.perplexity = std::exp(out.meanLogLoss);
  if (!std::isfinite(out.perplexity))
    return fail(ErrorKind::DeviceLost, "The perplexity is not a finite number.");
  return out;
}

} // namespace pewter::muse
