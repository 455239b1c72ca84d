// SPDX-License-Identifier: Apache-2.0
#include "serve/Grammar.h"
#include <array>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>
#include <sys/resource.h>

namespace pewter::serve {
namespace {

bool fits(std::string_view grammar, std::string_view text) {
  auto read = Grammar::parse(grammar);
  EXPECT_TRUE(read) << grammar << ": " << (read ? "" : read.error().message());
  if (!read)
    return false;
  GrammarMatcher matcher(*read);
  return matcher.push(text) && matcher.mayEnd();
}

TEST(Grammar, RepetitionsCount) {
  for (auto [rule, least, most] : {std::tuple("\"a\"", 1, 1), std::tuple("\"a\"?", 0, 1), std::tuple("\"a\"*", 0, 99),
                                   std::tuple("\"a\"+", 1, 99), std::tuple("\"a\"{3}", 3, 3), std::tuple("\"a\"{2,}", 2, 99),
                                   std::tuple("\"a\"{2,4}", 2, 4), std::tuple("(\"a\"){0,2}", 0, 2),
                                   std::tuple("\"a\"{0,0}", 0, 0), std::tuple("(\"a\"?){2,3}", 0, 3)})
    for (int n = 0; n < 8; ++n)
      EXPECT_EQ(fits(std::string("root ::= ") + rule, std::string(static_cast<size_t>(n), 'a')), n >= least && n <= most)
          << rule << " " << n;
}

TEST(Grammar, RulesReferToEachOtherInAnyWay) {
  const char *left = "root ::= root \"+\" term | term\nterm ::= [0-9]+ | \"(\" root \")\"";
  EXPECT_TRUE(fits(left, "1+(23+4)+5"));
  EXPECT_FALSE(fits(left, "1+(23+4"));
  EXPECT_FALSE(fits(left, "+1"));
  const char *right = "root ::= \"a\" root | \"\"";
  EXPECT_TRUE(fits(right, std::string(200, 'a')));
  const char *ambiguous = "root ::= root root | \"a\" | \"\"";
  EXPECT_TRUE(fits(ambiguous, std::string(40, 'a')));
  EXPECT_TRUE(fits("root ::= a b c\na ::= \"\"\nb ::= a a\nc ::= b \"x\" b", "x"));
}

TEST(Grammar, ClassesAreCharactersNotBytes) {
  EXPECT_TRUE(fits("root ::= [a-cé🙂]+", "aéc🙂"));
  EXPECT_FALSE(fits("root ::= [a-cé🙂]+", "d"));
  EXPECT_TRUE(fits("root ::= [^a-c]+", "déß🙂\n"));
  EXPECT_FALSE(fits("root ::= [^é]", "é"));
  EXPECT_TRUE(fits("root ::= . . .", "aé🙂"));
  EXPECT_FALSE(fits("root ::= .", "aé"));
  EXPECT_TRUE(fits(R"(root ::= "\x41\u00e9\U0001F642\n\t\"\\")", "Aé🙂\n\t\"\\"));
  EXPECT_TRUE(fits(R"(root ::= [\]\[\-\x00-\x02]+)", std::string("][-\1\2")));
}

// Every character of every range of Unicode, by its bytes.
TEST(Grammar, RangesOfCharactersAreExact) {
  std::mt19937 random(5);
  auto utf8 = [](uint32_t c) {
    std::string out;
    if (c < 0x80)
      out = {char(c)};
    else if (c < 0x800)
      out = {char(0xc0 | c >> 6), char(0x80 | (c & 63))};
    else if (c < 0x10000)
      out = {char(0xe0 | c >> 12), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
    else
      out = {char(0xf0 | c >> 18), char(0x80 | (c >> 12 & 63)), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
    return out;
  };
  const uint32_t edges[] = {0, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x3ffff, 0x40000, 0x10ffff};
  auto pick = [&]() -> uint32_t {
    uint32_t c = random() % 2 ? edges[random() % std::size(edges)] : random() % 0x110000;
    return c >= 0xd800 && c < 0xe000 ? 0xd7ff : c;
  };
  for (int round = 0; round < 200; ++round) {
    uint32_t a = pick(), b = pick();
    if (a > b)
      std::swap(a, b);
    auto grammar = Grammar::parse(fmt::format("root ::= [\\U{:08x}-\\U{:08x}]", a, b)).value();
    for (int i = 0; i < 60; ++i) {
      uint32_t c = i < 4 ? std::array{a, b, a ? a - 1 : 0, std::min(b + 1, 0x10ffffu)}[static_cast<size_t>(i)] : pick();
      if (c >= 0xd800 && c < 0xe000)
        continue;
      GrammarMatcher matcher(grammar);
      ASSERT_EQ(matcher.push(utf8(c)) && matcher.mayEnd(), c >= a && c <= b) << std::hex << a << " " << b << " " << c;
    }
  }
}

TEST(Grammar, WhatIsWrongIsNamed) {
  for (auto [text, word] : {std::pair("root = \"a\"", "::="), std::pair("a ::= \"b\"", "root"),
                            std::pair("root ::= b", "b"), std::pair("root ::= \"a", "string"),
                            std::pair("root ::= [a", "class"), std::pair("root ::= (\"a\"", "group"),
                            std::pair("root ::= \"a\"{3,2}", "repeats"), std::pair("root ::= \"a\"{9999}", "repetition"),
                            std::pair("root ::= \"\\q\"", "escape"), std::pair("root ::= [z-a]", "range"),
                            std::pair("root ::= \"a\"\nroot ::= \"b\"", "twice"), std::pair("root ::= \"\xff\"", "UTF-8"),
                            std::pair("root ::= \"\\ud800\"", "character"), std::pair("", "root")}) {
    auto read = Grammar::parse(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message().find(word), std::string::npos) << text << ": " << read.error().message();
  }
  EXPECT_FALSE(Grammar::parse("root ::= " + std::string(500, '(') + "\"a\"" + std::string(500, ')')));
}

TEST(Grammar, OnlyWhatGrowsTooFarIsRefused) {
  for (const char *large : {"root ::= \"a\"{2000}{2000}", "root ::= \"a\"{2000}{0,2000}", "root ::= \"a\"{2000}{2000,}"}) {
    auto read = Grammar::parse(large);
    ASSERT_FALSE(read) << large;
    EXPECT_NE(read.error().message().find("more than [200000] symbols"), std::string::npos) << read.error().message();
  }
  std::string side = "root ::="; // a single rule of 60 million symbols
  for (int i = 0; i < 300; ++i)
    side += " \"a\"{2000}{100}";
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  EXPECT_FALSE(Grammar::parse(side));
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 100 << 10) << "KiB";
  // A group is one symbol, however often what is in it repeats.
  auto nested = Grammar::parse("root ::= ((((\"a\"{2000}){2000}){2000}){2000})");
  ASSERT_TRUE(nested) << nested.error().message();
  EXPECT_LT((*nested)->size(), 10'000u);
  GrammarMatcher matcher(*nested);
  EXPECT_TRUE(matcher.push(std::string(5000, 'a')));
  EXPECT_FALSE(matcher.mayEnd());
  EXPECT_FALSE(matcher.push("b"));
}

TEST(Grammar, GoingBackForgets) {
  auto grammar = Grammar::parse("root ::= \"ab\" [0-9]* \"c\"").value();
  GrammarMatcher matcher(grammar);
  EXPECT_TRUE(matcher.push("ab12"));
  EXPECT_FALSE(matcher.push("3x")); // nothing of it
  EXPECT_EQ(matcher.length(), 4u);
  matcher.pop(2);
  EXPECT_TRUE(matcher.push("c"));
  EXPECT_TRUE(matcher.mayEnd());
  EXPECT_TRUE(matcher.next().none());
}

} // namespace
} // namespace pewter::serve
