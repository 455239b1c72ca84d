// SPDX-License-Identifier: Apache-2.0
// Sequences of other shapes than the shipped model's, against the plain-loop reference; snapshots;
// rings; cancelling; sharing.
#include "engine/Reference.h"
#include "engine/TestEngine.h"
#include <cmath>
#include <random>
#include <thread>

namespace pewter {
namespace {

using muse::KvType;
using muse::MathMode;
using muse::TensorType;
using testing::SmallModel;

std::vector<uint32_t> randomTokens(uint32_t count, uint32_t vocab, uint32_t seed = 3) {
  std::mt19937 bits(seed);
  std::vector<uint32_t> ids(count);
  for (uint32_t &id : ids)
    id = bits() % vocab;
  return ids;
}

double worst(std::span<const float> a, const std::vector<float> &b) {
  double most = 0;
  for (size_t i = 0; i < b.size(); ++i)
    most = std::max(most, double(std::fabs(a[i] - b[i])));
  return most;
}

struct Shape {
  const char *name;
  SmallModel model;
};
const Shape kShapes[] = {
    {"Small", {}},
    {"TinyWindow", {.window = 5}},
    {"OneLayer", {.layers = 1, .period = 0}},
    {"AllFull", {.layers = 3, .period = 1}},
    {"ManyHeads", {.heads = 16, .kvHeads = 1, .headDim = 32}},
    {"WideHeads", {.hidden = 96, .heads = 2, .kvHeads = 2, .headDim = 128}},
    {"OddHeads", {.hidden = 160, .heads = 6, .kvHeads = 3, .headDim = 96, .ffn = 224}},
    {"Q8_0", {.hidden = 128, .ffn = 160, .type = TensorType::Q8_0}},
    {"Q4_0", {.hidden = 128, .ffn = 160, .type = TensorType::Q4_0}},
    {"IQ4_NL", {.hidden = 128, .ffn = 160, .type = TensorType::IQ4_NL}},
    {"MXFP4", {.hidden = 128, .ffn = 160, .type = TensorType::MXFP4}},
    {"BF16", {.type = TensorType::BF16}},
    {"F16Tied", {.type = TensorType::F16, .tied = true}},
    {"Q4_K", {.hidden = 256, .heads = 4, .kvHeads = 2, .headDim = 64, .ffn = 512, .type = TensorType::Q4_K}},
    {"Q5_K", {.hidden = 256, .heads = 4, .kvHeads = 2, .headDim = 64, .ffn = 512, .type = TensorType::Q5_K}},
    {"Q6_K", {.hidden = 256, .heads = 4, .kvHeads = 2, .headDim = 64, .ffn = 512, .type = TensorType::Q6_K}},
    {"NoSoftcap", {.softcap = 0}},
    {"OddVocabulary", {.vocabMerges = 0}},
    {"OneHead", {.heads = 1, .kvHeads = 1, .headDim = 64}},
    {"FiveKvHeads", {.hidden = 160, .heads = 15, .kvHeads = 5, .headDim = 32, .ffn = 32}},
    {"WideHeadsOddWindow", {.layers = 3, .hidden = 96, .heads = 2, .kvHeads = 2, .headDim = 160, .ffn = 1056, .window = 33}},
    {"WindowOfOne", {.window = 1}},
    {"OneLayerQ8_0Tied",
     {.layers = 1, .hidden = 96, .heads = 3, .kvHeads = 1, .headDim = 32, .ffn = 352, .vocabMerges = 5,
      .type = TensorType::Q8_0, .tied = true}},
    {"Q4_KTied",
     {.hidden = 512, .heads = 12, .kvHeads = 4, .headDim = 64, .ffn = 768, .type = TensorType::Q4_K, .tied = true}},
    {"Q4_0OddWidths", {.hidden = 224, .heads = 7, .kvHeads = 7, .headDim = 32, .ffn = 288, .type = TensorType::Q4_0}},
};

class Shapes : public ::testing::TestWithParam<Shape> {};

// Prefill in one chunk, then decode past several wraps of the ring: every row of logits agrees.
TEST_P(Shapes, AgreeWithTheReference) {
  auto model = testing::modelOf(GetParam().model);
  auto engine = testing::makeEngine(model, MathMode::Strict, {.kv = KvType::F32});
  testing::Reference reference(*model, engine->config());
  auto ids = randomTokens(150, engine->config().vocab);
  auto sequence = testing::sequenceOf(engine);
  std::vector<float> expected;
  for (size_t i = 0; i < 77; ++i)
    expected = reference.step(ids[i], i == 76);
  ASSERT_TRUE(sequence->prefill(std::span(ids).first(77), {}));
  EXPECT_LT(worst(sequence->logits(), expected), 2e-4);
  for (size_t i = 77; i < ids.size(); ++i) {
    expected = reference.step(ids[i]);
    ASSERT_TRUE(sequence->decode(ids[i]));
    ASSERT_LT(worst(sequence->logits(), expected), 2e-4) << "position " << i;
  }
}
INSTANTIATE_TEST_SUITE_P(Engine, Shapes, ::testing::ValuesIn(kShapes),
                         [](const auto &info) { return std::string(info.param.name); });

// Prefill with activations of eight bits: near the reference where weights are codes, the bits of floats elsewhere.
TEST_P(Shapes, AgreeNearlyWithIntegerActivations) {
  auto model = testing::modelOf(GetParam().model);
  auto exact = testing::makeEngine(model, MathMode::Strict, {.kv = KvType::F32});
  auto integers = testing::makeEngine(model, MathMode::Strict,
                                      {.kv = KvType::F32, .activations = muse::ActivationType::Int8});
  const bool isUsed = integers->kernels().quantizeTiles != nullptr;
  EXPECT_EQ(isUsed, !integers->kernels().matmulInt8.empty());
  auto ids = randomTokens(150, exact->config().vocab);
  auto one = testing::sequenceOf(exact), other = testing::sequenceOf(integers);
  for (auto [first, count] : {std::pair(0, 77), std::pair(77, 40), std::pair(117, 33)}) {
    ASSERT_TRUE(one->prefill(std::span(ids).subspan(first, count), {}));
    ASSERT_TRUE(other->prefill(std::span(ids).subspan(first, count), {}));
    std::vector<float> expected(one->logits().begin(), one->logits().end());
    double squares = 0, differences = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      squares += expected[i] * expected[i];
      differences += std::pow(double(expected[i]) - other->logits()[i], 2);
    }
    EXPECT_LT(std::sqrt(differences / squares), isUsed ? 0.05 : 1e-30) << first;
    EXPECT_EQ(differences > 0, isUsed) << first;
  }
  ASSERT_TRUE(one->decode(1));
  ASSERT_TRUE(other->decode(1));
}

// Nvfp4 needs companions, which the quantiser writes.
TEST(Sequences, DecodeAndForcedDecodeHaveTheSameBits) {
  auto engine = testing::engineOf("glimmer-tiny-q8_0.gguf");
  auto ids = randomTokens(200, engine->config().vocab);
  auto one = testing::sequenceOf(engine, 0), many = testing::sequenceOf(engine, 1);
  for (uint32_t id : ids)
    ASSERT_TRUE(one->decode(id));
  ASSERT_TRUE(many->forceTokens(ids));
  EXPECT_TRUE(std::ranges::equal(one->logits(), many->logits()));
  EXPECT_EQ(one->position(), many->position());
  EXPECT_EQ(one->save(), many->save());
}

TEST(Sequences, PrefillAgreesWithDecodeAcrossWraps) {
  auto engine = testing::engineOf("glimmer-tiny-q8_0.gguf");
  auto ids = randomTokens(700, engine->config().vocab);
  auto one = testing::sequenceOf(engine, 0), chunked = testing::sequenceOf(engine, 1);
  ASSERT_TRUE(one->forceTokens(ids));
  for (size_t done = 0; done < ids.size();) {
    size_t count = std::min<size_t>(done == 0 ? 300 : 77, ids.size() - done);
    ASSERT_TRUE(chunked->prefill(std::span(ids).subspan(done, count), {}));
    done += count;
  }
  double most = 0;
  for (size_t i = 0; i < one->logits().size(); ++i)
    most = std::max(most, double(std::fabs(one->logits()[i] - chunked->logits()[i])));
  EXPECT_LT(most, 0.05);
}

TEST(Sequences, SnapshotsRestoreTheSameBits) {
  auto engine = testing::engineOf("glimmer-tiny-q8_0.gguf");
  auto ids = randomTokens(330, engine->config().vocab);
  // Around the wrap of the 128-row ring, and at the ends.
  for (uint32_t cut : {1u, 31u, 127u, 128u, 129u, 255u, 256u, 300u}) {
    auto original = testing::sequenceOf(engine, 0), restored = testing::sequenceOf(engine, 1);
    ASSERT_TRUE(original->forceTokens(std::span(ids).first(cut)));
    Bytes saved = original->save();
    ASSERT_TRUE(restored->restore(saved));
    EXPECT_EQ(restored->save(), saved);
    for (uint32_t i = cut; i < cut + 5; ++i) {
      ASSERT_TRUE(original->decode(ids[i]));
      ASSERT_TRUE(restored->decode(ids[i]));
      EXPECT_TRUE(std::ranges::equal(original->logits(), restored->logits())) << "cut " << cut;
    }
  }
}

TEST(Sequences, DamagedSnapshotsAreRefused) {
  auto engine = testing::engineOf("glimmer-tiny-q8_0.gguf");
  auto sequence = testing::sequenceOf(engine);
  ASSERT_TRUE(sequence->forceTokens(randomTokens(20, 2048)));
  Bytes saved = sequence->save();
  for (size_t size = 0; size < saved.size(); size += 1 + size / 3)
    EXPECT_FALSE(sequence->restore(ByteView(saved).first(size))) << size;
  for (size_t at : {0u, 4u, 8u, 12u, 16u, 20u}) {
    Bytes damaged = saved;
    damaged[at] ^= std::byte(0x55);
    EXPECT_FALSE(sequence->restore(damaged)) << at;
  }
  EXPECT_EQ(sequence->save(), saved) << "a refused snapshot changes nothing";
}

TEST(Sequences, CancelledPrefillLeavesTheSequenceUsable) {
  auto engine = testing::engineOf("glimmer-tiny-q8_0.gguf");
  auto sequence = testing::sequenceOf(engine);
  std::atomic<bool> cancel = false;
  auto ids = randomTokens(1500, 2048);
  auto result = sequence->prefill(ids, {.cancel = &cancel, .progress = [&](uint32_t) { cancel = true; }});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().describe().find("cancelled after 512 of 1500 tokens"), std::string::npos);
  EXPECT_EQ(sequence->position(), 512u);
  ASSERT_TRUE(sequence->decode(5));
  auto other = testing::sequenceOf(engine, 1);
  ASSERT_TRUE(other->prefill(std::span(ids).first(512), {}));
  ASSERT_TRUE(other->decode(5));
  EXPECT_TRUE(std::ranges::equal(sequence->logits(), other->logits()));
}

