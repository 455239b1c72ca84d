// SPDX-License-Identifier: Apache-2.0
#include "serve/CompletionRequest.h"
#include <gtest/gtest.h>

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
