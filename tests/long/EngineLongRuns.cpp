// SPDX-License-Identifier: Apache-2.0
// Runs that take minutes: a context of 8,192 tokens whose rings wrap 63 times, snapshots cut at every
// kind of place in it, and 100,000 tokens without growth of memory.
#include "engine/Reference.h"
#include "engine/TestEngine.h"
#include <cmath>
#include <fstream>
#include <random>
#include <unistd.h>

namespace pewter {
namespace {

using muse::KvType;
using muse::MathMode;
using muse::Sequence;

constexpr uint32_t kContext = 8192;

/// The shipped model with a longer context.
std::shared_ptr<const muse::GgufModel> longModel() {
  static Bytes bytes = [] {
    auto model = testing::loadModel("glimmer-tiny-q8_0.gguf");
    muse::GgufWriter writer;
    for (const auto &[key, value] : model->header().metadata()) {
      if (key == "muse-glimmer.context_length")
        writer.addU32(key, kContext);
      else
        writer.addValue(key, value);
    }
    for (const auto &tensor : model->tensors()) {
      auto data = model->dataOf(tensor);
      writer.addTensor(std::string(tensor.name), tensor.format->type(), {tensor.dims, tensor.dims + tensor.rank},
                       Bytes(data.begin(), data.end()));
    }
    return writer.toBytes().value();
  }();
  return muse::GgufModel::fromBytes(bytes, "long").value();
}
std::shared_ptr<muse::Engine> longEngine(KvType kv) {
  return testing::makeEngine(longModel(), MathMode::Strict, {.kv = kv});
}
std::vector<uint32_t> randomTokens(uint32_t count) {
  std::mt19937 bits(11);
  std::vector<uint32_t> ids(count);
  for (uint32_t &id : ids)
    id = bits() % 2036;
  return ids;
}

TEST(LongRuns, EightThousandTokensAgreeWithTheReference) {
  auto engine = longEngine(KvType::F32);
  auto model = longModel();
  testing::Reference reference(*model, engine->config());
  auto ids = randomTokens(kContext);
  auto decoded = testing::sequenceOf(engine, 0), chunked = testing::sequenceOf(engine, 1);
  auto expectNear = [&](const Sequence &sequence, const std::vector<float> &expected, uint32_t position) {
    double worst = 0;
    for (size_t i = 0; i < expected.size(); ++i)
      worst = std::max(worst, double(std::fabs(sequence.logits()[i] - expected[i])));
    EXPECT_LT(worst, 5e-3) << "position " << position;
  };
  std::mt19937 bits(5);
  for (uint32_t at = 0; at < kContext;) {
    uint32_t count = std::min(kContext - at, 1 + static_cast<uint32_t>(bits() % 700));
    std::vector<float> expected;
    for (uint32_t i = 0; i < count; ++i)
      expected = reference.step(ids[at + i], i + 1 == count);
    ASSERT_TRUE(decoded->forceTokens(std::span(ids).subspan(at, count)));
    ASSERT_TRUE(chunked->prefill(std::span(ids).subspan(at, count), {}));
    at += count;
    expectNear(*decoded, expected, at);
    expectNear(*chunked, expected, at);
  }
  EXPECT_FALSE(decoded->decode(1)) << "the context is full";
}

TEST(LongRuns, SnapshotsAtTheCutsRestoreTheSameBits) {
  auto engine = longEngine(KvType::F16);
  auto ids = randomTokens(kContext);
  auto original = testing::sequenceOf(engine, 0), restored = testing::sequenceOf(engine, 1);
  uint32_t at = 0;
  for (uint32_t cut : {1u, 31u, 32u, 33u, 127u, 128u, 129u, 255u, 256u, 257u, 2047u, 2048u, 2049u, 2559u, 2560u, 4096u,
                       8064u, 8180u}) {
    ASSERT_TRUE(original->forceTokens(std::span(ids).subspan(at, cut - at)));
    at = cut;
    Bytes saved = original->save();
    restored->reset();
    ASSERT_TRUE(restored->restore(saved));
    ASSERT_EQ(restored->save(), saved) << "cut " << cut;
    auto branch = testing::sequenceOf(engine, 2);
    ASSERT_TRUE(branch->restore(saved));
    for (uint32_t i = cut; i < cut + 8; ++i) {
      ASSERT_TRUE(branch->decode(ids[i]));
      ASSERT_TRUE(restored->decode(ids[i]));
      ASSERT_TRUE(std::ranges::equal(branch->logits(), restored->logits())) << "cut " << cut;
    }
    // And the sequence that was never saved goes on the same way.
    auto fresh = testing::sequenceOf(engine, 3);
    if (cut <= 2560) {
      ASSERT_TRUE(fresh->forceTokens(std::span(ids).first(cut + 8)));
      EXPECT_TRUE(std::ranges::equal(fresh->logits(), restored->logits())) << "cut " << cut;
      EXPECT_EQ(fresh->save(), restored->save()) << "cut " << cut;
    }
  }
}

uint64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST(LongRuns, AHundredThousandTokensWithoutGrowth) {
  auto engine = testing::engineOf("glimmer-tiny-q8_0.gguf", MathMode::Fast);
  auto sequence = testing::sequenceOf(engine);
  uint64_t settled = 0, last = 0;
  uint32_t decoded = 0, token = 5;
  while (decoded < 100'000) {
    sequence->reset();
    ASSERT_TRUE(sequence->prefill(randomTokens(100), {}));
    while (sequence->position() + 17 < sequence->maxContext() && decoded < 100'000) {
      auto ids = sequence->decodeGreedy(token, 16, {});
      ASSERT_TRUE(ids) << ids.error().describe();
      ASSERT_TRUE(sequence->decode(ids->back()));
      token = testing::argmax(sequence->logits());
      decoded += 17;
    }
    last = residentBytes();
    if (settled == 0 && decoded > 10'000)
      settled = last;
  }
  EXPECT_LT(last, settled + (2 << 20)) << "bytes resident after 10,000 tokens: " << settled;
}

} // namespace
} // namespace pewter
