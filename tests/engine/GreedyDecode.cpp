// SPDX-License-Identifier: Apache-2.0
// Greedy decoding ahead: the tokens, logits and cache of plain decoding, also after an early stop.
#include "engine/TestEngine.h"

namespace pewter {
namespace {

using muse::Sequence;
using testing::SmallModel;

/// The plain loop.
std::vector<uint32_t> plain(Sequence &sequence, uint32_t token, uint32_t count) {
  std::vector<uint32_t> out;
  while (out.size() < count) {
    EXPECT_TRUE(sequence.decode(out.empty() ? token : out.back()));
    out.push_back(testing::argmax(sequence.logits()));
  }
  return out;
}

void expectEqual(const Sequence &a, const Sequence &b) {
  EXPECT_EQ(a.position(), b.position());
  EXPECT_EQ(a.tokens(), b.tokens());
  EXPECT_TRUE(std::ranges::equal(a.logits(), b.logits()));
  EXPECT_EQ(a.save(), b.save());
}

TEST(GreedyDecode, IsPlainDecoding) {
  auto engine = testing::engineOf("glimmer-tiny-q8_0.gguf");
  for (uint32_t depth : {0u, 100u, 500u}) { // 100: the ring fills on the way
    auto ahead = testing::sequenceOf(engine, 0), one = testing::sequenceOf(engine, 1);
    std::vector<uint32_t> prompt(depth, 77);
    if (depth) {
      ASSERT_TRUE(ahead->forceTokens(prompt));
      ASSERT_TRUE(one->forceTokens(prompt));
    }
    EXPECT_EQ(ahead->decodeGreedy(12, 45, {}).value(), plain(*one, 12, 45));
    expectEqual(*ahead, *one);
  }
}

TEST(GreedyDecode, AnEarlyStopLeavesNothingBehind) {
  auto engine = testing::engineOf("glimmer-tiny-q8_0.gguf");
  for (uint32_t depth : {5u, 120u, 300u})
    for (uint32_t stop : {1u, 9u, 16u, 20u}) {
      SCOPED_TRACE(::testing::Message() << "depth " << depth << ", stop " << stop);
      auto ahead = testing::sequenceOf(engine, 0), one = testing::sequenceOf(engine, 1);
      ASSERT_TRUE(ahead->forceTokens(std::vector<uint32_t>(depth, 40)));
      ASSERT_TRUE(one->forceTokens(std::vector<uint32_t>(depth, 40)));
      uint32_t seen = 0;
      auto ids = ahead->decodeGreedy(12, 64, [&](uint32_t) { return ++seen < stop; }).value();
      EXPECT_EQ(ids, plain(*one, 12, stop));
      expectEqual(*ahead, *one);
      ASSERT_TRUE(ahead->decode(3));
      ASSERT_TRUE(one->decode(3));
      EXPECT_TRUE(std::ranges::equal(ahead->logits(), one->logits()));
    }
}

TEST(GreedyDecode, RingsSmallerThanABlock) {
  auto engine = testing::makeEngine(testing::modelOf(SmallModel{.window = 5}), muse::MathMode::Strict);
  auto ahead = testing::sequenceOf(engine, 0), one = testing::sequenceOf(engine, 1);
  uint32_t seen = 0;
  auto ids = ahead->decodeGreedy(1, 40, [&](uint32_t) { return ++seen < 23; }).value();
  EXPECT_EQ(ids, plain(*one, 1, 23));
  expectEqual(*ahead, *one);
}

TEST(GreedyDecode, ChecksItsArguments) {
  auto engine = testing::engineOf("glimmer-tiny-q8_0.gguf");
  auto sequence = Sequence::create(engine, {.maxContext = 40}).value();
  EXPECT_FALSE(sequence->decodeGreedy(2048, 1, {}));
  EXPECT_FALSE(sequence->decodeGreedy(1, 41, {}));
  EXPECT_TRUE(sequence->decodeGreedy(1, 40, {}));
  EXPECT_FALSE(sequence->decodeGreedy(1, 1, {}));
}

} // namespace
} // namespace pewter
