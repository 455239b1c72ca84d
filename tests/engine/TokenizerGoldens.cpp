// SPDX-License-Identifier: Apache-2.0
// Token ids of 89 strings and of every golden prompt, as llama.cpp has them.
#include "base/Bytes.h"
#include "muse/Tokenizer.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace pewter {
namespace {

const std::filesystem::path kData = PEWTER_SOURCE_DIR "/tests/engine/data";

nlohmann::json load(const std::string &name) {
  return nlohmann::json::parse(textOf(readFile(kData / name).value()));
}

class TokenizerGoldens : public ::testing::TestWithParam<const char *> {
protected:
  std::shared_ptr<const muse::GgufModel> model = muse::GgufModel::open(kData / GetParam()).value();
  std::shared_ptr<const muse::Tokenizer> tokenizer = muse::Tokenizer::load(*model).value();
};

TEST_P(TokenizerGoldens, AllStrings) {
  auto goldens = load("tokenizer-goldens.json");
  ASSERT_EQ(goldens["strings"].size(), 89u);
  for (const auto &golden : goldens["strings"]) {
    std::string text = golden["text"];
    EXPECT_EQ(tokenizer->encode(text, muse::Specials::All).value(),
              golden["ids"].get<std::vector<uint32_t>>())
        << text;
    EXPECT_EQ(tokenizer->encode(text, muse::Specials::Declared).value(),
              golden["ids_no_special"].get<std::vector<uint32_t>>())
        << text;
  }
}

TEST_P(TokenizerGoldens, PromptsAndTheirText) {
  auto goldens = load(std::string("goldens-") + GetParam() + ".json");
  for (const auto &prompt : goldens["prompts"]) {
    auto ids = tokenizer->encode(prompt["text"].get<std::string>(), muse::Specials::All).value();
    ids.insert(ids.begin(), *tokenizer->bos());
    EXPECT_EQ(ids, prompt["prompt_ids"].get<std::vector<uint32_t>>()) << prompt["name"];
  }
  for (const auto &qa : load("goldens-qa.json")["cases"]) {
    auto ids = tokenizer->encode(qa["text"].get<std::string>(), muse::Specials::All).value();
    ids.insert(ids.begin(), *tokenizer->bos());
    EXPECT_EQ(ids, qa["prompt_ids"].get<std::vector<uint32_t>>());
    muse::StreamDecoder decoder(*tokenizer);
    std::string text;
    for (uint32_t id : qa["answer_ids"])
      text += decoder.push(id);
    EXPECT_EQ(text + decoder.finish(), qa["answer_text"].get<std::string>());
  }
}

INSTANTIATE_TEST_SUITE_P(Engine, TokenizerGoldens,
                         ::testing::Values("glimmer-tiny-f16.gguf", "glimmer-tiny-q8_0.gguf"),
                         [](const auto &info) {
                           std::string name = info.param;
                           return name.substr(13, name.find('.') - 13);
                         });

} // namespace
} // namespace pewter
