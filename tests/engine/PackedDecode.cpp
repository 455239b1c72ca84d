// SPDX-License-Identifier: Apache-2.0
// Sequences that decode together have the bits, logits and cache, that they would have alone.
#include "engine/TestEngine.h"
#include <random>

namespace pewter {
namespace {

using muse::GraphRecord;
using muse::KvType;
using muse::MathMode;
using muse::Sequence;
using muse::TensorType;
using testing::SmallModel;

std::vector<uint32_t> randomTokens(std::mt19937 &bits, size_t count, uint32_t vocab) {
  std::vector<uint32_t> ids(count);
  for (uint32_t &id : ids)
    id = bits() % vocab;
  return ids;
}

/// Sequences at depths of their own take `steps` steps together; twins take them alone.
void expectTheBitsOfIsolatedRuns(const std::shared_ptr<muse::Engine> &engine, std::vector<uint32_t> depths,
                                 int steps) {
  std::mt19937 bits(std::random_device{}());
  std::vector<std::unique_ptr<Sequence>> together, alone;
  std::vector<Sequence *> pointers;
  for (uint32_t i = 0; i < depths.size(); ++i) {
    together.push_back(testing::sequenceOf(engine, i));
    alone.push_back(testing::sequenceOf(engine, 100 + i));
    pointers.push_back(together.back().get());
    auto prompt = randomTokens(bits, depths[i], engine->config().vocab);
    if (prompt.empty())
      continue;
    ASSERT_TRUE(together[i]->forceTokens(prompt));
    ASSERT_TRUE(alone[i]->forceTokens(prompt));
  }
  for (int step = 0; step < steps; ++step) {
    auto tokens = randomTokens(bits, depths.size(), engine->config().vocab);
    auto ran = Sequence::decodeTogether(pointers, tokens);
    ASSERT_TRUE(ran) << ran.error().describe();
    for (size_t i = 0; i < depths.size(); ++i) {
      ASSERT_TRUE(alone[i]->decode(tokens[i]));
      ASSERT_EQ(together[i]->position(), alone[i]->position());
      ASSERT_TRUE(std::ranges::equal(together[i]->logits(), alone[i]->logits()))
          << "row " << i << " of " << depths.size() << ", step " << step;
    }
  }
  for (size_t i = 0; i < depths.size(); ++i)
    EXPECT_EQ(together[i]->save(), alone[i]->save()) << "row " << i;
}

class PackedDecode : public ::testing::TestWithParam<MathMode> {};

TEST_P(PackedDecode, OneToFourRowsHaveTheBitsOfIsolatedRuns) {
  auto engine = testing::engineOf("glimmer-tiny-q4_k_m.gguf", GetParam());
  expectTheBitsOfIsolatedRuns(engine, {3}, 3);
  expectTheBitsOfIsolatedRuns(engine, {0, 40}, 3);
  expectTheBitsOfIsolatedRuns(engine, {126, 5, 200}, 4); // one ring fills on the way, one has wrapped
  expectTheBitsOfIsolatedRuns(engine, {31, 127, 0, 130}, 4);
}
INSTANTIATE_TEST_SUITE_P(Engine, PackedDecode, ::testing::Values(MathMode::Strict, MathMode::Fast),
                         [](const auto &info) { return std::string(nameOf(info.param)); });

TEST(PackedDecodeFormats, EveryFormatHasTheBitsOfIsolatedRuns) {
  for (TensorType type : {TensorType::F32, TensorType::F16, TensorType::BF16, TensorType::Q8_0, TensorType::Q4_0,
                          TensorType::IQ4_NL, TensorType::MXFP4, TensorType::Q5_K, TensorType::Q6_K}) {
    SCOPED_TRACE(nameOf(type));
    SmallModel small{.hidden = 256, .heads = 4, .kvHeads = 2, .headDim = 64, .ffn = 512, .type = type};
    auto engine = testing::makeEngine(testing::modelOf(small), MathMode::Fast, {.kv = KvType::F32});
    expectTheBitsOfIsolatedRuns(engine, {2, 33, 0, 7}, 2);
  }
}

TEST(PackedDecodeGraph, HasTheGroupsOfOneRow) {
  auto engine = testing::engineOf("glimmer-tiny-q4_k_m.gguf");
  std::vector<std::unique_ptr<Sequence>> sequences;
  std::vector<Sequence *> rows;
  for (uint32_t i = 0; i < 3; ++i)
    rows.push_back(sequences.emplace_back(testing::sequenceOf(engine, i)).get());
  GraphRecord packed;
  ASSERT_TRUE(Sequence::decodeTogether(rows, std::vector<uint32_t>{1, 2, 3}, &packed));
  auto one = testing::sequenceOf(engine, 9)->recordDecode(1).value();
  ASSERT_EQ(packed.groups.size(), one.groups.size());
  EXPECT_EQ(packed.commits, 1u);
  EXPECT_EQ(packed.waits, 1u);
  for (size_t i = 0; i < one.groups.size(); ++i) {
    EXPECT_EQ(packed.groups[i].label, one.groups[i].label);
    const std::string &label = one.groups[i].label;
    bool perRow = label == "qk_norm" || label == "rope" || label == "kv_store_attention";
    EXPECT_EQ(packed.groups[i].dispatches.size(), one.groups[i].dispatches.size() * (perRow ? 3 : 1)) << label;
  }
}

TEST(PackedDecodeErrors, LeaveTheSequencesAsTheyWere) {
  auto engine = testing::engineOf("glimmer-tiny-q4_k_m.gguf");
  auto a = testing::sequenceOf(engine, 0), b = testing::sequenceOf(engine, 1);
  auto shortOne = Sequence::create(engine, {.id = 2, .maxContext = 32}).value();
  ASSERT_TRUE(shortOne->prefill(std::vector<uint32_t>(32, 5), {}));
  auto other = testing::sequenceOf(testing::engineOf("glimmer-tiny-q8_0.gguf"), 3);
  using Rows = std::vector<Sequence *>;
  using Tokens = std::vector<uint32_t>;
  EXPECT_FALSE(Sequence::decodeTogether(Rows{}, Tokens{}));
  EXPECT_FALSE(Sequence::decodeTogether(Rows{a.get(), b.get()}, Tokens{1}));
  EXPECT_FALSE(Sequence::decodeTogether(Rows{a.get(), a.get()}, Tokens{1, 1}));
  EXPECT_FALSE(Sequence::decodeTogether(Rows{a.get(), b.get()}, Tokens{1, 2048}));
  EXPECT_FALSE(Sequence::decodeTogether(Rows{a.get(), shortOne.get()}, Tokens{1, 1}));
  EXPECT_FALSE(Sequence::decodeTogether(Rows{a.get(), other.get()}, Tokens{1, 1}));
  EXPECT_EQ(a->position(), 0u);
  EXPECT_TRUE(Sequence::decodeTogether(Rows{a.get(), b.get()}, Tokens{1, 2}));
  EXPECT_EQ(a->position(), 1u);
  EXPECT_EQ(b->tokens(), Tokens{2});
}

} // namespace
} // namespace pewter
