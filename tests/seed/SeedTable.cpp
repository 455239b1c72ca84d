// SPDX-License-Identifier: Apache-2.0
//
// One test per mechanism of the engine's contract, named after its row (A1 to A59). Rows about the
// scheduler, snapshots and goldens have deeper tests elsewhere; here each is shown once.
#include "base/Toggles.h"
#include "engine/TestEngine.h"
#include "muse/KernelArguments.h"
#include "muse/Sampler.h"
#include <cmath>
#include <regex>
#include <thread>

namespace pewter {
namespace {

using muse::Context;
using muse::GraphEncoder;
using muse::GraphRecord;
using muse::MathMode;
using muse::View;
using testing::SmallModel;

std::shared_ptr<Context> context() { return testing::contextOf(MathMode::Strict); }
std::shared_ptr<muse::Engine> tiny() { return testing::engineOf("glimmer-tiny-q8_0.gguf"); }

/// A registry with the pointwise kernels, and buffers of some floats.
const muse::PipelineRegistry &registry() {
  static auto made = muse::PipelineRegistry::create(
                         *context(), MathMode::Strict,
                         std::vector<std::string>{"copy_f32", "gate_sigmoid", "rms_norm_1sg", "norm_add_norm_1sg"})
                         .value();
  return made;
}
NS::SharedPtr<MTL::Buffer> floats(const std::vector<float> &values, const char *label = "floats") {
  auto buffer = context()->allocate(values.size() * 4, label).value();
  std::ranges::copy(values, static_cast<float *>(buffer->contents()));
  return buffer;
}
std::vector<float> contents(const NS::SharedPtr<MTL::Buffer> &buffer) {
  auto *values = static_cast<const float *>(buffer->contents());
  return {values, values + buffer->length() / 4};
}
View at(const NS::SharedPtr<MTL::Buffer> &buffer, uint64_t offset = 0) { return {buffer.get(), offset}; }

GraphRecord recordAt(const std::shared_ptr<muse::Engine> &engine, uint32_t position) {
  auto sequence = testing::sequenceOf(engine);
  std::vector<uint32_t> ids(position, 7);
  if (position)
    EXPECT_TRUE(sequence->forceTokens(ids));
  return sequence->recordDecode(9).value();
}
GraphRecord recordPrefill(const std::shared_ptr<muse::Engine> &engine) {
  auto sequence = testing::sequenceOf(engine);
  GraphRecord record;
  EXPECT_TRUE(sequence->prefill(std::vector<uint32_t>(40, 7), {.record = &record}));
  return record;
}
const GraphRecord::Group &groupNamed(const GraphRecord &record, std::string_view label) {
  for (const auto &group : record.groups)
    if (group.label == label)
      return group;
  throw std::runtime_error("no group " + std::string(label));
}

TEST(Seed, A01_NothingRunsBeforeCommit) {
  auto source = floats({1, 2, 3, 4}), target = floats({9, 9, 9, 9});
  GraphEncoder encoder(*context(), {.label = "a1"});
  encoder.group("copy");
  encoder.dispatch1d(registry().get("copy_f32"), {at(source), at(target)}, uint32_t(4), 4);
  EXPECT_EQ(contents(target), (std::vector<float>{9, 9, 9, 9}));
  ASSERT_TRUE(encoder.finish());
  EXPECT_EQ(contents(target), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Seed, A02_FourVerbsSuffice) {
  auto source = floats({5, 6, 7, 8}), target = floats({0, 0, 0, 0});
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  auto *buffer = context()->queue()->commandBuffer();
  auto *encoder = buffer->computeCommandEncoder();
  uint32_t count = 3;
  encoder->setComputePipelineState(registry().get("copy_f32").pipeline.get());
  encoder->setBuffer(source.get(), 4, 0);
  encoder->setBuffer(target.get(), 0, 1);
  encoder->setBytes(&count, 4, 2);
  encoder->dispatchThreads(MTL::Size(3, 1, 1), MTL::Size(3, 1, 1));
  encoder->endEncoding();
  buffer->commit();
  ASSERT_TRUE(context()->wait(buffer));
  EXPECT_EQ(contents(target), (std::vector<float>{6, 7, 8, 0}));
}

TEST(Seed, A03_DispatchesPerToken) {
  auto record = recordAt(tiny(), 0);
  uint32_t perLayer = 4 + 1 + 3 + 1 + 1 + 1 + 2 + 1 + 1 + 1; // and rope on the six sliding layers
  EXPECT_EQ(record.dispatches, 3 + 8 * perLayer + 6 + 2);
}

TEST(Seed, A04_OneCommandBufferPerToken) {
  auto record = recordAt(tiny(), 3);
  EXPECT_EQ(record.commits, 1u);
  EXPECT_EQ(record.waits, 1u);
  EXPECT_EQ(record.groups.front().label, "embedding");
  EXPECT_EQ(record.groups.back().label, "softcap");
}

TEST(Seed, A05_PositionMovesOnlyAfterSuccess) {
  auto impatient = Context::create({.math = MathMode::Strict, .waitSeconds = 0, .lendThread = false}).value();
  auto engine = muse::Engine::create(impatient, testing::loadModel("glimmer-tiny-q8_0.gguf"), {}).value();
  auto sequence = muse::Sequence::create(engine, {}).value();
  auto result = sequence->prefill(std::vector<uint32_t>(400, 7), {});
  ASSERT_FALSE(result);
  EXPECT_EQ(sequence->position(), 0u);
  EXPECT_TRUE(sequence->tokens().empty());
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  auto *drain = impatient->queue()->commandBuffer(); // what runs must not outlive its buffers
  drain->commit();
  drain->waitUntilCompleted();
}

TEST(Seed, A07_EncodingNeverCommits) {
  auto source = floats({1, 1, 1, 1}), target = floats({0, 0, 0, 0});
  {
    GraphEncoder abandoned(*context(), {.label = "abandoned"});
    abandoned.group("copy");
    abandoned.dispatch1d(registry().get("copy_f32"), {at(source), at(target)}, uint32_t(4), 4);
  }
  EXPECT_EQ(contents(target), (std::vector<float>{0, 0, 0, 0}));
}

TEST(Seed, A09_A10_BoundedWaitNamesSecondsStatusAndLabel) {
  auto bounded = Context::create({.waitSeconds = 0.05, .lendThread = false}).value();
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  auto event = NS::TransferPtr(bounded->device()->newSharedEvent());
  auto buffer = NS::RetainPtr(bounded->queue()->commandBuffer());
  buffer->setLabel(NS::String::string("never ends", NS::UTF8StringEncoding));
  buffer->encodeWait(event.get(), 1);
  buffer->commit();
  auto result = bounded->wait(buffer.get());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorKind::Timeout);
  std::string text = result.error().describe();
  EXPECT_NE(text.find("0.05 seconds"), std::string::npos) << text;
  EXPECT_NE(text.find("\"never ends\""), std::string::npos) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("status is \"(committed|scheduled)\""))) << text;
  event->setSignaledValue(1);
  buffer->waitUntilCompleted();
  EXPECT_TRUE(bounded->wait(buffer.get()));
}