TEST(Sequences, CancelledDecodeLeavesTheSequenceUsable) {
  auto engine = testing::engineOf("glimmer-tiny-q8_0.gguf");
  auto prompt = randomTokens(20, 2048);
  std::atomic<bool> cancel = false;
  uint32_t steps = 0;
  auto stopped = testing::sequenceOf(engine, 0), whole = testing::sequenceOf(engine, 1);
  muse::GenerationOptions options{.maxTokens = 30, .ignoreEnd = true, .sampler = {.temperature = 0}};
  auto all = muse::generate(*whole, prompt, options, {}).value();
  options.cancel = &cancel;
  auto part = muse::generate(*stopped, prompt, options, [&](const auto &) {
                if (++steps == 9)
                  cancel = true;
              }).value();
  EXPECT_EQ(part.stop, muse::StopReason::Cancelled);
  ASSERT_LT(part.ids.size(), 12u);
  EXPECT_TRUE(std::equal(part.ids.begin(), part.ids.end(), all.ids.begin()));
  // What was decoded stays; going on gives what an undisturbed run gives.
  while (stopped->position() < whole->position())
    ASSERT_TRUE(stopped->decode(all.ids[stopped->position() - prompt.size()]));
  EXPECT_TRUE(std::ranges::equal(stopped->logits(), whole->logits()));
  EXPECT_EQ(stopped->save(), whole->save());
}

