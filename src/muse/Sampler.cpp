// SPDX-License-Identifier: Apache-2.0
//
// Candidates are sorted once, after the penalties; each later step only shortens the list or moves
// its logits together. Probabilities are kept relative to the list that a step sees.
//
// Tested by Sampler_test.cpp.
#include "muse/Sampler.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace pewter::muse {
namespace {

Result<void> checkFinite(std::span<const float> logits) {
  for (size_t i = 0; i < logits.size(); ++i)
    if (!std::isfinite(logits[i]))
      return fail(ErrorKind::DeviceLost, "The logit of token {} is [{}]; a finite number is expected.", i,
                  logits[i]);
  return {};
}

/// Sets the probabilities of candidates that are sorted by logit, best first.
template <class Candidates> void softmax(Candidates &candidates) {
  float best = candidates.front().logit, sum = 0;
  for (auto &c : candidates)
    sum += c.probability = std::exp(c.logit - best);
  for (auto &c : candidates)
    c.probability /= sum;
}

template <class Candidates> void keepTopP(Candidates &candidates, float topP) {
  if (topP >= 1)
    return;
  softmax(candidates);
  float sum = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    sum += candidates[i].probability;
    if (sum >= topP) {
      candidates.resize(i + 1);
      return;
    }
  }
}

template <class Candidates> void keepMinP(Candidates &candidates, float minP) {
  if (minP <= 0)
    return;
  float least = candidates.front().logit + std::log(minP);
  size_t keep = 1;
  while (keep < candidates.size() && candidates[keep].logit >= least)
    ++keep;
  candidates.resize(keep);
}

/// Locally typical: the candidates whose surprise is nearest to the entropy, up to a mass of `p`.
template <class Candidates> void keepTypical(Candidates &candidates, float p) {
  if (p >= 1)
    return;
  softmax(candidates);
  float entropy = 0;
  for (const auto &c : candidates)
    if (c.probability > 0)
      entropy -= c.probability * std::log(c.probability);
  std::vector<size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), size_t(0));
  auto distance = [&](size_t i) { return std::fabs(-std::log(candidates[i].probability) - entropy); };
  std::ranges::sort(order, [&](size_t a, size_t b) {
    float x = distance(a), y = distance(b);
    return x != y ? x < y : a < b;
  });
  float sum = 0;
  size_t keep = 0;
  while (keep < order.size()) {
    sum += candidates[order[keep++]].probability;
    if (sum > p)
      break;
  }
  order.resize(keep);
  std::ranges::sort(order); // back to best first
  Candidates kept;
  for (size_t i : order)
    kept.push_back(candidates[i]);
  candidates = std::move(kept);
}

} // namespace

Result<void> SamplerOptions::check() const {
  auto range = [](const char *name, float value, float least, float most) -> Result<void> {
    if (value >= least && value <= most)
      return {};
    return fail(ErrorKind::Validation, "The sampling option {} is [{}]; {} to {} is expected.", name, value,
                least, most);
  };
  constexpr float kMost = std::numeric_limits<float>::max();
  PEWTER_TRY_VOID(range("temp", temperature, 0, kMost));
  PEWTER_TRY_VOID(range("top-p", topP, 0, 1));
  PEWTER_TRY_VOID(range("min-p", minP, 0, 1));
  PEWTER_TRY_VOID(range("typical", typicalP, 0, 1));
  PEWTER_TRY_VOID(range("repeat-penalty", repeatPenalty, 1e-6f, kMost));
  PEWTER_TRY_VOID(range("frequency-penalty", frequencyPenalty, -kMost, kMost));
  PEWTER_TRY_VOID(range("presence-penalty", presencePenalty, -kMost, kMost));
  PEWTER_TRY_VOID(range("mirostat-ent", mirostatTau, 1e-6f, kMost));
  PEWTER_TRY_VOID(range("mirostat-lr", mirostatEta, 0, kMost));
  if (mirostat != 0 && mirostat != 2)
    return fail(ErrorKind::Validation, "The sampling option mirostat is [{}]; 0 or 2 is expected.", mirostat);
  return {};
}

double logSumExp(std::span<const float> logits) {
  double best = *std::ranges::max_element(logits), sum = 0;
  for (float logit : logits)
    sum += std::exp(logit - best);
  return best + std::log(sum);
}