TEST(Seed, A12_SequencesShareOneContext) {
  auto a = testing::sequenceOf(tiny(), 0), b = testing::sequenceOf(tiny(), 1);
  EXPECT_EQ(&a->engine().context(), &b->engine().context());
  EXPECT_EQ(a->engine().context().device(), b->engine().context().device());
}

TEST(Seed, A13_NoDeviceIsAnError) {
  auto none = Context::create({.device = "no such device"});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().describe().find("[no such device]"), std::string::npos);
}

TEST(Seed, A15_A16_TwoLibrariesFromOneSource) {
  auto both = Context::create({}).value();
  auto fast = both->library(MathMode::Fast), strict = both->library(MathMode::Strict);
  ASSERT_TRUE(fast) << fast.error().describe();
  ASSERT_TRUE(strict) << strict.error().describe();
  EXPECT_NE(*fast, *strict);
  EXPECT_EQ(*fast, both->library(MathMode::Fast).value()) << "compiled once";
  EXPECT_EQ((*fast)->functionNames()->count(), (*strict)->functionNames()->count());
}

TEST(Seed, A17_PrebuiltLibraryIsOptional) {
  EXPECT_TRUE(Context::create({}));
  auto bad = Context::create({.prebuiltLibrary = "/nowhere/x.metallib"});
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().describe().find("/nowhere/x.metallib"), std::string::npos);
}