TEST(Sequences, NarrowMatmulsHaveTheBitsOfWideOnes) {
  for (auto type : {TensorType::F32, TensorType::Q8_0, TensorType::Q6_K}) {
    auto model = testing::modelOf(
        {.hidden = 256, .heads = 4, .kvHeads = 2, .headDim = 64, .ffn = 768, .vocabMerges = 5, .type = type});
    auto wide = testing::makeEngine(model, MathMode::Strict, {.matmulOutputs = 8});
    auto narrow = testing::makeEngine(model, MathMode::Strict, {.matmulOutputs = 2});
    auto a = testing::sequenceOf(wide), b = testing::sequenceOf(narrow);
    auto ids = randomTokens(90, wide->config().vocab);
    ASSERT_TRUE(a->prefill(ids, {}));
    ASSERT_TRUE(b->prefill(ids, {}));
    EXPECT_TRUE(std::ranges::equal(a->logits(), b->logits())) << nameOf(type);
    EXPECT_EQ(a->save(), b->save()) << nameOf(type);
  }
  EXPECT_FALSE(muse::Engine::create(testing::contextOf(MathMode::Strict), testing::modelOf(SmallModel{}),
                                    {.matmulOutputs = 3}));
}

// Perplexity comes from whole chunks; the plain way is a token at a time.
TEST(Sequences, PerplexityIsThatOfSingleSteps) {
  auto engine = testing::engineOf("glimmer-tiny-q8_0.gguf");
  auto sequence = testing::sequenceOf(engine);
  auto ids = engine->tokenizer().encode("Once upon a time there was a shy owl named Sorrel who lived in Larkfield. "
                                        "The air was warm and smelled of hay. He was always a quiet owl who asked "
                                        "many questions. Sorrel wanted more than anything to win the story night. "
                                        "There was one problem: Sorrel could not tell a story very well.",
                                        muse::Specials::None)
                 .value();
  double loss = 0;
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    ASSERT_TRUE(sequence->decode(ids[i]));
    loss += muse::logSumExp(sequence->logits()) - sequence->logits()[ids[i + 1]];
  }
  auto measured = muse::measurePerplexity(*sequence, ids, 0, {}).value();
  EXPECT_EQ(measured.tokens, ids.size() - 1);
  EXPECT_NEAR(measured.meanLogLoss, loss / double(measured.tokens), 1e-3);
  EXPECT_LT(measured.perplexity, 20) << "it knows this text";

  auto halves = muse::measurePerplexity(*sequence, ids, 20, {}).value();
  EXPECT_EQ(halves.tokens, ids.size() / 20 * 10) << "the second half of each whole window";
}

