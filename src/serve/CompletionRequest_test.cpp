// SPDX-License-Identifier: Apache-2.0
#include "serve/CompletionRequest.h"
#include <gtest/gtest.h>
#include <set>

namespace pewter::serve {
namespace {

const ReadingOptions kOptions{.vocabulary = 2048};

TEST(CompletionRequest, ChatReadsPartsAndNames) {
  auto request = readChatRequest(Json::parse(R"({"model": "any", "user": "u",
    "messages": [{"role": "system", "content": "Be brief."},
                 {"role": "user", "content": [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]}],
    "max_completion_tokens": 5, "stop": "x", "seed": 12345678901, "temperature": 0.25})"),
                                 kOptions);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->messages[1]["content"], "one two");
  EXPECT_EQ(request->settings.maxTokens, 5u);
  EXPECT_EQ(request->settings.stop, std::vector<std::string>{"x"});
  EXPECT_TRUE(request->settings.sampler.seed.has_value());
  EXPECT_EQ(request->settings.sampler.temperature, 0.25f);
  EXPECT_EQ(request->settings.sampler.topK, 40u); // the server's default
}

TEST(CompletionRequest, DifferentSeedsStayDifferent) {
  auto seedOf = [](const Json &seed) {
    auto request = readCompletionRequest({{"prompt", "a"}, {"seed", seed}}, kOptions);
    EXPECT_TRUE(request) << seed;
    return request ? request->settings.sampler.seed : std::nullopt;
  };
  for (uint32_t seed : {0u, 1u, 5u, 0x7fffffffu, 0xffffffffu})
    EXPECT_EQ(seedOf(seed), seed);
  EXPECT_EQ(seedOf(-1), std::nullopt);
  EXPECT_EQ(seedOf(nullptr), std::nullopt);
  std::set<uint32_t> all;
  const int64_t bases[] = {0, int64_t{1} << 32, int64_t{-1} << 32, int64_t{1} << 62};
  for (int64_t base : bases)
    for (int64_t i = 0; i < 1000; ++i)
      all.insert(seedOf(base + i).value());
  for (int64_t i = 2; i < 1000; ++i)
    all.insert(seedOf(-i).value());
  EXPECT_EQ(all.size(), 4998u);
  EXPECT_FALSE(readCompletionRequest(Json::parse(R"({"prompt": "a", "seed": 9223372036854775808})"), kOptions));
  EXPECT_FALSE(readCompletionRequest(Json::parse(R"({"prompt": "a", "seed": 9223372036854775808.0})"), kOptions));
}

TEST(CompletionRequest, PromptsComeInFourForms) {
  for (auto [text, count] : {std::pair(R"({"prompt": "a"})", 1), std::pair(R"({"prompt": ["a", "b"]})", 2),
                             std::pair(R"({"prompt": [1, 2]})", 1), std::pair(R"({"prompt": [[1], [2, 3], "c"]})", 3)}) {
    auto request = readCompletionRequest(Json::parse(text), kOptions);
    ASSERT_TRUE(request) << text;
    EXPECT_EQ(request->prompts.size(), size_t(count)) << text;
  }
  for (const char *text : {R"({"prompt": []})", R"({"prompt": [[]]})", R"({"prompt": [2048]})", R"({"prompt": [-1]})",
                           R"({"prompt": [1.5]})", R"({"prompt": ["a", 1]})", R"({"prompt": true})", R"({})"})
    EXPECT_FALSE(readCompletionRequest(Json::parse(text), kOptions)) << text;
}

TEST(CompletionRequest, LogitBiasComesInTwoForms) {
  for (const char *text : {R"({"prompt": "a", "logit_bias": {"15": -100, "7": 2}})",
                           R"({"prompt": "a", "logit_bias": [[15, false], [7, 2]]})"}) {
    auto request = readLlamaRequest(Json::parse(text), kOptions);
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_LE(request->settings.sampler.logitBias.at(15), -100);
    EXPECT_EQ(request->settings.sampler.logitBias.at(7), 2);
  }
  for (const char *text : {R"({"prompt": "a", "logit_bias": {"x": 1}})", R"({"prompt": "a", "logit_bias": {"2048": 1}})",
                           R"({"prompt": "a", "logit_bias": {"1": 101}})", R"({"prompt": "a", "logit_bias": [[1]]})",
                           R"({"prompt": "a", "logit_bias": 3})"})
    EXPECT_FALSE(readLlamaRequest(Json::parse(text), kOptions)) << text;
}

} // namespace
} // namespace pewter::serve