TEST(Seed, A18_RegistryIsBuiltOnce) {
  auto engine = tiny();
  size_t before = engine->registry().size();
  const auto *kernel = engine->registry().get("rms_norm_1sg").pipeline.get();
  auto sequence = testing::sequenceOf(engine);
  ASSERT_TRUE(sequence->forceTokens(std::vector<uint32_t>(100, 3)));
  EXPECT_EQ(engine->registry().size(), before);
  EXPECT_EQ(engine->registry().get("rms_norm_1sg").pipeline.get(), kernel);
}

TEST(SeedDeathTest, A19_UnknownNameEndsTheProcess) {
  EXPECT_DEATH(registry().get("no_such_kernel"), "no_such_kernel");
}

TEST(Seed, A20_AMissingKernelIsAnErrorAtConstruction) {
  auto made = muse::PipelineRegistry::create(*context(), MathMode::Strict,
                                             std::vector<std::string>{"copy_f32", "not_there"});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().describe().find("\"not_there\""), std::string::npos);
}

TEST(Seed, A21_OneQueueRunsInOrder) {
  auto a = testing::sequenceOf(tiny(), 0), b = testing::sequenceOf(tiny(), 1);
  std::vector<uint32_t> ids = {5, 9, 300, 77, 12, 1500, 3};
  for (uint32_t id : ids)
    ASSERT_TRUE(a->decode(id));
  ASSERT_TRUE(b->forceTokens(ids));
  EXPECT_TRUE(std::ranges::equal(a->logits(), b->logits()));
}

