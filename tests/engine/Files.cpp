// SPDX-License-Identifier: Apache-2.0
// Engines on files of a special kind: split into shards, and with NVFP4 matrices.
#include "TemporaryFolder.h"
#include "engine/Reference.h"
#include "engine/TestEngine.h"
#include "muse/Quantize.h"
#include <cmath>
#include <random>

namespace pewter {
namespace {

using muse::GgufWriter;
using muse::KvType;
using muse::MathMode;
using testing::SmallModel;

std::vector<uint32_t> randomTokens(uint32_t count, uint32_t vocab) {
  std::mt19937 bits(std::random_device{}());
  std::vector<uint32_t> ids(count);
  for (uint32_t &id : ids)
    id = bits() % vocab;
  return ids;
}

/// Writes `model` as `count` shards of about equally many tensors; the name of the first.
std::filesystem::path split(const muse::GgufModel &model, const std::filesystem::path &folder, uint32_t count) {
  auto nameOf = [&](uint32_t shard) { return folder / fmt::format("s-{:05}-of-{:05}.gguf", shard + 1, count); };
  size_t total = model.tensors().size();
  for (uint32_t shard = 0; shard < count; ++shard) {
    GgufWriter writer;
    if (shard == 0)
      for (const auto &[key, value] : model.header().metadata())
        writer.addValue(key, value);
    writer.addU32("split.no", shard);
    writer.addU32("split.count", count);
    writer.addU32("split.tensors.count", static_cast<uint32_t>(total));
    for (size_t i = total * shard / count; i < total * (shard + 1) / count; ++i) {
      const muse::GgufTensor &tensor = model.tensors()[i];
      auto data = model.dataOf(tensor);
      writer.addTensor(std::string(tensor.name), tensor.format->type(),
                       {tensor.dims, tensor.dims + tensor.rank}, Bytes(data.begin(), data.end()));
    }
    EXPECT_TRUE(writer.write(nameOf(shard)));
  }
  return nameOf(0);
}

TEST(Files, ShardsHaveTheBitsOfTheWholeFile) {
  testing::TemporaryFolder folder;
  auto whole = testing::loadModel("glimmer-tiny-q5_k_mix.gguf");
  for (uint32_t count : {2u, 5u}) {
    auto sharded = muse::GgufModel::open(split(*whole, folder.path(), count));
    ASSERT_TRUE(sharded) << sharded.error().describe();
    EXPECT_EQ((*sharded)->shards().size(), count);
    auto engine = testing::makeEngine(*sharded, MathMode::Strict);
    auto a = testing::sequenceOf(engine), b = testing::sequenceOf(testing::engineOf("glimmer-tiny-q5_k_mix.gguf"));
    auto ids = randomTokens(50, engine->config().vocab);
    for (auto *sequence : {a.get(), b.get()}) {
      ASSERT_TRUE(sequence->prefill(std::span(ids).first(40), {}));
      ASSERT_TRUE(sequence->forceTokens(std::span(ids).subspan(40)));
    }
    EXPECT_TRUE(std::ranges::equal(a->logits(), b->logits()));
  }
}

TEST(Files, Nvfp4AgreesWithTheReference) {
  testing::TemporaryFolder folder;
  Bytes bytes = SmallModel{.hidden = 128, .heads = 4, .kvHeads = 2, .headDim = 32, .ffn = 160}.build();
  auto exact = muse::GgufModel::fromBytes(bytes, "small").value();
  ASSERT_TRUE(muse::quantizeModel(*exact, folder.path() / "n.gguf", "NVFP4", {}));
  auto model = muse::GgufModel::open(folder.path() / "n.gguf").value();
  for (MathMode math : {MathMode::Strict, MathMode::Fast})
    for (const char *shape : {"1r1s", "2r1s", "4r2s"}) {
      SCOPED_TRACE(::testing::Message() << nameOf(math) << " " << shape);
      auto engine = testing::makeEngine(model, math, {.kv = KvType::F32, .matvec = shape});
      int nvfp4 = 0;
      for (auto type : engine->weights().matrixTypes())
        nvfp4 += type == muse::TensorType::NVFP4_E2M1;
      ASSERT_EQ(nvfp4, 1);
      testing::Reference reference(*model, engine->config());
      auto ids = randomTokens(60, engine->config().vocab);
      auto sequence = testing::sequenceOf(engine);
      ASSERT_TRUE(sequence->prefill(std::span(ids).first(45), {}));
      for (size_t i = 0; i < ids.size(); ++i) {
        auto expected = reference.step(ids[i]);
        if (i >= 45)
          ASSERT_TRUE(sequence->decode(ids[i]));
        if (i < 44)
          continue;
        for (size_t t = 0; t < expected.size(); ++t)
          ASSERT_NEAR(sequence->logits()[t], expected[t], 5e-4) << "position " << i << ", token " << t;
      }
    }
}

TEST(Files, Nvfp4RowsDecodeTogether) {
  testing::TemporaryFolder folder;
  Bytes bytes = SmallModel{.hidden = 128, .heads = 4, .kvHeads = 2, .headDim = 32, .ffn = 160}.build();
  auto exact = muse::GgufModel::fromBytes(bytes, "small").value();
  ASSERT_TRUE(muse::quantizeModel(*exact, folder.path() / "n.gguf", "NVFP4", {}));
  auto engine = testing::makeEngine(muse::GgufModel::open(folder.path() / "n.gguf").value(), MathMode::Fast);
  auto a = testing::sequenceOf(engine, 0), b = testing::sequenceOf(engine, 1), c = testing::sequenceOf(engine, 2);
  for (uint32_t i = 0; i < 40; ++i) {
    uint32_t x = i * 7 % 250, y = i * 13 % 250;
    ASSERT_TRUE(muse::Sequence::decodeTogether(std::vector{a.get(), b.get()}, std::vector{x, y}));
    ASSERT_TRUE(c->decode(y));
    ASSERT_TRUE(std::ranges::equal(b->logits(), c->logits())) << i;
  }
}

} // namespace
} // namespace pewter
