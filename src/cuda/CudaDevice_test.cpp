// SPDX-License-Identifier: Apache-2.0
// The CUDA device on a driver of the test's own: which calls it makes, in which order and with which
// parameters, and the shape of the graphs.
#include "FakeCudaDriver.h"
#include "base/Toggles.h"
#include "cuda/CudaDevice.h"
#include "cuda/abi/KernelImage.h"
#include <cstring>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pewter::cuda {
namespace {

using namespace device;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CudaDeviceTest : public ::testing::Test {
protected:
  void SetUp() override {
    scope_.fake().parameterCount = 2;
    device_ = CudaDevice::create(**loadDriver(), 0).value();
    queue_ = device_->createQueue();
    pipeline_ = pipelineNamed("first");
  }
  void TearDown() override {
    pipeline_.reset();
    queue_.reset();
  }

  /// A pipeline over two buffers whose image comes from an archive; the first is in `space`.
  std::shared_ptr<Pipeline> pipelineNamed(const std::string &name, air::AddressSpace space = air::AddressSpace::Device) {
    KernelImage image;
    image.architecture = 90;
    image.entry = "pewter_" + name;
    image.ptx = "// " + name;
    image.reflection.name = name;
    for (uint32_t i = 0; i < 2; ++i) {
      air::Argument argument;
      argument.kind = air::ArgumentKind::Buffer;
      argument.parameter = argument.slot = i;
      argument.addressSpace = i == 0 ? space : air::AddressSpace::Constant;
      image.reflection.arguments.push_back(argument);
    }
    Bytes bytes = encode(image);
    PipelineRequest request;
    request.module = std::make_shared<Bytes>(viewOf(name).begin(), viewOf(name).end());
    request.function = name;
    request.identity = hashOf(viewOf(name));
    request.lookUp = [bytes](const Hash128 &) { return std::optional(bytes); };
    request.failOnMiss = true;
    return device_->createPipeline(request).value();
  }

  /// Records a dispatch with a buffer at `address` and one inline constant.
  void dispatch(CommandStream &stream, Pipeline &pipeline, uint64_t address, uint32_t constant,
                Size3 grid = {4, 1, 1}, bool exactThreads = false) {
    auto *data = static_cast<uint32_t *>(stream.allocateData(4));
    *data = constant;
    auto *command = stream.append<DispatchCommand>(CommandKind::Dispatch, 2 * sizeof(ArgumentBinding));
    command->pipeline = &pipeline;
    command->grid = grid;
    command->threadsPerThreadgroup = {64, 1, 1};
    command->exactThreads = exactThreads;
    command->indirectAddress = 0;
    command->argumentCount = 2;
    auto *bindings = reinterpret_cast<ArgumentBinding *>(command + 1);
    bindings[0] = {ArgumentBinding::Kind::Buffer, 0, address};
    bindings[1] = {ArgumentBinding::Kind::Bytes, 4, reinterpret_cast<uint64_t>(data)};
  }
  void begin(CommandStream &stream, bool concurrent) {
    auto *command = stream.append<BeginEncoderCommand>(CommandKind::BeginEncoder);
    command->encoder = EncoderKind::Compute;
    command->concurrent = concurrent;
    command->label = "";
  }
  void barrier(CommandStream &stream) {
    auto *command = stream.append<BarrierCommand>(CommandKind::Barrier);
    command->scope = 1;
    command->resourceCount = 0;
  }
  Completion play(std::unique_ptr<CommandStream> stream) {
    std::promise<Completion> promise;
    queue_->submit(std::move(stream), {}, [&](const Completion &c) { promise.set_value(c); });
    return promise.get_future().get();
  }

  testing::FakeCudaScope scope_;
  std::shared_ptr<CudaDevice> device_;
  std::unique_ptr<Queue> queue_;
  std::shared_ptr<Pipeline> pipeline_;
};

TEST_F(CudaDeviceTest, SaysWhatItIs) {
  EXPECT_THAT(device_->name(), HasSubstr("Fake GPU"));
  EXPECT_FALSE(device_->limits().hasUnifiedMemory);
  EXPECT_EQ(device_->limits().maxBufferLength, uint64_t(1) << 33);
}

TEST_F(CudaDeviceTest, MemoryByStorageMode) {
  auto shared = device_->allocate(1000, StorageMode::Shared).value();
  auto priv = device_->allocate(2000, StorageMode::Private).value();
  EXPECT_NE(shared->contents(), nullptr);
  EXPECT_EQ(priv->contents(), nullptr);
  EXPECT_NE(priv->deviceAddress(), 0u);
  EXPECT_EQ(device_->currentAllocatedSize(), 3000u);
  priv.reset();
  EXPECT_EQ(device_->currentAllocatedSize(), 1000u);
  scope_.fake().failures["cuMemAlloc"] = kOutOfMemory;
  auto none = device_->allocate(5000, StorageMode::Private);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().kind(), ErrorKind::OutOfMemory);
  EXPECT_THAT(none.error().message(), HasSubstr("5000 bytes"));
}