TEST(Seed, A22_A25_TheSchedulerGivesOnePermit) {
  muse::AcceleratorScheduler scheduler;
  auto first = std::make_optional(scheduler.acquire(0, muse::WorkKind::Decode).value());
  std::atomic<bool> second = false;
  std::thread other([&] {
    auto permit = scheduler.acquire(1, muse::WorkKind::Prefill);
    second = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(second);
  first.reset();
  other.join();
  EXPECT_TRUE(second);
}

TEST(Seed, A26_A27_A28_SharedWeightsOwnState) {
  auto engine = tiny();
  std::vector<std::unique_ptr<muse::Sequence>> sequences;
  for (uint32_t id = 0; id < 4; ++id)
    sequences.push_back(testing::sequenceOf(engine, id));
  for (auto &sequence : sequences) {
    EXPECT_EQ(sequence->engine().weights().head.data.buffer, engine->weights().head.data.buffer);
    ASSERT_TRUE(sequence->decode(11));
    EXPECT_EQ(sequence->position(), 1u);
    EXPECT_TRUE(std::ranges::equal(sequence->logits(), sequences[0]->logits()));
  }
  ASSERT_TRUE(sequences[2]->decode(12));
  EXPECT_EQ(sequences[2]->position(), 2u);
  EXPECT_EQ(sequences[3]->position(), 1u);
}

TEST(Seed, A29_A30_GroupsOfThirtyTwoLanes) {
  for (const char *name : {"copy_f32", "rms_norm_1sg"}) {
    auto *pipeline = registry().get(name).pipeline.get();
    EXPECT_EQ(pipeline->threadExecutionWidth(), 32u);
    EXPECT_GE(pipeline->maxTotalThreadsPerThreadgroup(), 32u);
  }
}

TEST(Seed, A31_A32_RmsNormIsItsFormulaRowByRow) {
  constexpr uint32_t kWidth = 96, kRows = 3;
  std::vector<float> x(kWidth * kRows), w(kWidth);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(0.37f * float(i)) * (1 + float(i / kWidth) * 100);
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = 0.5f + float(i) / kWidth;
  auto in = floats(x), weights = floats(w), out = floats(std::vector<float>(x.size()));
  GraphEncoder encoder(*context(), {.label = "a31"});
  encoder.group("norm");
  encoder.dispatch(registry().get("rms_norm_1sg"), {at(in), at(weights), at(out)},
                   muse::NormArguments{kWidth, 1e-5f, 0}, MTL::Size(kRows, 1, 1), 32);
  ASSERT_TRUE(encoder.finish());
  for (uint32_t row = 0; row < kRows; ++row) {
    double sum = 0;
    for (uint32_t i = 0; i < kWidth; ++i)
      sum += double(x[row * kWidth + i]) * x[row * kWidth + i];
    for (uint32_t i = 0; i < kWidth; ++i) {
      double expected = x[row * kWidth + i] / std::sqrt(sum / kWidth + 1e-5) * w[i];
      EXPECT_NEAR(contents(out)[row * kWidth + i], expected, 1e-5 * std::fabs(expected) + 1e-7);
    }
  }
}

TEST(Seed, A33_FusedTailEqualsItsThreeSteps) {
  constexpr uint32_t kWidth = 64;
  std::vector<float> source(kWidth), w1(kWidth), h(kWidth), w2(kWidth);
  for (uint32_t i = 0; i < kWidth; ++i) {
    source[i] = 1e-3f * std::cos(float(i)); // small, so that 1e-8 and 1e-5 differ
    w1[i] = 1 + 0.01f * float(i);
    h[i] = std::sin(0.2f * float(i));
    w2[i] = 2 - 0.01f * float(i);
  }
  auto s = floats(source), a = floats(w1), residual = floats(h), b = floats(w2),
       out = floats(std::vector<float>(kWidth));
  GraphEncoder encoder(*context(), {.label = "a33"});
  encoder.group("tail");
  encoder.dispatch(registry().get("norm_add_norm_1sg"), {at(s), at(a), at(residual), at(b), at(out)},
                   muse::NormArguments{kWidth, 1e-8f, 1e-5f}, MTL::Size(1, 1, 1), 32);
  ASSERT_TRUE(encoder.finish());
  auto inverse = [](const std::vector<double> &x, double epsilon) {
    double sum = 0;
    for (double v : x)
      sum += v * v;
    return 1 / std::sqrt(sum / double(x.size()) + epsilon);
  };
  std::vector<double> sum(h.begin(), h.end());
  double first = inverse({source.begin(), source.end()}, 1e-8);
  for (uint32_t i = 0; i < kWidth; ++i)
    sum[i] += source[i] * first * w1[i];
  double second = inverse(sum, 1e-5);
  for (uint32_t i = 0; i < kWidth; ++i) {
    EXPECT_NEAR(contents(residual)[i], sum[i], 1e-5);
    EXPECT_NEAR(contents(out)[i], sum[i] * second * w2[i], 1e-5);
  }
}

TEST(Seed, A34_NamesCarryTheGeometry) {
  for (const GraphRecord &record : {recordAt(tiny(), 0), recordPrefill(tiny())})
    for (const auto &group : record.groups)
      for (const auto &dispatch : group.dispatches) {
        std::smatch match;
        if (std::regex_search(dispatch.kernel, match, std::regex("_(\\d+)sg$")))
          EXPECT_EQ(dispatch.threads, 32u * std::stoul(match[1])) << dispatch.kernel;
        if (std::regex_search(dispatch.kernel, match, std::regex("_(\\d+)r(\\d+)s$")))
          EXPECT_EQ(dispatch.threads, 32u * std::stoul(match[2])) << dispatch.kernel;
      }
}

TEST(Seed, A35_A36_EveryElementAndNothingPastTheEnd) {
  for (uint32_t count : {1u, 31u, 255u, 256u, 257u, 1000u}) {
    std::vector<float> a(1100, 2.0f), g(1100, 0.5f);
    auto x = floats(a), gate = floats(g);
    GraphEncoder encoder(*context(), {.label = "a36"});
    encoder.group("gate");
    // More threads than elements: the kernel guards.
    encoder.dispatch(registry().get("gate_sigmoid"), {at(x), at(gate)}, count, MTL::Size(9, 1, 1), 128);
    ASSERT_TRUE(encoder.finish());
    auto out = contents(x);
    for (uint32_t i = 0; i < 1100; ++i)
      EXPECT_NEAR(out[i], i < count ? 2.0 / (1 + std::exp(-0.5)) : 2.0, 1e-6) << i;
  }
}

TEST(Seed, A37_AnEmptyDispatchIsNotRecorded) {
  GraphRecord record;
  auto x = floats({1});
  GraphEncoder encoder(*context(), {.label = "a37", .record = &record});
  encoder.group("nothing");
  encoder.dispatch1d(registry().get("copy_f32"), {at(x), at(x)}, uint32_t(0), 0);
  EXPECT_EQ(record.dispatches, 0u);
  encoder.dispatch1d(registry().get("copy_f32"), {at(x), at(x)}, uint32_t(1), 1);
  EXPECT_EQ(record.dispatches, 1u);
  EXPECT_EQ(record.groups[0].dispatches[0].threads, 1u);
  ASSERT_TRUE(encoder.finish());
}

TEST(Seed, A41_ConstantsAreCopiedWhenRecorded) {
  auto source = floats({1, 2, 3, 4}), target = floats({0, 0, 0, 0});
  uint32_t count = 2;
  GraphEncoder encoder(*context(), {.label = "a41"});
  encoder.group("copy");
  encoder.dispatch(registry().get("copy_f32"), {at(source), at(target)}, count, MTL::Size(1, 1, 1), 32);
  count = 4;
  ASSERT_TRUE(encoder.finish());
  EXPECT_EQ(contents(target), (std::vector<float>{1, 2, 0, 0}));
}

TEST(Seed, A42_TensorsAreViewsOfOneMapping) {
  auto model = testing::loadModel("glimmer-tiny-q8_0.gguf");
  EXPECT_EQ(model->fileBytes(), std::filesystem::file_size(testing::kEngineData / "glimmer-tiny-q8_0.gguf"));
  const auto &w = tiny()->weights();
  for (const auto &layer : w.layers)
    for (const muse::Matrix *m : {&layer.q, &layer.k, &layer.v, &layer.gate, &layer.output, &layer.ffnGate,
                                  &layer.ffnUp, &layer.ffnDown}) {
      EXPECT_EQ(m->data.buffer, w.head.data.buffer);
      EXPECT_LE(m->data.offset + uint64_t(m->rowBytes) * m->outputs, m->data.buffer->length());
    }
}

TEST(Seed, A44_A46_BarriersStandBetweenGroupsOnly) {
  auto decode = recordAt(tiny(), 0);
  EXPECT_TRUE(decode.concurrent);
  EXPECT_EQ(decode.bufferBarriers, decode.groups.size() - 1);
  auto serial = testing::makeEngine(testing::loadModel("glimmer-tiny-q8_0.gguf"), MathMode::Strict,
                                    {.serialPrefill = true});
  auto record = recordPrefill(serial);
  EXPECT_FALSE(record.concurrent);
  EXPECT_EQ(record.bufferBarriers, 0u);
  EXPECT_EQ(record.resourceBarriers, 0u);
}

TEST(Seed, A45_OrderInsideAGroupDoesNotMatter) {
  auto sequence = testing::sequenceOf(tiny(), 0), shuffled = testing::sequenceOf(tiny(), 1);
  std::vector<uint32_t> ids(50, 21);
  ASSERT_TRUE(sequence->prefill(ids, {}));
  ASSERT_TRUE(sequence->decode(4));
  setToggle(Toggle::shuffle_threadgroups, true);
  auto filled = shuffled->prefill(ids, {});
  auto decoded = shuffled->decode(4);
  setToggle(Toggle::shuffle_threadgroups, false);
  ASSERT_TRUE(filled);
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(std::ranges::equal(sequence->logits(), shuffled->logits()));
}

TEST(Seed, A47_IndependentProjectionsShareAGroup) {
  auto record = recordAt(tiny(), 0);
  EXPECT_EQ(groupNamed(record, "qkvg").dispatches.size(), 4u);
  EXPECT_EQ(groupNamed(record, "ffn_gate_up").dispatches.size(), 2u);
}

TEST(Seed, A48_ScopedBarriersNameTheirBuffers) {
  auto record = recordAt(tiny(), 0);
  ASSERT_EQ(record.barrierResources.size(), 16u);
  EXPECT_EQ(record.barrierResources[0], (std::vector<std::string>{"k_cache.0", "v_cache.0"}));
  EXPECT_EQ(record.barrierResources[1], (std::vector<std::string>{"attention_partials"}));
}

TEST(Seed, A49_A50_ConcurrentPrefillIsTheDefaultAndSerialGivesTheSame) {
  EXPECT_TRUE(recordPrefill(tiny()).concurrent);
  auto serial = testing::makeEngine(testing::loadModel("glimmer-tiny-q8_0.gguf"), MathMode::Strict,
                                    {.serialPrefill = true});
  auto a = testing::sequenceOf(tiny()), b = testing::sequenceOf(serial);
  std::vector<uint32_t> ids(60, 33);
  ASSERT_TRUE(a->prefill(ids, {}));
  ASSERT_TRUE(b->prefill(ids, {}));
  EXPECT_TRUE(std::ranges::equal(a->logits(), b->logits()));
}

TEST(Seed, A51_TheProfilerGivesOneSamplePerGroup) {
  auto record = recordAt(tiny(), 0);
  auto sequence = testing::sequenceOf(tiny());
  auto samples = sequence->profileDecode(9).value();
  ASSERT_EQ(samples.size(), record.groups.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(samples[i].label, record.groups[i].label);
    EXPECT_GE(samples[i].end, samples[i].start);
  }
}

TEST(Seed, A52_A53_A54_GroupsOfTheFiftyTwoLayerShape) {
  SmallModel model;
  model.layers = 52;
  model.period = 4;
  model.hidden = 32, model.ffn = 32, model.heads = 2, model.kvHeads = 1;
  auto engine = testing::makeEngine(testing::modelOf(model), MathMode::Strict);
  EXPECT_EQ(engine->config().slidingLayers(), 39u);
  auto record = recordAt(engine, 0);
  EXPECT_EQ(record.groups.size(), 564u); // 5 + 11 * 39 + 10 * 13
  EXPECT_EQ(record.dispatches, 3u + 39 * 17 + 13 * 16 + 2); // not the same number
}

TEST(Seed, A57_TheSameTokensGiveTheSameBits) {
  auto a = testing::sequenceOf(tiny(), 0), b = testing::sequenceOf(tiny(), 1);
  for (uint32_t id : {3u, 900u, 17u, 44u}) {
    ASSERT_TRUE(a->decode(id));
    ASSERT_TRUE(b->decode(id));
    EXPECT_TRUE(std::ranges::equal(a->logits(), b->logits()));
  }
}

TEST(Seed, A58_BytesPerTokenLeaveTheEmbeddingTableOut) {
  const auto &w = tiny()->weights();
  uint64_t matrices = 0;
  for (const auto &tensor : tiny()->model().tensors())
    if (tensor.rank == 2 && tensor.name != "token_embd.weight")
      matrices += tensor.bytes;
  EXPECT_EQ(w.streamedBytes(), matrices + w.embedding.rowBytes);
}

} // namespace
} // namespace pewter
