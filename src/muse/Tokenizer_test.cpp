// SPDX-License-Identifier: Apache-2.0
#include "muse/Tokenizer.h"
#include "muse/PieceSplitter.h"
#include <gtest/gtest.h>

namespace pewter::muse {
namespace {

std::shared_ptr<const Tokenizer> tiny() {
  static auto model = GgufModel::open(PEWTER_SOURCE_DIR "/tests/engine/data/glimmer-tiny-q8_0.gguf").value();
  static auto tokenizer = Tokenizer::load(*model).value();
  return tokenizer;
}

std::vector<std::string> pieces(std::string_view text) {
  static auto splitter = PieceSplitter::create("llama4").value();
  auto views = splitter->split(text);
  EXPECT_TRUE(views) << views.error().describe();
  return {views->begin(), views->end()};
}

using Strings = std::vector<std::string>;

TEST(PieceSplitter, Words) {
  EXPECT_EQ(pieces("Hello world"), (Strings{"Hello", " world"}));
  EXPECT_EQ(pieces("helloWorld"), (Strings{"hello", "World"}));
  EXPECT_EQ(pieces("I'll don'T"), (Strings{"I'll", " don'T"}));
  EXPECT_EQ(pieces("12345"), (Strings{"123", "45"}));
  EXPECT_EQ(pieces("a  b"), (Strings{"a", " ", " b"}));
  EXPECT_EQ(pieces("x!!\n\ny"), (Strings{"x", "!!\n\n", "y"}));
  EXPECT_EQ(pieces(" \n "), (Strings{" \n", " "}));
  EXPECT_EQ(pieces(""), Strings{});
}

TEST(PieceSplitter, NoByteIsLost) {
  for (std::string text : {std::string("\xff\xfe"), std::string("a\xffz\x80"), std::string("\xe2\x82"),
                           std::string("a\0b", 3), std::string(200'000, 'a'), std::string(200'000, '\n'),
                           std::string(200'000, '\xff')}) {
    std::string joined;
    for (const auto &piece : pieces(text))
      joined += piece;
    EXPECT_EQ(joined, text);
  }
}

TEST(PieceSplitter, UnknownPatternIsNamed) {
  auto splitter = PieceSplitter::create("qwen2");
  ASSERT_FALSE(splitter);
  EXPECT_NE(splitter.error().describe().find("[qwen2]"), std::string::npos);
}

TEST(Tokenizer, RoundTripsAnyBytes) {
  std::string all;
  for (int i = 0; i < 256; ++i)
    all += static_cast<char>(i);
  for (std::string text : {all, std::string(5000, 'x'), std::string("naïve \xf0\x9f\xa6\x8a fox")}) {
    std::string back;
    for (uint32_t id : tiny()->encode(text, Specials::None).value())
      back += tiny()->bytesOf(id);
    EXPECT_EQ(back, text);
  }
}

TEST(Tokenizer, UntrustedTextNeverBecomesControl) {
  auto trusted = tiny()->encode("<|start|>user<|eot|>", Specials::All).value();
  EXPECT_EQ(trusted.front(), *tiny()->find("<|start|>"));
  EXPECT_EQ(trusted.back(), *tiny()->find("<|eot|>"));
  for (uint32_t id : tiny()->encode("<|start|>user<|eot|>", Specials::None).value())
    EXPECT_FALSE(tiny()->isControl(id));
}

TEST(Tokenizer, KnowsTheEndOfGeneration) {
  EXPECT_EQ(tiny()->endOfGeneration(), (std::vector<uint32_t>{2037, 2038}));
  EXPECT_EQ(tiny()->bos(), 2036u);
  EXPECT_TRUE(tiny()->addsBos());
}

TEST(StreamDecoder, NeverSplitsACharacter) {
  std::string text = "a \xc3\xa9 \xe2\x82\xac \xf0\x9f\xa6\x8a!";
  StreamDecoder decoder(*tiny());
  std::string joined;
  // Byte by byte, through the single-byte tokens.
  for (char c : text) {
    auto ids = tiny()->encode(std::string(1, c), Specials::None).value();
    ASSERT_EQ(ids.size(), 1u);
    std::string part = decoder.push(ids[0]);
    if (!part.empty()) {
      EXPECT_NE(static_cast<unsigned char>(part[0]) & 0xc0, 0x80);
    }
    joined += part;
  }
  EXPECT_EQ(joined + decoder.finish(), text);
}

TEST(StreamDecoder, BadBytesBecomeReplacementCharacters) {
  StreamDecoder decoder(*tiny());
  std::string out;
  for (uint32_t id : tiny()->encode("\xff\xe2\x82x\xf0\x9f", Specials::None).value())
    out += decoder.push(id);
  out += decoder.finish();
  EXPECT_EQ(out, "\xef\xbf\xbd\xef\xbf\xbdx\xef\xbf\xbd");
}

} // namespace
} // namespace pewter::muse