TEST_F(CudaDeviceTest, SmallStreamsAreLaunchedDirectly) {
  auto stream = std::make_unique<CommandStream>();
  begin(*stream, false);
  dispatch(*stream, *pipeline_, 0x5000, 7);
  Completion completion = play(std::move(stream));
  EXPECT_FALSE(completion.error.has_value());
  EXPECT_NEAR(completion.gpuEnd - completion.gpuStart, 2e-3, 1e-6);
  ASSERT_EQ(scope_.fake().launches.size(), 1u);
  const auto &launch = scope_.fake().launches[0];
  EXPECT_EQ(launch.kernel, "pewter_first");
  EXPECT_THAT(launch.grid, ElementsAre(4, 1, 1));
  EXPECT_THAT(launch.block, ElementsAre(64, 1, 1));
  EXPECT_EQ(launch.arguments[0], 0x5000u);
  uint32_t constant;
  std::memcpy(&constant, reinterpret_cast<void *>(launch.arguments[1]), 4);
  EXPECT_EQ(constant, 7u);
  EXPECT_EQ(scope_.fake().count("cuGraphLaunch"), 0u);
}

TEST_F(CudaDeviceTest, RaggedGridsAreSplit) {
  auto stream = std::make_unique<CommandStream>();
  begin(*stream, false);
  dispatch(*stream, *pipeline_, 0x5000, 7, {200, 1, 1}, true); // 3 whole groups and 8 threads
  play(std::move(stream));
  ASSERT_EQ(scope_.fake().launches.size(), 2u);
  EXPECT_THAT(scope_.fake().launches[0].grid, ElementsAre(3, 1, 1));
  EXPECT_THAT(scope_.fake().launches[1].grid, ElementsAre(1, 1, 1));
  EXPECT_THAT(scope_.fake().launches[1].block, ElementsAre(8, 1, 1));
}

TEST_F(CudaDeviceTest, GraphEdgesAreTheBarriersWhereBranchesAreWanted) {
  setToggle(Toggle::branching_graphs, true);
  auto second = pipelineNamed("second");
  auto stream = std::make_unique<CommandStream>();
  begin(*stream, true);
  dispatch(*stream, *pipeline_, 0x1000, 1);
  dispatch(*stream, *pipeline_, 0x2000, 2);
  barrier(*stream);
  dispatch(*stream, *second, 0x3000, 3);
  barrier(*stream);
  barrier(*stream); // an empty interval changes nothing
  dispatch(*stream, *second, 0x4000, 4);
  play(std::move(stream));
  setToggle(Toggle::branching_graphs, false);
  const auto &nodes = scope_.fake().lastGraph;
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_TRUE(nodes[0]->waitsFor.empty());
  EXPECT_TRUE(nodes[1]->waitsFor.empty());
  EXPECT_THAT(nodes[2]->waitsFor, ElementsAre(nodes[0], nodes[1]));
  EXPECT_THAT(nodes[3]->waitsFor, ElementsAre(nodes[2]));
}