TEST(Sequences, LimitsAreErrors) {
  auto engine = testing::engineOf("glimmer-tiny-q8_0.gguf");
  auto sequence = muse::Sequence::create(engine, {.maxContext = 40}).value();
  EXPECT_FALSE(sequence->prefill({}, {}));
  EXPECT_FALSE(sequence->decode(2048));
  EXPECT_FALSE(sequence->prefill(randomTokens(41, 2048), {}));
  ASSERT_TRUE(sequence->prefill(randomTokens(40, 2048), {}));
  auto full = sequence->decode(1);
  ASSERT_FALSE(full);
  EXPECT_NE(full.error().describe().find("context of 40 tokens is full"), std::string::npos);
  EXPECT_FALSE(muse::Sequence::create(engine, {.maxContext = 4096}));
}

TEST(Sequences, TwoThreadsShareAnEngine) {
  auto engine = testing::engineOf("glimmer-tiny-q8_0.gguf");
  auto ids = randomTokens(60, 2048);
  auto alone = testing::sequenceOf(engine, 9);
  for (uint32_t id : ids)
    ASSERT_TRUE(alone->decode(id));
  std::vector<std::unique_ptr<muse::Sequence>> sequences;
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 4; ++i)
    sequences.push_back(testing::sequenceOf(engine, i));
  for (auto &sequence : sequences)
    threads.emplace_back([&] {
      for (uint32_t id : ids)
        EXPECT_TRUE(sequence->decode(id));
    });
  for (auto &thread : threads)
    thread.join();
  for (auto &sequence : sequences)
    EXPECT_TRUE(std::ranges::equal(sequence->logits(), alone->logits()));
}

TEST(Sequences, DeviceArgmaxIsTheHosts) {
  auto engine = testing::engineOf("glimmer-tiny-q8_0.gguf");
  auto sequence = testing::sequenceOf(engine);
  for (uint32_t id : randomTokens(20, 2048)) {
    ASSERT_TRUE(sequence->decode(id));
    EXPECT_EQ(sequence->argmaxOnDevice().value(), muse::greedyArgmax(sequence->logits()).value());
  }
}

} // namespace
} // namespace pewter
