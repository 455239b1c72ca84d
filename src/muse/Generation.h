// SPDX-License-Identifier: Apache-2.0
//
// Generation: prompt in, text out: prefill, then sample and decode until an end token, the limit, the
// end of the context, or a cancel. Text is handed out as whole UTF-8 characters.
//
//   PEWTER_TRY(auto result, generate(*sequence, ids, {.maxTokens = 64},
//                                    [](const GenerationStep &step) { print(step.text); }));
#pragma once
#include "muse/Sampler.h"
#include "muse/Sequence.h"
#include <optional>

namespace pewter::muse {

struct GenerationOptions {
  std::optional<uint32_t> maxTokens = 256; ///< Nothing: as many as the context holds.
  bool ignoreEnd = false;    ///< Go on after an end token.
  uint32_t logProbabilities = 0; ///< How many of the best to report per step.
  bool showControl = false;  ///< Spell control tokens in the text.
  SamplerOptions sampler = {};
  const std::atomic<bool> *cancel = nullptr;
  std::function<void(uint32_t done)> prefillProgress = {};
};

struct GenerationStep {
  uint32_t id;
  std::string text; ///< What became complete with this token.
  std::vector<TokenProbability> best;
};

enum class StopReason { EndToken, Length, ContextFull, Cancelled };
std::string_view nameOf(StopReason reason);

struct GenerationResult {
  std::vector<uint32_t> ids; ///< An end token that stopped generation is the last.
  std::string text;
  std::vector<std::vector<TokenProbability>> best; ///< Per id, when asked for.
  StopReason stop = StopReason::Length;
  uint32_t seed = 0;
  uint32_t promptTokens = 0;
  double promptSeconds = 0, decodeSeconds = 0;
  double promptRate() const { return promptSeconds > 0 ? promptTokens / promptSeconds : 0; }
  /// Tokens after the first per second: the first comes out of the prompt.
  double decodeRate() const {
    return ids.size() > 1 && decodeSeconds > 0 ? double(ids.size() - 1) / decodeSeconds : 0;
  }
};

Result<GenerationResult> generate(Sequence &sequence, std::span<const uint32_t> prompt,
                                  const GenerationOptions &options,
                                  const std::function<void(const GenerationStep &)> &onStep);

/// exp(mean negative log probability) of each token given the ones before it, in windows of the
/// sequence's context; the second half of each window counts, as its tokens have seen enough.
struct Perplexity {
  double perplexity = 0, meanLogLoss = 0;
  uint64_t tokens = 0;
  double seconds = 0;
};
Result<Perplexity> measurePerplexity(Sequence &sequence, std::span<const uint32_t> tokens, uint32_t window,
                                     const std::function<void(double)> &progress);

} // namespace pewter::muse