TEST_F(CudaDeviceTest, GraphsAreChains) {
  for (bool concurrent : {false, true}) {
    auto stream = std::make_unique<CommandStream>();
    begin(*stream, concurrent);
    for (uint32_t i = 0; i < 5; ++i)
      dispatch(*stream, *pipeline_, 0x1000, i);
    play(std::move(stream));
    const auto &nodes = scope_.fake().lastGraph;
    ASSERT_EQ(nodes.size(), 5u);
    for (size_t i = 1; i < 5; ++i) {
      EXPECT_THAT(nodes[i]->waitsFor, ElementsAre(nodes[i - 1]));
      EXPECT_TRUE(nodes[i]->mayOverlap);
    }
  }
}

// What a kernel reads as constant it reads before it waits for the kernel before.
TEST_F(CudaDeviceTest, KernelsWithConstantBuffersDoNotOverlap) {
  auto pipeline = pipelineNamed("constant", air::AddressSpace::Constant);
  auto stream = std::make_unique<CommandStream>();
  begin(*stream, false);
  for (uint32_t i = 0; i < 2; ++i) {
    dispatch(*stream, *pipeline_, 0x1000, i);
    dispatch(*stream, *pipeline, 0x1000, i);
  }
  play(std::move(stream));
  const auto &nodes = scope_.fake().lastGraph;
  ASSERT_EQ(nodes.size(), 4u);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_THAT(nodes[i]->waitsFor, ElementsAre(nodes[i - 1]));
    EXPECT_EQ(nodes[i]->mayOverlap, i == 2);
  }
}

TEST_F(CudaDeviceTest, TallGridsAreLaunchedInPieces) {
  auto stream = std::make_unique<CommandStream>();
  begin(*stream, false);
  dispatch(*stream, *pipeline_, 0x5000, 7, {2, 202048, 1});
  play(std::move(stream));
  uint64_t rows = 0;
  for (const auto &launch : scope_.fake().launches) {
    EXPECT_LE(launch.grid[1], 65535u);
    rows += launch.grid[1];
  }
  EXPECT_EQ(rows, 202048u);
}

// A kernel that takes so many registers that 1,024 threads do not fit is compiled again when they come.
TEST_F(CudaDeviceTest, LargeThreadgroupsGetAFormWithFewerRegisters) {
  scope_.fake().maxThreads = 512;
  auto pipeline = pipelineNamed("large");
  size_t loads = scope_.fake().count("cuModuleLoadDataEx");
  EXPECT_TRUE(pipeline->prepare({512, 1, 1}, false).has_value());
  EXPECT_EQ(scope_.fake().count("cuModuleLoadDataEx"), loads);
  auto refused = pipeline->prepare({1024, 1, 1}, false); // this driver's second form is no smaller
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message(), HasSubstr("only 512"));
  scope_.fake().maxThreads = 1024;
  EXPECT_TRUE(pipeline->prepare({1024, 1, 1}, false).has_value());
  EXPECT_TRUE(pipeline->prepare({1024, 1, 1}, false).has_value());
  EXPECT_EQ(scope_.fake().count("cuModuleLoadDataEx"), loads + 2);
}

TEST_F(CudaDeviceTest, GraphsAreUsedAgain) {
  auto record = [&](uint64_t address, uint32_t constant) {
    auto stream = std::make_unique<CommandStream>();
    begin(*stream, false);
    for (int i = 0; i < 6; ++i)
      dispatch(*stream, *pipeline_, i == 3 ? address : 0x1000, constant);
    return stream;
  };
  play(record(0x2000, 1));
  play(record(0x2000, 2)); // only the constants differ: nothing but the upload
  EXPECT_EQ(scope_.fake().count("cuGraphInstantiate"), 1u);
  EXPECT_EQ(scope_.fake().count("cuGraphExecKernelNodeSetParams"), 0u);
  uint32_t constant;
  std::memcpy(&constant, reinterpret_cast<void *>(scope_.fake().launches.back().arguments[1]), 4);
  EXPECT_EQ(constant, 2u);
  play(record(0x3000, 2)); // one address differs: one node is updated
  EXPECT_EQ(scope_.fake().count("cuGraphInstantiate"), 1u);
  EXPECT_EQ(scope_.fake().count("cuGraphExecKernelNodeSetParams"), 1u);
  EXPECT_EQ(scope_.fake().count("cuGraphLaunch"), 3u);
}

