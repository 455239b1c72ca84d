// SPDX-License-Identifier: Apache-2.0
// The engine against the goldens: ids, log probabilities, short answers, in both math modes.
#include "engine/TestEngine.h"

namespace pewter {
namespace {

using muse::KvType;
using muse::MathMode;

struct Case {
  const char *file;
  MathMode math;
};
const Case kCases[] = {
    {"glimmer-tiny-f16.gguf", MathMode::Strict},      {"glimmer-tiny-q8_0.gguf", MathMode::Strict},
    {"glimmer-tiny-q4_k_m.gguf", MathMode::Strict},   {"glimmer-tiny-q5_k_mix.gguf", MathMode::Strict},
    {"glimmer-tiny-f16.gguf", MathMode::Fast},        {"glimmer-tiny-q8_0.gguf", MathMode::Fast},
    {"glimmer-tiny-q4_k_m.gguf", MathMode::Fast},     {"glimmer-tiny-q5_k_mix.gguf", MathMode::Fast},
};
std::string nameOf(const ::testing::TestParamInfo<Case> &info) {
  std::string file = info.param.file;
  return file.substr(13, file.find('.') - 13) + (info.param.math == MathMode::Strict ? "_strict" : "_fast");
}

/// Follows the float32 reference's greedy path; a step where its margin is small may differ.
int wrongSteps(muse::Sequence &sequence, const nlohmann::json &golden, double nearTie) {
  std::vector<uint32_t> ids = golden["greedy_ids"];
  int wrong = 0;
  for (size_t step = 0; step < ids.size(); ++step) {
    if (golden["margins"][step].get<double>() > nearTie &&
        testing::argmax(sequence.logits()) != ids[step])
      ++wrong;
    EXPECT_TRUE(sequence.decode(ids[step]));
  }
  return wrong;
}

class Goldens : public ::testing::TestWithParam<Case> {};

TEST_P(Goldens, GreedyIds) {
  auto engine = testing::engineOf(GetParam().file, GetParam().math);
  auto sequence = testing::sequenceOf(engine);
  for (const auto &prompt : testing::goldensOf(GetParam().file)["prompts"]) {
    sequence->reset();
    std::vector<uint32_t> ids = prompt["prompt_ids"];
    ASSERT_TRUE(sequence->prefill(ids, {}));
    EXPECT_EQ(wrongSteps(*sequence, prompt["float32_reference"], 0.05), 0) << prompt["name"];
  }
}

// With a float32 cache the engine computes what the reference computes, but for the order of sums.
class StrictGoldens : public ::testing::TestWithParam<Case> {};

TEST_P(StrictGoldens, LogProbabilitiesWithFloatCache) {
  auto engine = testing::engineOf(GetParam().file, GetParam().math, KvType::F32);
  auto sequence = testing::sequenceOf(engine);
  for (const auto &prompt : testing::goldensOf(GetParam().file)["prompts"]) {
    sequence->reset();
    std::vector<uint32_t> ids = prompt["prompt_ids"];
    ASSERT_TRUE(sequence->prefill(ids, {}));
    const auto &golden = prompt["float32_reference"];
    EXPECT_LT(testing::logitDifference(sequence->logits(), golden["last_prompt_logits_0_15"]), 1e-3)
        << prompt["name"];
    for (int step = 0; step < 8; ++step) {
      EXPECT_LT(testing::logProbabilityDifference(sequence->logits(), golden["top10"][step], 10), 1e-3)
          << prompt["name"] << " step " << step;
      ASSERT_TRUE(sequence->decode(golden["greedy_ids"][step]));
    }
  }
}

TEST_P(Goldens, ShortAnswersAreExact) {
  auto engine = testing::engineOf(GetParam().file, GetParam().math);
  auto sequence = testing::sequenceOf(engine);
  int right = 0;
  auto cases = testing::loadJson("goldens-qa.json")["cases"];
  ASSERT_EQ(cases.size(), 80u);
  for (const auto &qa : cases) {
    sequence->reset();
    std::vector<uint32_t> ids = qa["prompt_ids"];
    auto result = muse::generate(*sequence, ids, {.maxTokens = 64, .sampler = {.temperature = 0}}, {});
    ASSERT_TRUE(result) << result.error().describe();
    right += result->ids == qa["answer_ids"].get<std::vector<uint32_t>>();
  }
  EXPECT_EQ(right, 80);
}

INSTANTIATE_TEST_SUITE_P(Engine, Goldens, ::testing::ValuesIn(kCases), nameOf);
INSTANTIATE_TEST_SUITE_P(Engine, StrictGoldens, ::testing::ValuesIn(std::span(kCases).first(4)), nameOf);

// The f16 file runs freely, against llama.cpp's own ids.
TEST(GoldensF16, AllOf1024FreeRunningIds) {
  auto engine = testing::engineOf("glimmer-tiny-f16.gguf");
  auto sequence = testing::sequenceOf(engine);
  int equal = 0, total = 0;
  for (const auto &prompt : testing::goldensOf("glimmer-tiny-f16.gguf")["prompts"]) {
    sequence->reset();
    std::vector<uint32_t> ids = prompt["prompt_ids"], expected = prompt["greedy_ids"];
    auto result = muse::generate(*sequence, ids,
                                 {.maxTokens = 128, .ignoreEnd = true, .sampler = {.temperature = 0}}, {});
    ASSERT_TRUE(result) << result.error().describe();
    for (size_t i = 0; i < expected.size(); ++i)
      equal += result->ids[i] == expected[i];
    total += static_cast<int>(expected.size());
  }
  EXPECT_EQ(equal, 1024);
  EXPECT_EQ(total, 1024);
}

TEST(GoldensF16, LlamaLogProbabilitiesOfTheBestThree) {
  auto engine = testing::engineOf("glimmer-tiny-f16.gguf");
  auto sequence = testing::sequenceOf(engine);
  for (const auto &prompt : testing::goldensOf("glimmer-tiny-f16.gguf")["prompts"]) {
    sequence->reset();
    std::vector<uint32_t> ids = prompt["prompt_ids"];
    ASSERT_TRUE(sequence->prefill(ids, {}));
    for (int step = 0; step < 8; ++step) {
      EXPECT_LT(testing::logProbabilityDifference(sequence->logits(), prompt["top10"][step], 3), 0.03)
          << prompt["name"] << " step " << step;
      ASSERT_TRUE(sequence->decode(prompt["greedy_ids"][step]));
    }
  }
}

} // namespace
} // namespace pewter
