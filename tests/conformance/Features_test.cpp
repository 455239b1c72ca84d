// SPDX-License-Identifier: Apache-2.0
//
// What features.metal computes, written out.
#include "Conformance.h"

namespace pewter::test {
namespace {

struct Features : Chapter {
  Features() : Chapter("features") {}
  static constexpr size_t kThreads = 70;
};

TEST_F(Features, Texts) {
  auto out = room(kThreads * 12 * 4);
  run("texts", {out}, kThreads);
  const auto got = contents<int>(out);
  const char *names[] = {"zero", "one", "two and more"};
  const char *table[] = {"abc", "def"};
  for (size_t i = 0; i < kThreads; ++i) {
    const int expected[12] = {"hello"[i % 5], "world"[i % 5], "pointer"[i % 7], names[i % 3][0],
                              table[i % 2][i % 3], 12, 5, i % 2 ? 3 : 2, "local"[i % 5], "auto"[i % 4], 12, 4};
    for (size_t k = 0; k < 12; ++k)
      EXPECT_EQ(got[i * 12 + k], expected[k]) << "thread " << i << ", value " << k;
  }
}

TEST_F(Features, Bindings) {
  struct Pair {
    int a;
    float b;
  };
  auto out = room(kThreads * 8 * 4);
  std::vector<Pair> pairs(kThreads);
  for (size_t i = 0; i < kThreads; ++i)
    pairs[i] = {int(i), float(i) + 20};
  auto stored = buffer(pairs);
  run("bindings", {out, stored, buffer(std::vector<Pair>{{40, 2}})}, kThreads);
  const auto got = contents<int>(out);
  const auto after = contents<Pair>(stored);
  for (size_t i = 0; i < kThreads; ++i) {
    const int n = int(i);
    const int expected[8] = {n + 10 * (n + 1) + 100 * (n + 2) + 1000 * (n + 3), 7 + n, 504, 3 * n, n + 20, 42,
                             n + 6, 14};
    for (size_t k = 0; k < 8; ++k)
      EXPECT_EQ(got[i * 8 + k], expected[k]) << "thread " << i << ", value " << k;
    EXPECT_EQ(after[i].a, n + 3);
  }
}

TEST_F(Features, Braces) {
  auto out = room(kThreads * 4 * 4);
  run("braces", {out}, kThreads);
  const auto got = contents<float>(out);
  for (size_t i = 0; i < kThreads; ++i) {
    EXPECT_EQ(got[i * 4], float(i % 4 * 4 + i % 3 + 1));
    EXPECT_EQ(got[i * 4 + 1], 3 + float(i));
    EXPECT_EQ(got[i * 4 + 2], 9);
    EXPECT_EQ(got[i * 4 + 3], 17);
  }
}

TEST_F(Features, PointersToFunctionsAndMembers) {
  auto out = room(kThreads * 3 * 4);
  run("pointers", {out}, kThreads);
  const auto got = contents<float>(out);
  for (size_t i = 0; i < kThreads; ++i) {
    const float x = float(i);
    EXPECT_EQ(got[i * 3], x + 1 + 2 * x);
    EXPECT_EQ(got[i * 3 + 1], i % 2 ? x * x : 4 * x);
    EXPECT_EQ(got[i * 3 + 2], x);
  }
}

TEST_F(Features, TypesOfTheHostAndNamesOfTheLibrary) {
  auto out = room(12);
  run("sizes", {out}, 1, 1);
  EXPECT_EQ(contents<uint32_t>(out), (std::vector<uint32_t>{5, 4, 3}));
  auto reduced = room(64 * 4);
  run("own_reduction", {reduced}, 64);
  const auto got = contents<float>(reduced);
  for (size_t i = 0; i < 64; ++i)
    EXPECT_EQ(got[i], i < 32 ? 31 + 1 + 31 : 63 + 1 + 63);
}

TEST_F(Features, AssignmentsByAddressSpace) {
  auto out = room(kThreads * 4 * 4), shifted = room(kThreads * 2 * 4);
  run("assignments", {out, shifted}, kThreads);
  const auto got = contents<uint32_t>(out);
  for (uint32_t i = 0; i < kThreads; ++i) {
    EXPECT_EQ(got[i * 4], i + 1000);
    EXPECT_EQ(got[i * 4 + 1], i + 2000);
    EXPECT_EQ(got[i * 4 + 2], i + 1000);
    EXPECT_EQ(got[i * 4 + 3], i + 2000);
  }
}

} // namespace
} // namespace pewter::test
