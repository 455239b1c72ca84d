// SPDX-License-Identifier: Apache-2.0
// The fused kernels that decode and prefill take on a GPU give the logits of the plain ones, within what 16-bit
// activations (decode) and halves (prefill) leave out; rows that decode together have the bits of rows alone.
#include "engine/TestEngine.h"
#include <cmath>
#include <random>

namespace pewter {
namespace {

using muse::MathMode;
using muse::Sequence;
using muse::TensorType;
using testing::SmallModel;

class FusedKernels : public ::testing::TestWithParam<TensorType> {
protected:
  void SetUp() override {
    // Every matrix is one that the kernels take: outputs in multiples of 128, rows of Q6_K in multiples of 4 bytes,
    // heads 64 wide.
    SmallModel small{.hidden = 512, .heads = 8, .kvHeads = 2, .headDim = 64, .ffn = 512, .type = GetParam()};
    auto model = testing::modelOf(small);
    fused_ = testing::makeEngine(model, MathMode::Fast, {.matvec = "held"});
    plain_ = testing::makeEngine(model, MathMode::Fast, {.matvec = "4r2s"});
    ASSERT_TRUE(fused_->kernels().isFused);
    ASSERT_TRUE(fused_->kernels().hasGemm);
    ASSERT_FALSE(plain_->kernels().isFused);
    random_.seed(seed_ = std::random_device{}());
  }
  std::vector<uint32_t> tokens(size_t count) {
    std::vector<uint32_t> ids(count);
    for (uint32_t &id : ids)
      id = random_() % fused_->config().vocab;
    return ids;
  }
  /// The difference relative to the size of the logits, both as roots of mean squares.
  void expectNear(const Sequence &a, const Sequence &b, double limit) {
    double difference = 0, size = 0;
    for (size_t i = 0; i < a.logits().size(); ++i) {
      difference += std::pow(double(a.logits()[i]) - b.logits()[i], 2);
      size += std::pow(double(b.logits()[i]), 2);
    }
    EXPECT_GT(size, 0);
    EXPECT_LE(std::sqrt(difference / size), limit) << "seed " << seed_; // Not for a NaN.
  }

  std::shared_ptr<muse::Engine> fused_, plain_;
  std::mt19937 random_;
  uint32_t seed_ = 0;
};

TEST_P(FusedKernels, DecodeAsThePlainOnes) {
  auto a = testing::sequenceOf(fused_), b = testing::sequenceOf(plain_);
  for (size_t count : {1u, 40u, 100u}) { // the last wraps rings
    auto ids = tokens(count);
    ASSERT_TRUE(a->forceTokens(ids));
    ASSERT_TRUE(b->forceTokens(ids));
    expectNear(*a, *b, 2e-3);
  }
}

TEST_P(FusedKernels, PrefillAsThePlainOnes) {
  auto a = testing::sequenceOf(fused_), b = testing::sequenceOf(plain_);
  for (size_t count : {33u, 70u, 64u}) {
    auto ids = tokens(count);
    ASSERT_TRUE(a->prefill(ids, {}));
    ASSERT_TRUE(b->prefill(ids, {}));
    expectNear(*a, *b, 1e-2);
  }
}

TEST_P(FusedKernels, RowsTogetherHaveTheBitsOfRowsAlone) {
  std::vector<std::unique_ptr<Sequence>> together, alone;
  std::vector<Sequence *> rows;
  for (uint32_t i = 0; i < 4; ++i) {
    together.push_back(testing::sequenceOf(fused_, i));
    alone.push_back(testing::sequenceOf(fused_, 100 + i));
    auto ids = tokens(1 + 37 * i);
    ASSERT_TRUE(together[i]->forceTokens(ids));
    ASSERT_TRUE(alone[i]->forceTokens(ids));
    rows.push_back(together[i].get());
  }
  for (size_t count : {4u, 3u, 2u, 1u}) {
    auto ids = tokens(count);
    ASSERT_TRUE(Sequence::decodeTogether(std::span(rows).first(count), ids));
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(alone[i]->decode(ids[i]));
      EXPECT_TRUE(std::ranges::equal(together[i]->logits(), alone[i]->logits()))
          << "row " << i << " of " << count << ", seed " << seed_;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Engine, FusedKernels,
                         ::testing::Values(TensorType::Q4_K, TensorType::Q5_K, TensorType::Q6_K, TensorType::Q8_0),
                         [](const auto &info) { return std::string(nameOf(info.param)); });

} // namespace
} // namespace pewter
