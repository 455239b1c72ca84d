// SPDX-License-Identifier: Apache-2.0
//
// Further rows of the engine's contract (see SeedTable.cpp): what submitting costs and in which order it
// happens, what a launch must fit, and the rule that exactness comes before speed.
#include "engine/TestEngine.h"
#include "muse/DecodeGraph.h"
#include "muse/KernelArguments.h"
#include <atomic>
#include <cmath>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>
#include <time.h>

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
NS::SharedPtr<NS::AutoreleasePool> autoreleasePool() {
  return NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
}

/// A pipeline of a kernel in `source`.
NS::SharedPtr<MTL::ComputePipelineState> pipelineOf(const std::string &source, const char *name) {
  auto pool = autoreleasePool();
  auto *text = NS::String::string(source.c_str(), NS::UTF8StringEncoding);
  auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
  NS::Error *error = nullptr;
  auto library = NS::TransferPtr(context()->device()->newLibrary(text, options.get(), &error));
  if (!library)
    throw std::runtime_error(error->localizedDescription()->utf8String());
  auto function = NS::TransferPtr(library->newFunction(NS::String::string(name, NS::UTF8StringEncoding)));
  auto pipeline = NS::TransferPtr(context()->device()->newComputePipelineState(function.get(), &error));
  if (!pipeline)
    throw std::runtime_error(error->localizedDescription()->utf8String());
  return pipeline;
}
std::string kernelFile(const char *name) {
  std::ifstream file(std::string(PEWTER_SOURCE_DIR "/kernels/") + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

NS::SharedPtr<MTL::Buffer> floats(const std::vector<float> &values) {
  auto buffer = context()->allocate(values.size() * 4, "floats").value();
  std::ranges::copy(values, static_cast<float *>(buffer->contents()));
  return buffer;
}
std::vector<float> contents(const NS::SharedPtr<MTL::Buffer> &buffer) {
  auto *values = static_cast<const float *>(buffer->contents());
  return {values, values + buffer->length() / 4};
}
View at(const NS::SharedPtr<MTL::Buffer> &buffer) { return {buffer.get(), 0}; }

std::shared_ptr<muse::Engine> fiftyTwoLayers() {
  SmallModel model{.layers = 52, .hidden = 32, .heads = 2, .kvHeads = 1, .ffn = 32, .period = 4};
  return testing::makeEngine(testing::modelOf(model), MathMode::Strict);
}

/// What recording costs by this thread's own clock, so that other work on the machine does not count.
TEST(Seed, A06_RecordingTakesMicroseconds) {
  auto engine = fiftyTwoLayers();
  auto sequence = testing::sequenceOf(engine);
  auto record = sequence->recordDecode(1).value();
  auto buffers = muse::Activations::create(engine->context(), engine->config(), 1).value();
  double least = 1e9;
  for (int pass = 0; pass < 20; ++pass) {
    timespec start{}, end{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    {
      GraphEncoder encoder(engine->context(), {.label = "recorded, never committed"});
      muse::DecodeGraph(*engine, buffers, encoder, {{sequence.get(), 0}}).encodeToken(0);
    }
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    least = std::min(least, double(end.tv_sec - start.tv_sec) + 1e-9 * double(end.tv_nsec - start.tv_nsec));
  }
  double each = least / record.dispatches;
  RecordProperty("nanoseconds_per_dispatch", static_cast<int>(each * 1e9));
  EXPECT_LT(each, 3e-6) << "seconds per dispatch of a token of " << record.dispatches << " dispatches";
}

// The whole cycle, spelled out: permit, buffer, encoder, groups, end, commit, bounded wait.
TEST(Seed, A08_TheSevenStepsInOrder) {
  auto copy = pipelineOf(muse::kernelSource(), "copy_f32");
  auto source = floats({1, 2, 3, 4}), target = floats({0, 0, 0, 0});
  muse::AcceleratorScheduler scheduler;
  std::atomic<bool> other = false;
  std::thread waiting;
  {
    auto permit = scheduler.acquire(0, muse::WorkKind::Decode).value();
    waiting = std::thread([&] {
      auto second = scheduler.acquire(1, muse::WorkKind::Decode);
      other = true;
    });
    auto pool = autoreleasePool();
    auto *buffer = context()->queue()->commandBuffer();
    EXPECT_EQ(buffer->status(), MTL::CommandBufferStatusNotEnqueued);
    auto *encoder = buffer->computeCommandEncoder(MTL::DispatchTypeConcurrent);
    uint32_t count = 4;
    encoder->setComputePipelineState(copy.get());
    encoder->setBuffer(source.get(), 0, 0);
    encoder->setBuffer(target.get(), 0, 1);
    encoder->setBytes(&count, 4, 2);
    encoder->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(32, 1, 1));
    encoder->memoryBarrier(MTL::BarrierScopeBuffers);
    encoder->endEncoding();
    EXPECT_EQ(buffer->status(), MTL::CommandBufferStatusNotEnqueued);
    EXPECT_EQ(contents(target), (std::vector<float>{0, 0, 0, 0}));
    buffer->commit();
    EXPECT_GE(buffer->status(), MTL::CommandBufferStatusCommitted);
    ASSERT_TRUE(context()->wait(buffer));
    EXPECT_EQ(buffer->status(), MTL::CommandBufferStatusCompleted);
    EXPECT_FALSE(other) << "the permit is held through the wait";
  }
  waiting.join();
  EXPECT_TRUE(other);
  EXPECT_EQ(contents(target), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Seed, A11_AFailedBufferIsAnError) {
  auto broken = pipelineOf("#include <metal_stdlib>\nusing namespace metal;\n"
                           "kernel void broken(device float *p [[buffer(0)]], uint i [[thread_position_in_grid]]) {"
                           " p[i] = 1.0f; }",
                           "broken");
  auto pool = autoreleasePool();
  auto buffer = NS::RetainPtr(context()->queue()->commandBuffer());
  buffer->setLabel(NS::String::string("writes nowhere", NS::UTF8StringEncoding));
  auto *encoder = buffer->computeCommandEncoder();
  encoder->setComputePipelineState(broken.get()); // and no buffer
  encoder->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(32, 1, 1));
  encoder->endEncoding();
  buffer->commit();
  auto ended = context()->wait(buffer.get());
  ASSERT_FALSE(ended);
  std::string text = ended.error().describe();
  EXPECT_NE(text.find("\"writes nowhere\""), std::string::npos) << text;
  EXPECT_NE(text.find("status \"error\""), std::string::npos) << text;
}

/// Numbers of sequences in the order in which a scheduler serves them, each waiting since a while before the next.
std::vector<uint32_t> orderOf(muse::AcceleratorScheduler &scheduler,
                              std::initializer_list<std::pair<uint32_t, muse::WorkKind>> waiting) {
  std::vector<uint32_t> order;
  std::mutex mutex;
  std::vector<std::thread> threads;
  {
    auto busy = scheduler.acquire(9, muse::WorkKind::Prefill).value();
    for (auto [id, kind] : waiting) {
      threads.emplace_back([&, id, kind] {
        auto permit = scheduler.acquire(id, kind);
        std::lock_guard lock(mutex);
        order.push_back(id);
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
  }
  for (std::thread &thread : threads)
    thread.join();
  return order;
}

TEST(Seed, A23_DecodeComesBeforePrefill) {
  muse::AcceleratorScheduler scheduler;
  EXPECT_EQ(orderOf(scheduler, {{5, muse::WorkKind::Prefill}, {3, muse::WorkKind::Decode}}),
            (std::vector<uint32_t>{3, 5}));
}

TEST(Seed, A24_DecodesRotateAfterTheLastServed) {
  muse::AcceleratorScheduler scheduler;
  { auto last = scheduler.acquire(1, muse::WorkKind::Decode).value(); }
  EXPECT_EQ(orderOf(scheduler, {{0, muse::WorkKind::Decode}, {1, muse::WorkKind::Decode}, {2, muse::WorkKind::Decode}}),
            (std::vector<uint32_t>{2, 0, 1}));
}

TEST(Seed, A14_EveryBufferComesFromTheOneQueue) {
  auto *queue = context()->queue();
  for (int i = 0; i < 3; ++i) {
    GraphEncoder encoder(*context(), {.label = "a14"});
    auto buffer = encoder.commit();
    EXPECT_EQ(buffer->commandQueue(), queue);
    ASSERT_TRUE(context()->wait(buffer.get()));
  }
  EXPECT_EQ(testing::sequenceOf(tiny(), 0)->engine().context().queue(), queue);
}

TEST(Seed, A38_ResidualAddLeavesTheRestAlone) {
  muse::Kernel kernel{"residual_add_batch", pipelineOf(kernelFile("pointwise_batch.metal"), "residual_add_batch")};
  for (uint32_t total : {1u, 1023u, 1024u, 1025u, 2500u}) {
    std::vector<float> a(3000), b(3000);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = float(i);
      b[i] = 0.5f;
    }
    auto target = floats(a), source = floats(b);
    GraphEncoder encoder(*context(), {.label = "a38"});
    encoder.group("add");
    encoder.dispatch(kernel, {at(target), at(source)}, total, MTL::Size((total + 1023) / 1024, 1, 1), 1024);
    ASSERT_TRUE(encoder.finish());
    auto out = contents(target);
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(out[i], i < total ? a[i] + 0.5f : a[i]) << i << " of " << total;
  }
}

TEST(Seed, A39_OneSimdgroupPerFewOutputs) {
  for (const char *shape : {"1r1s", "4r2s"}) {
    auto engine = testing::makeEngine(testing::loadModel("glimmer-tiny-q8_0.gguf"), MathMode::Strict,
                                      {.matvec = shape});
    auto record = testing::sequenceOf(engine)->recordDecode(1).value();
    uint32_t outputs = shape[0] - '0', simdgroups = shape[2] - '0', perGroup = outputs * simdgroups;
    int seen = 0;
    for (const auto &group : record.groups)
      for (const auto &dispatch : group.dispatches)
        if (dispatch.kernel.starts_with("matvec_") && group.label == "lm_head") {
          EXPECT_EQ(dispatch.groups, (2048u + perGroup - 1) / perGroup);
          EXPECT_EQ(dispatch.threads, 32 * simdgroups);
          ++seen;
        }
    EXPECT_EQ(seen, 1);
  }
}

// The slot number is the only contract between kernel and host: a swap shows in the result.
TEST(Seed, A40_AWrongSlotGivesAWrongResult) {
  muse::Kernel kernel{"copy_f32", pipelineOf(muse::kernelSource(), "copy_f32")};
  auto run = [&](bool swapped) {
    auto source = floats({1, 2, 3, 4}), target = floats({9, 9, 9, 9});
    GraphEncoder encoder(*context(), {.label = "a40"});
    encoder.group("copy");
    encoder.dispatch1d(kernel, {at(swapped ? target : source), at(swapped ? source : target)}, uint32_t(4), 4);
    EXPECT_TRUE(encoder.finish());
    return contents(target);
  };
  EXPECT_EQ(run(false), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(run(true), (std::vector<float>{9, 9, 9, 9}));
}

TEST(Seed, A43_TheStrictRouteSwapsEveryPipeline) {
  auto fast = testing::engineOf("glimmer-tiny-q8_0.gguf", MathMode::Fast);
  auto strict = testing::engineOf("glimmer-tiny-q8_0.gguf", MathMode::Strict);
  auto record = testing::sequenceOf(strict)->recordDecode(1).value();
  for (const auto &group : record.groups)
    for (const auto &dispatch : group.dispatches)
      EXPECT_NE(strict->registry().get(dispatch.kernel).pipeline.get(),
                fast->registry().get(dispatch.kernel).pipeline.get())
          << dispatch.kernel;
}

// A fusion must have the bits of what it replaces; a restructuring that moves log probabilities by more
// than 1e-4 is refused, however fast it is (the known one moved them by 3.2e-4).
TEST(Seed, A55_FusionIsExactAndRoutesStayWithinTheContract) {
  auto registry = muse::PipelineRegistry::create(
                      *context(), MathMode::Strict,
                      std::vector<std::string>{"rms_norm_1sg", "norm_add_norm_1sg"})
                      .value();
  muse::Kernel add{"residual_add_batch", pipelineOf(kernelFile("pointwise_batch.metal"), "residual_add_batch")};
  constexpr uint32_t kWidth = 6656;
  std::vector<float> source(kWidth), w1(kWidth), h(kWidth), w2(kWidth), nothing(kWidth);
  for (uint32_t i = 0; i < kWidth; ++i) {
    source[i] = 1e-3f * std::sin(1.7f * float(i));
    w1[i] = 1 + 0.3f * std::cos(0.2f * float(i));
    h[i] = std::sin(0.05f * float(i)) * 3;
    w2[i] = 1 - 0.3f * std::cos(0.9f * float(i));
  }
  auto s = floats(source), a = floats(w1), h1 = floats(h), h2 = floats(h), b = floats(w2), normed = floats(nothing),
       fused = floats(nothing), steps = floats(nothing);
  GraphEncoder encoder(*context(), {.label = "a55"});
  muse::NormArguments first{kWidth, 1e-8f, 0}, second{kWidth, 1e-5f, 0}, both{kWidth, 1e-8f, 1e-5f};
  MTL::Size one(1, 1, 1);
  encoder.group("fused");
  encoder.dispatch(registry.get("norm_add_norm_1sg"), {at(s), at(a), at(h1), at(b), at(fused)}, both, one, 32);
  encoder.group("norm");
  encoder.dispatch(registry.get("rms_norm_1sg"), {at(s), at(a), at(normed)}, first, one, 32);
  encoder.group("add");
  encoder.dispatch(add, {at(h2), at(normed)}, kWidth, MTL::Size(7, 1, 1), 1024);
  encoder.group("norm again");
  encoder.dispatch(registry.get("rms_norm_1sg"), {at(h2), at(b), at(steps)}, second, one, 32);
  ASSERT_TRUE(encoder.finish());
  EXPECT_EQ(contents(h1), contents(h2));
  EXPECT_EQ(contents(fused), contents(steps));

  auto engine = testing::engineOf("glimmer-tiny-q8_0.gguf", MathMode::Strict, muse::KvType::F32);
  auto batch = testing::sequenceOf(engine, 0), single = testing::sequenceOf(engine, 1);
  std::vector<uint32_t> ids;
  for (uint32_t i = 0; i < 60; ++i)
    ids.push_back(i * 37 % 2048);
  ASSERT_TRUE(batch->prefill(ids, {}));
  ASSERT_TRUE(single->forceTokens(ids));
  auto normalizer = [](std::span<const float> logits) {
    double sum = 0;
    for (float l : logits)
      sum += std::exp(double(l));
    return std::log(sum);
  };
  double zero = normalizer(batch->logits()), other = normalizer(single->logits()), worst = 0;
  for (size_t i = 0; i < batch->logits().size(); ++i)
    worst = std::max(worst, std::fabs((batch->logits()[i] - zero) - (single->logits()[i] - other)));
  EXPECT_LE(worst, 1e-4);
}

// The head reads the row that the last norm wrote: no copy of the residual width stands before it.
TEST(Seed, A56_TheHeadReadsTheRowDirectly) {
  auto record = testing::sequenceOf(tiny())->recordDecode(1).value();
  size_t count = record.groups.size();
  EXPECT_EQ(record.groups[count - 3].label, "post_ffn_next_norm");
  EXPECT_EQ(record.groups[count - 2].label, "lm_head");
  for (const auto &group : record.groups)
    for (const auto &dispatch : group.dispatches)
      EXPECT_EQ(dispatch.kernel.find("copy"), std::string::npos) << dispatch.kernel;
}

// The numbers of the released shape, from its metadata alone.
TEST(Seed, A59_WidthsOfTheReleasedShape) {
  muse::GgufWriter writer;
  const std::string p = "muse-glimmer.";
  writer.addString("general.architecture", "muse-glimmer");
  for (auto [key, value] : {std::pair{"block_count", 52u}, {"context_length", 131072u}, {"embedding_length", 6656u},
                            {"feed_forward_length", 19968u}, {"attention.head_count", 32u},
                            {"attention.head_count_kv", 2u}, {"attention.key_length", 128u},
                            {"attention.value_length", 128u}, {"attention.sliding_window", 2048u},
                            {"attention.sliding_window_pattern", 4u}, {"vocab_size", 202048u}})
    writer.addU32(p + key, value);
  for (auto [key, value] : {std::pair{"attention.layer_norm_rms_epsilon", 1e-5f}, {"rope.freq_base", 500000.0f},
                            {"final_logit_softcapping", 20.0f}, {"logit_scale", 0.196116135f}})
    writer.addF32(p + key, value);
  std::vector<std::string> tokens(202048);
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = fmt::format("t{}", i);
  writer.addStrings("tokenizer.ggml.tokens", tokens);
  Bytes bytes = writer.toBytes().value();
  auto model = muse::GgufModel::fromBytes(bytes, "shape").value();
  auto read = muse::ModelConfig::read(*model);
  ASSERT_TRUE(read) << read.error().describe();
  const muse::ModelConfig &c = *read;
  EXPECT_EQ(c.hidden, 6656u);
  EXPECT_EQ(c.attentionDim(), 4096u);
  EXPECT_EQ(c.kvDim(), 256u);
  EXPECT_EQ(c.slidingLayers(), 39u);
  EXPECT_EQ(c.fullLayers(), 13u);
  auto buffers = muse::Activations::create(*context(), c, 1).value();
  EXPECT_EQ(buffers.normed->length(), 6656u * 4);
  EXPECT_EQ(buffers.attention->length(), 4096u * 4);
  EXPECT_EQ(buffers.gate->length(), 4096u * 4);
  EXPECT_EQ(buffers.ffnGate->length(), 19968u * 4);
  EXPECT_EQ(buffers.partials->length(), 532480u);
  EXPECT_EQ(buffers.logits->length(), 808192u);
}

} // namespace
} // namespace pewter
