// SPDX-License-Identifier: Apache-2.0
#include "serve/StopMatcher.h"
#include <gtest/gtest.h>
#include <random>

namespace pewter::serve {
namespace {

TEST(StopMatcher, HoldsBackWhatCouldBeAStop) {
  StopMatcher matcher({"END", "\n\n"});
  EXPECT_EQ(matcher.push("one\n"), "one");
  EXPECT_EQ(matcher.push("two E"), "\ntwo ");
  EXPECT_EQ(matcher.push("N"), "");
  EXPECT_EQ(matcher.push("d"), "ENd");
  EXPECT_EQ(matcher.push("xEN"), "x");
  EXPECT_EQ(matcher.push("D rest"), "");
  EXPECT_EQ(matcher.matched(), "END");
  EXPECT_EQ(matcher.push("more"), "");
}

TEST(StopMatcher, TheFirstInTheTextWins) {
  StopMatcher matcher({"later", "b"});
  EXPECT_EQ(matcher.push("a b later"), "a ");
  EXPECT_EQ(matcher.matched(), "b");
}

TEST(StopMatcher, GivesTheRestAtTheEnd) {
  StopMatcher matcher({"abc"});
  EXPECT_EQ(matcher.push("xab"), "x");
  EXPECT_EQ(matcher.finish(), "ab");
}

// However a text is cut, what comes out is what stands before the first stop.
TEST(StopMatcher, CutsDoNotMatter) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string text, out;
    for (int i = 0; i < 20; ++i)
      text += static_cast<char>('a' + random() % 2);
    std::vector<std::string> stops = {"abba", "bbb", "aabab"};
    size_t first = text.size();
    for (const std::string &stop : stops)
      first = std::min(first, text.find(stop));
    StopMatcher matcher(stops);
    for (size_t at = 0; at < text.size();) {
      size_t part = std::min<size_t>(1 + random() % 4, text.size() - at);
      out += matcher.push(text.substr(at, part));
      at += part;
    }
    out += matcher.finish();
    ASSERT_EQ(out, text.substr(0, first)) << text;
  }
}

} // namespace
} // namespace pewter::serve
