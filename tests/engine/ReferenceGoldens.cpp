// SPDX-License-Identifier: Apache-2.0
// The plain-loop reference against the goldens, and proof that the goldens see each mistake.
#include "engine/Goldens.h"
#include "engine/Reference.h"
#include <gtest/gtest.h>

namespace pewter {
namespace {

using testing::Mistake;
using testing::Reference;

/// The worst difference from the float32 golden: logits after the prompt, and the log probabilities of
/// the ten best of the first steps.
double differenceFrom(const nlohmann::json &prompt, Reference &reference, int steps) {
  std::vector<uint32_t> ids = prompt["prompt_ids"];
  std::vector<float> logits;
  for (size_t i = 0; i < ids.size(); ++i)
    logits = reference.step(ids[i], i + 1 == ids.size());
  const auto &golden = prompt["float32_reference"];
  double worst = testing::logitDifference(logits, golden["last_prompt_logits_0_15"]);
  for (int step = 0; step < steps; ++step) {
    worst = std::max(worst, testing::logProbabilityDifference(logits, golden["top10"][step], 10));
    logits = reference.step(golden["greedy_ids"][step]);
  }
  return worst;
}

class ReferenceGoldens : public ::testing::TestWithParam<const char *> {};

TEST_P(ReferenceGoldens, ShortPromptsAgree) {
  auto model = testing::loadModel(GetParam());
  auto config = muse::ModelConfig::read(*model).value();
  auto goldens = testing::goldensOf(GetParam());
  for (const auto &prompt : goldens["prompts"]) {
    if (prompt["n_prompt"] > 100)
      continue;
    Reference reference(*model, config);
    EXPECT_LT(differenceFrom(prompt, reference, 8), 1e-3) << prompt["name"];
  }
}
INSTANTIATE_TEST_SUITE_P(Engine, ReferenceGoldens,
                         ::testing::Values("glimmer-tiny-f16.gguf", "glimmer-tiny-q8_0.gguf",
                                           "glimmer-tiny-q4_k_m.gguf", "glimmer-tiny-q5_k_mix.gguf"),
                         [](const auto &info) {
                           std::string name = info.param;
                           return name.substr(13, name.find('.') - 13);
                         });

struct Wrong {
  const char *name;
  Mistake mistake;
  const char *prompt; ///< The golden that sees it.
};
class DeliberateMistake : public ::testing::TestWithParam<Wrong> {};

TEST_P(DeliberateMistake, IsSeenByTheGoldens) {
  auto model = testing::loadModel("glimmer-tiny-f16.gguf");
  auto config = muse::ModelConfig::read(*model).value();
  auto goldens = testing::goldensOf("glimmer-tiny-f16.gguf");
  Reference reference(*model, config, GetParam().mistake);
  double worst = differenceFrom(testing::promptNamed(goldens, GetParam().prompt), reference, 8);
  if (GetParam().mistake == Mistake::None)
    EXPECT_LT(worst, 1e-3);
  else
    EXPECT_GT(worst, 0.02);
}
INSTANTIATE_TEST_SUITE_P(
    Engine, DeliberateMistake,
    ::testing::Values(Wrong{"None", Mistake::None, "long_recall"},
                      Wrong{"WindowOneLess", Mistake::WindowOneLess, "long_recall"},
                      Wrong{"WindowOneMore", Mistake::WindowOneMore, "long_recall"},
                      Wrong{"NoWindow", Mistake::NoWindow, "long_recall"},
                      Wrong{"PostEpsilon1e5", Mistake::PostEpsilon1e5, "story"},
                      Wrong{"PostEpsilon1e6", Mistake::PostEpsilon1e6, "story"},
                      Wrong{"RopeBase10000", Mistake::RopeBase10000, "story"},
                      Wrong{"RopeEverywhere", Mistake::RopeEverywhere, "story"},
                      Wrong{"RopeHalfSplit", Mistake::RopeHalfSplit, "story"},
                      Wrong{"NoRope", Mistake::NoRope, "story"},
                      Wrong{"NoSoftcap", Mistake::NoSoftcap, "story"},
                      Wrong{"Softcap30", Mistake::Softcap30, "story"},
                      Wrong{"LogitScale1", Mistake::LogitScale1, "story"},
                      Wrong{"QueryNorm1", Mistake::QueryNorm1, "story"},
                      Wrong{"NoGate", Mistake::NoGate, "story"},
                      Wrong{"NoEntryNorm", Mistake::NoEntryNorm, "story"},
                      Wrong{"HeadsModulo", Mistake::HeadsModulo, "story"}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace pewter
