// SPDX-License-Identifier: Apache-2.0
//
// Sampler: picks the next token from a row of logits. The steps and their order are llama.cpp's:
// logit bias, penalties, top-k, typical, top-p, min-p, temperature, then a draw; with mirostat, only
// temperature and mirostat after the penalties. Temperature 0 is greedy: the largest logit, the lowest
// id of equals. The random stream is MT19937; the same seed gives the same text.
//
//   Sampler sampler({.temperature = 0.8f, .seed = 7});
//   PEWTER_TRY(uint32_t id, sampler.sample(logits));
//   sampler.accept(id);
//
// One sequence each; one thread at a time.
#pragma once
#include "base/Error.h"
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <span>
#include <unordered_map>
#include <vector>

namespace pewter::muse {

struct SamplerOptions {
  float temperature = 0.8f;
  uint32_t topK = 40;         ///< 0 keeps all.
  float topP = 0.95f;         ///< 1 keeps all.
  float minP = 0.05f;         ///< 0 keeps all.
  float typicalP = 1.0f;      ///< 1 keeps all.
  uint32_t repeatLastN = 64;  ///< How many tokens the penalties look at.
  float repeatPenalty = 1.0f; ///< 1 is none.
  float frequencyPenalty = 0, presencePenalty = 0;
  uint32_t mirostat = 0;      ///< 0 or 2.
  float mirostatTau = 5.0f, mirostatEta = 0.1f;
  std::unordered_map<uint32_t, float> logitBias = {}; ///< Added; -infinity forbids.
  std::optional<uint32_t> seed = {};             ///< Nothing: from the system.

  /// What a person typed, checked: an error names option, value and range.
  Result<void> check() const;
};

struct TokenProbability {
  uint32_t id;
  float logProbability; ///< Natural, over the whole vocabulary.
};
/// The best `count` tokens of a row, best first. An error when a logit is not finite.
Result<std::vector<TokenProbability>> topLogProbabilities(std::span<const float> logits, size_t count);
/// ln(sum(exp(logits))), in double.
double logSumExp(std::span<const float> logits);
/// The largest logit's id, the lowest of equals. An error when a logit is not finite.
Result<uint32_t> greedyArgmax(std::span<const float> logits);

class Sampler {
public:
  explicit Sampler(SamplerOptions options);
  Result<uint32_t> sample(std::span<const float> logits);
  /// Tells the penalties about a token of the prompt or of the answer.
  void accept(uint32_t id);
  uint32_t seed() const { return seed_; }
  const SamplerOptions &options() const { return options_; }

private:
  struct Candidate {
    uint32_t id;
    float logit, probability;
  };
  void applyPenalties(std::vector<Candidate> &candidates) const;
  uint32_t draw(const std::vector<Candidate> &candidates);
  uint32_t mirostat(std::vector<Candidate> &candidates);

  SamplerOptions options_;
  uint32_t seed_;
  std::mt19937 random_;
  std::deque<uint32_t> recent_;
  float mu_;
};

} // namespace pewter::muse