TEST_F(CudaDeviceTest, GraphsUsedAgainHaveNewArgumentsInAllPartsOfADispatch) {
  auto record = [&](uint64_t address) {
    auto stream = std::make_unique<CommandStream>();
    begin(*stream, false);
    for (uint32_t i = 0; i < 4; ++i) // Two whole threadgroups and one of two threads.
      dispatch(*stream, *pipeline_, address + i, 1, {130, 1, 1}, /*exactThreads=*/true);
    return stream;
  };
  play(record(0x1000));
  for (uint64_t address : {0x2000, 0x3000}) {
    scope_.fake().launches.clear();
    play(record(address));
    ASSERT_EQ(scope_.fake().launches.size(), 8u);
    for (size_t i = 0; i < 8; ++i)
      EXPECT_EQ(scope_.fake().launches[i].arguments[0], address + i / 2) << "launch " << i;
  }
  EXPECT_EQ(scope_.fake().count("cuGraphInstantiate"), 1u);
}

TEST_F(CudaDeviceTest, CopiesAndFillsKeepTheirPlace) {
  auto memory = device_->allocate(256, StorageMode::Shared).value();
  auto copy = device_->allocate(256, StorageMode::Private).value();
  auto stream = std::make_unique<CommandStream>();
  auto *fill = stream->append<FillBufferCommand>(CommandKind::FillBuffer);
  fill->destination = memory.get();
  fill->offset = 16, fill->length = 32, fill->value = 0xab;
  auto *command = stream->append<CopyBufferCommand>(CommandKind::CopyBuffer);
  command->source = memory.get(), command->sourceOffset = 16;
  command->destination = copy.get(), command->destinationOffset = 8, command->length = 32;
  EXPECT_FALSE(play(std::move(stream)).error.has_value());
  auto *bytes = reinterpret_cast<const uint8_t *>(copy->deviceAddress());
  EXPECT_EQ(bytes[8], 0xab);
  EXPECT_EQ(bytes[39], 0xab);
}

TEST_F(CudaDeviceTest, FailuresNameTheCommandBufferAndTheDeviceStaysLost) {
  scope_.fake().failures["cuStreamSynchronize"] = 700;
  auto stream = std::make_unique<CommandStream>();
  stream->label = "token 3";
  begin(*stream, false);
  dispatch(*stream, *pipeline_, 0x5000, 7);
  Completion completion = play(std::move(stream));
  ASSERT_TRUE(completion.error.has_value());
  EXPECT_EQ(completion.error->kind(), ErrorKind::DeviceLost);
  EXPECT_THAT(completion.error->describe(), HasSubstr("token 3"));
  EXPECT_THAT(completion.error->describe(), HasSubstr("cuStreamSynchronize"));
  scope_.fake().failures.clear();
  EXPECT_TRUE(play(std::make_unique<CommandStream>()).error.has_value());
}

TEST_F(CudaDeviceTest, OversizedThreadgroupsAreRefused) {
  EXPECT_TRUE(pipeline_->prepare({1024, 1, 1}, false).has_value());
  auto tooLarge = pipeline_->prepare({1024, 2, 1}, false);
  ASSERT_FALSE(tooLarge.has_value());
  EXPECT_THAT(tooLarge.error().message(), HasSubstr("\"first\""));
}

} // namespace
} // namespace pewter::cuda