Result<std::vector<TokenProbability>> topLogProbabilities(std::span<const float> logits, size_t count) {
  PEWTER_TRY_VOID(checkFinite(logits));
  std::vector<uint32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0u);
  count = std::min(count, ids.size());
  std::partial_sort(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(count), ids.end(),
                    [&](uint32_t a, uint32_t b) {
                      return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
                    });
  double total = logSumExp(logits);
  std::vector<TokenProbability> best;
  for (size_t i = 0; i < count; ++i)
    best.push_back({ids[i], static_cast<float>(logits[ids[i]] - total)});
  return best;
}

Result<uint32_t> greedyArgmax(std::span<const float> logits) {
  PEWTER_TRY_VOID(checkFinite(logits));
  return static_cast<uint32_t>(std::ranges::max_element(logits) - logits.begin());
}

Sampler::Sampler(SamplerOptions options)
    : options_(std::move(options)), seed_(options_.seed ? *options_.seed : std::random_device{}()),
      random_(seed_), mu_(2 * options_.mirostatTau) {}

void Sampler::accept(uint32_t id) {
  recent_.push_back(id);
  while (recent_.size() > options_.repeatLastN)
    recent_.pop_front();
}

void Sampler::applyPenalties(std::vector<Candidate> &candidates) const {
  for (auto [id, bias] : options_.logitBias)
    if (id < candidates.size())
      candidates[id].logit += bias;
  if (options_.repeatPenalty == 1 && options_.frequencyPenalty == 0 && options_.presencePenalty == 0)
    return;
  std::unordered_map<uint32_t, uint32_t> counts;
  for (uint32_t id : recent_)
    ++counts[id];
  for (auto [id, count] : counts) {
    if (id >= candidates.size())
      continue;
    float &logit = candidates[id].logit;
    logit = logit <= 0 ? logit * options_.repeatPenalty : logit / options_.repeatPenalty;
    logit -= static_cast<float>(count) * options_.frequencyPenalty + options_.presencePenalty;
  }
}

Result<uint32_t> Sampler::sample(std::span<const float> logits) {
  PEWTER_TRY_VOID(checkFinite(logits));
  std::vector<Candidate> candidates(logits.size());
  for (uint32_t id = 0; id < logits.size(); ++id)
    candidates[id] = {id, logits[id], 0};
  applyPenalties(candidates);
  auto better = [](const Candidate &a, const Candidate &b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  if (options_.temperature <= 0)
    return std::ranges::min_element(candidates, better)->id;
  std::erase_if(candidates, [](const Candidate &c) { return c.logit == -HUGE_VALF; });
  if (candidates.empty())
    return fail(ErrorKind::Validation, "The logit bias forbids every token.");
  if (options_.mirostat == 2) {
    std::ranges::sort(candidates, better);
    for (Candidate &c : candidates)
      c.logit /= options_.temperature;
    return mirostat(candidates);
  }
  size_t keep = options_.topK ? std::min<size_t>(options_.topK, candidates.size()) : candidates.size();
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(keep),
                    candidates.end(), better);
  candidates.resize(keep);
  keepTypical(candidates, options_.typicalP);
  keepTopP(candidates, options_.topP);
  keepMinP(candidates, options_.minP);
  for (Candidate &c : candidates)
    c.logit /= options_.temperature;
  softmax(candidates);
  return draw(candidates);
}

uint32_t Sampler::draw(const std::vector<Candidate> &candidates) {
  double total = 0;
  for (const Candidate &c : candidates)
    total += c.probability;
  uint64_t low = random_(), high = random_(); // the first draw is the low half
  double point = static_cast<double>(high << 32 | low) * 0x1p-64 * total, sum = 0;
  for (const Candidate &c : candidates) {
    sum += c.probability;
    if (sum >= point && c.probability > 0)
      return c.id;
  }
  return candidates.back().id;
}

uint32_t Sampler::mirostat(std::vector<Candidate> &candidates) {
  softmax(candidates);
  size_t keep = 0;
  while (keep < candidates.size() && -std::log2(candidates[keep].probability) <= mu_)
    ++keep;
  candidates.resize(std::max<size_t>(keep, 1));
  softmax(candidates);
  uint32_t id = draw(candidates);
  auto chosen = std::ranges::find(candidates, id, &Candidate::id);
  mu_ -= options_.mirostatEta * (-std::log2(chosen->probability) - options_.mirostatTau);
  return id;
}

} // namespace pewter::muse
