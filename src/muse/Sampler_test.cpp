// SPDX-License-Identifier: Apache-2.0
#include "muse/Sampler.h"
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace pewter::muse {
namespace {

const std::vector<float> kLogits = {1.0f, 3.0f, 2.0f, 3.0f, -5.0f, 0.0f};

/// Which tokens come out in many draws, and how often.
std::map<uint32_t, int> drawn(SamplerOptions options, int count = 4000) {
  options.seed = 11;
  Sampler sampler(options);
  std::map<uint32_t, int> counts;
  for (int i = 0; i < count; ++i)
    ++counts[sampler.sample(kLogits).value()];
  return counts;
}
std::set<uint32_t> tokens(const std::map<uint32_t, int> &counts) {
  std::set<uint32_t> out;
  for (auto [id, count] : counts)
    out.insert(id);
  return out;
}
const SamplerOptions kPlain{.temperature = 1, .topK = 0, .topP = 1, .minP = 0};

TEST(Sampler, GreedyTakesTheLowestOfEquals) {
  EXPECT_EQ(Sampler({.temperature = 0}).sample(kLogits).value(), 1u);
  EXPECT_EQ(greedyArgmax(kLogits).value(), 1u);
}

TEST(Sampler, FollowsTheDistribution) {
  auto counts = drawn(kPlain, 20000);
  double total = logSumExp(kLogits);
  for (uint32_t id = 0; id < kLogits.size(); ++id) {
    double expected = 20000 * std::exp(kLogits[id] - total);
    EXPECT_NEAR(counts[id], expected, 5 * std::sqrt(expected) + 3) << id;
  }
}

TEST(Sampler, EachFilterKeepsWhatItShould) {
  SamplerOptions options = kPlain;
  options.topK = 2;
  EXPECT_EQ(tokens(drawn(options)), (std::set<uint32_t>{1, 3}));
  options = kPlain;
  options.topP = 0.5f; // 1 and 3 have 0.40 each
  EXPECT_EQ(tokens(drawn(options)), (std::set<uint32_t>{1, 3}));
  options.topP = 0.3f;
  EXPECT_EQ(tokens(drawn(options)), (std::set<uint32_t>{1}));
  options = kPlain;
  options.minP = 0.3f; // exp(-1) = 0.37 stays, exp(-2) = 0.14 goes
  EXPECT_EQ(tokens(drawn(options)), (std::set<uint32_t>{1, 2, 3}));
  options = kPlain;
  options.typicalP = 0.2f; // the surprise nearest to the entropy (1.22 nats) is that of 1 and 3 (0.91)
  EXPECT_EQ(tokens(drawn(options)), (std::set<uint32_t>{1}));
  options = kPlain;
  options.logitBias = {{1, -HUGE_VALF}, {3, -HUGE_VALF}, {4, 100}};
  EXPECT_EQ(tokens(drawn(options)), (std::set<uint32_t>{4}));
}

TEST(Sampler, PenaltiesLookBack) {
  SamplerOptions options{.temperature = 0, .repeatPenalty = 2};
  Sampler sampler(options);
  sampler.accept(1);
  EXPECT_EQ(sampler.sample(kLogits).value(), 3u);
  sampler.accept(3);
  EXPECT_EQ(sampler.sample(kLogits).value(), 2u);
  options = {.temperature = 0, .repeatLastN = 1, .presencePenalty = 10};
  Sampler forgetful(options);
  forgetful.accept(1);
  EXPECT_EQ(forgetful.sample(kLogits).value(), 3u);
  forgetful.accept(3);
  EXPECT_EQ(forgetful.sample(kLogits).value(), 1u);
}

TEST(Sampler, SameSeedSameTokens) {
  for (uint32_t mirostat : {0u, 2u}) {
    SamplerOptions options = kPlain;
    options.mirostat = mirostat;
    options.seed = 5;
    Sampler a(options), b(options);
    for (int i = 0; i < 50; ++i)
      EXPECT_EQ(a.sample(kLogits).value(), b.sample(kLogits).value());
  }
}

TEST(Sampler, MirostatKeepsTheSurpriseNearTau) {
  SamplerOptions options = kPlain;
  options.mirostat = 2;
  options.mirostatTau = 1.5f;
  options.seed = 3;
  Sampler sampler(options);
  double total = logSumExp(kLogits), sum = 0;
  for (int i = 0; i < 3000; ++i)
    sum += (total - kLogits[sampler.sample(kLogits).value()]) / std::log(2.0);
  EXPECT_NEAR(sum / 3000, 1.5, 0.4);
}

TEST(Sampler, NonFiniteLogitsAreAnError) {
  std::vector<float> bad = kLogits;
  bad[2] = NAN;
  auto result = Sampler({.temperature = 0}).sample(bad);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().describe().find("token 2"), std::string::npos);
  EXPECT_FALSE(topLogProbabilities(bad, 3));
  EXPECT_FALSE(greedyArgmax(bad));
}

TEST(Sampler, OptionsAreChecked) {
  SamplerOptions options;
  EXPECT_TRUE(options.check());
  options.topP = 1.5f;
  EXPECT_FALSE(options.check());
  options = {.temperature = NAN};
  EXPECT_FALSE(options.check());
  options = {.mirostat = 1};
  EXPECT_FALSE(options.check());
}

TEST(Sampler, TopLogProbabilities) {
  auto best = topLogProbabilities(kLogits, 3).value();
  ASSERT_EQ(best.size(), 3u);
  EXPECT_EQ(best[0].id, 1u);
  EXPECT_EQ(best[1].id, 3u);
  EXPECT_NEAR(best[0].logProbability, 3 - logSumExp(kLogits), 1e-6);
}

} // namespace
} // namespace pewter::muse
