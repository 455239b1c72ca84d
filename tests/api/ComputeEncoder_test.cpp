// SPDX-License-Identifier: Apache-2.0
#include "KernelTest.h"
#include <numeric>

namespace pewter::test {
namespace {

using ::testing::HasSubstr;

class ComputeEncoderApi : public KernelTest {
protected:
  void begin(MTL::DispatchType type = MTL::DispatchTypeSerial) {
    commands = queue->commandBuffer();
    encoder = commands->computeCommandEncoder(type);
  }
  void end() {
    encoder->endEncoding();
    finish(commands);
  }
  /// Ends a recording that was misused; it must fail.
  void endInError() {
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    EXPECT_EQ(commands->status(), MTL::CommandBufferStatusError);
  }
  MTL::CommandBuffer *commands = nullptr;
  MTL::ComputeCommandEncoder *encoder = nullptr;
};
PEWTER_EVERY_DEVICE(ComputeEncoderApi);

TEST_P(ComputeEncoderApi, RunsADispatch) {
  auto values = bufferOf(std::vector<float>{1, 2, 3, 4});
  float factor = 2.5f;
  begin();
  encoder->setComputePipelineState(pipeline("scale_by").get());
  encoder->setBuffer(values.get(), 0, 0);
  encoder->setBytes(&factor, sizeof(factor), 1);
  factor = 100; // Copied when it was set.
  encoder->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(4, 1, 1));
  end();
  if (executes())
    EXPECT_EQ(contentsOf<float>(values), (std::vector<float>{2.5f, 5, 7.5f, 10}));
}

TEST_P(ComputeEncoderApi, OffsetsMakeViews) {
  auto values = bufferOf(std::vector<int>(16, 1));
  begin();
  encoder->setComputePipelineState(pipeline("add_one").get());
  encoder->setBuffer(values.get(), 16, 0);
  encoder->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(32, 1, 1));
  encoder->setBufferOffset(48, 0);
  encoder->dispatchThreads(MTL::Size(2, 1, 1), MTL::Size(32, 1, 1));
  end();
  if (executes())
    EXPECT_EQ(contentsOf<int>(values),
              (std::vector<int>{1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 2, 2, 1, 1}));
}

TEST_P(ComputeEncoderApi, SerialDispatchesSeeEachOther) {
  auto values = bufferOf(std::vector<int>(1000, 1));
  auto add = pipeline("add_one"), twice = pipeline("double_it");
  begin();
  encoder->setBuffer(values.get(), 0, 0);
  for (int i = 0; i < 5; ++i) {
    encoder->setComputePipelineState(add.get());
    encoder->dispatchThreads(MTL::Size(1000, 1, 1), MTL::Size(64, 1, 1));
    encoder->setComputePipelineState(twice.get());
    encoder->dispatchThreads(MTL::Size(1000, 1, 1), MTL::Size(64, 1, 1));
  }
  end();
  if (executes())
    EXPECT_EQ(contentsOf<int>(values), std::vector<int>(1000, 94));
}

TEST_P(ComputeEncoderApi, BarriersOrderAConcurrentEncoder) {
  auto values = bufferOf(std::vector<int>(4096, 1));
  auto add = pipeline("add_one"), twice = pipeline("double_it");
  begin(MTL::DispatchTypeConcurrent);
  encoder->setBuffer(values.get(), 0, 0);
  encoder->setComputePipelineState(add.get());
  encoder->dispatchThreads(MTL::Size(4096, 1, 1), MTL::Size(64, 1, 1));
  encoder->memoryBarrier(MTL::BarrierScopeBuffers);
  encoder->setComputePipelineState(twice.get());
  encoder->dispatchThreads(MTL::Size(4096, 1, 1), MTL::Size(64, 1, 1));
  const MTL::Resource *resources[] = {values.get()};
  encoder->memoryBarrier(resources, 1);
  encoder->setComputePipelineState(add.get());
  encoder->dispatchThreads(MTL::Size(4096, 1, 1), MTL::Size(64, 1, 1));
  end();
  if (executes())
    EXPECT_EQ(contentsOf<int>(values), std::vector<int>(4096, 5));
}

TEST_P(ComputeEncoderApi, TrackedHazardsAreOrderedAcrossEncodersAndBuffers) {
  auto values = bufferOf(std::vector<int>(4096, 1));
  auto add = pipeline("add_one"), twice = pipeline("double_it");
  MTL::CommandBuffer *last = nullptr;
  for (int i = 0; i < 3; ++i) {
    last = queue->commandBuffer();
    for (auto *state : {add.get(), twice.get()}) {
      auto *own = last->computeCommandEncoder(MTL::DispatchTypeConcurrent);
      own->setComputePipelineState(state);
      own->setBuffer(values.get(), 0, 0);
      own->dispatchThreads(MTL::Size(4096, 1, 1), MTL::Size(128, 1, 1));
      own->endEncoding();
    }
    if (i < 2)
      last->commit();
  }
  finish(last);
  if (executes())
    EXPECT_EQ(contentsOf<int>(values), std::vector<int>(4096, 22));
}

TEST_P(ComputeEncoderApi, EdgesOfTheGridAreExact) {
  auto state = pipeline("write_index");
  for (auto [w, h, d, tw, th, td] : {std::array{7, 1, 1, 32, 1, 1}, std::array{33, 5, 1, 32, 2, 1},
                                     std::array{10, 7, 3, 4, 3, 2}, std::array{100, 3, 1, 48, 1, 1},
                                     std::array{5, 5, 5, 3, 3, 3}}) {
    size_t total = size_t(w) * h * d;
    auto out = buffer((total + 64) * 4);
    begin();
    encoder->setComputePipelineState(state.get());
    encoder->setBuffer(out.get(), 0, 3);
    encoder->dispatchThreads(MTL::Size(w, h, d), MTL::Size(tw, th, td));
    end();
    if (!executes())
      continue;
    auto got = contentsOf<uint32_t>(out);
    for (int z = 0, i = 0; z < d; ++z)
      for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x, ++i)
          ASSERT_EQ(got[i], uint32_t((z << 16) + (y << 8) + x + 1)) << w << " " << h << " " << d;
    for (size_t i = total; i < got.size(); ++i)
      ASSERT_EQ(got[i], 0u);
  }
}

TEST_P(ComputeEncoderApi, ThreadgroupMemoryIsShared) {
  std::vector<int> in(256);
  std::iota(in.begin(), in.end(), 0);
  auto source = bufferOf(in);
  auto out = buffer(16);
  begin();
  encoder->setComputePipelineState(pipeline("sum_group").get());
  encoder->setBuffer(source.get(), 0, 0);
  encoder->setBuffer(out.get(), 0, 1);
  encoder->setThreadgroupMemoryLength(256, 0);
  encoder->dispatchThreadgroups(MTL::Size(4, 1, 1), MTL::Size(64, 1, 1));
  end();
  if (executes())
    EXPECT_EQ(contentsOf<int>(out), (std::vector<int>{2016, 6112, 10208, 14304}));
}

TEST_P(ComputeEncoderApi, IndirectGridsAreReadWhenTheCommandRuns) {
  auto values = bufferOf(std::vector<int>(256, 0));
  auto grid = bufferOf(std::vector<uint32_t>{99, 2, 1, 1});
  begin();
  encoder->setComputePipelineState(pipeline("add_one").get());
  encoder->setBuffer(values.get(), 0, 0);
  encoder->dispatchThreadgroups(grid.get(), 4, MTL::Size(64, 1, 1));
  static_cast<uint32_t *>(grid->contents())[1] = 3;
  end();
  if (executes()) {
    auto got = contentsOf<int>(values);
    EXPECT_EQ(std::accumulate(got.begin(), got.end(), 0), 192);
    EXPECT_EQ(got[191], 1);
    EXPECT_EQ(got[192], 0);
  }
}

TEST_P(ComputeEncoderApi, NoThreadsRecordNothing) {
  auto values = bufferOf(std::vector<int>(4, 1));
  begin();
  encoder->setComputePipelineState(pipeline("add_one").get());
  encoder->setBuffer(values.get(), 0, 0);
  encoder->dispatchThreads(MTL::Size(0, 1, 1), MTL::Size(32, 1, 1));
  encoder->dispatchThreadgroups(MTL::Size(1, 0, 1), MTL::Size(4, 1, 1));
  end();
  EXPECT_EQ(contentsOf<int>(values), std::vector<int>(4, 1));
}

TEST_P(ComputeEncoderApi, ManyDispatchesFitOneBuffer) {
  auto values = bufferOf(std::vector<int>(32, 0));
  begin();
  encoder->setComputePipelineState(pipeline("add_one").get());
  encoder->setBuffer(values.get(), 0, 0);
  for (int i = 0; i < 5000; ++i)
    encoder->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(32, 1, 1));
  end();
  if (executes())
    EXPECT_EQ(contentsOf<int>(values), std::vector<int>(32, 5000));
}

TEST_P(ComputeEncoderApi, ReportsBadSetCalls) {
  auto b = buffer(64);
  b->setLabel(MTLSTR("small"));
  begin();
  commands->setLabel(MTLSTR("token"));
  encoder->setLabel(MTLSTR("layer 3"));
  encoder->setBuffer(b.get(), 0, 31);
  EXPECT_THAT(
      takeMisuse(),
      HasSubstr("ComputeCommandEncoder::setBuffer: index (31) is not below the limit (31)"));
  encoder->setBuffer(b.get(), 64, 2);
  std::string message = takeMisuse();
  EXPECT_THAT(message, HasSubstr("offset (64) is not below the length (64) of buffer \"small\""));
  EXPECT_THAT(message, HasSubstr("- While using encoder \"layer 3\""));
  EXPECT_THAT(message, HasSubstr("- While encoding command buffer \"token\""));
  char bytes[4097] = {};
  encoder->setBytes(bytes, 4097, 0);
  EXPECT_THAT(takeMisuse(), HasSubstr("length (4097) is not between 1 and 4096"));
  encoder->setBytes(bytes, 4096, 0);
  encoder->setThreadgroupMemoryLength(20, 0);
  EXPECT_THAT(takeMisuse(), HasSubstr("length (20) is not a multiple of 16"));
  encoder->setThreadgroupMemoryLength(32784, 0);
  EXPECT_THAT(takeMisuse(), HasSubstr("length (32784) is above the limit (32768)"));
  encoder->setBufferOffset(0, 9);
  EXPECT_THAT(takeMisuse(), HasSubstr("no buffer is set at index 9"));
  encoder->setTexture(nullptr, 128);
  EXPECT_THAT(takeMisuse(), HasSubstr("index (128)"));
  encoder->setSamplerState(nullptr, 16);
  EXPECT_THAT(takeMisuse(), HasSubstr("index (16)"));
  encoder->setComputePipelineState(nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("state is null"));
  endInError();
}

TEST_P(ComputeEncoderApi, ReportsADispatchWithoutPipeline) {
  begin();
  encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
  EXPECT_THAT(takeMisuse(), HasSubstr("no compute pipeline state is set"));
  endInError();
}

TEST_P(ComputeEncoderApi, ReportsAMissingBuffer) {
  begin();
  encoder->setComputePipelineState(pipeline("sum_group").get());
  encoder->setThreadgroupMemoryLength(256, 0);
  auto out = buffer(64);
  encoder->setBuffer(out.get(), 0, 1);
  encoder->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(64, 1, 1));
  std::string message = takeMisuse();
  EXPECT_THAT(message, HasSubstr("no buffer is bound at index 0 for argument \"in\" of kernel "
                                 "\"sum_group\""));
  endInError();
}

TEST_P(ComputeEncoderApi, ReportsATooShortReference) {
  begin();
  encoder->setComputePipelineState(pipeline("use_settings").get());
  auto out = buffer(64);
  encoder->setBuffer(out.get(), 0, 0);
  uint32_t half = 1;
  encoder->setBytes(&half, 4, 1);
  encoder->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(4, 1, 1));
  EXPECT_THAT(takeMisuse(), HasSubstr("4 bytes are bound at index 1 for argument \"settings\""));
  endInError();
}

TEST_P(ComputeEncoderApi, ReportsThreadgroupSizesOutsideTheLimits) {
  begin();
  auto state = pipeline("add_one");
  auto values = buffer(4096);
  encoder->setComputePipelineState(state.get());
  encoder->setBuffer(values.get(), 0, 0);
  encoder->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(1025, 1, 1));
  EXPECT_THAT(takeMisuse(), HasSubstr("1025 in all"));
  encoder->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(64, 32, 1));
  EXPECT_THAT(takeMisuse(), HasSubstr("2048 in all) is above the limit (1024)"));
  encoder->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(32, 0, 1));
  EXPECT_THAT(takeMisuse(), HasSubstr("extent of 0"));
  encoder->dispatchThreads(MTL::Size(NS::UInteger(1) << 32, 1, 1), MTL::Size(32, 1, 1));
  EXPECT_THAT(takeMisuse(), HasSubstr("32 bits"));
  endInError();
}

TEST_P(ComputeEncoderApi, ReportsTooMuchThreadgroupMemory) {
  begin();
  auto out = buffer(4096);
  encoder->setComputePipelineState(pipeline("big_static").get());
  encoder->setBuffer(out.get(), 0, 0);
  encoder->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(64, 1, 1));
  EXPECT_THAT(takeMisuse(), HasSubstr("threadgroup memory of 0 bytes is set at index 0"));
  encoder->setThreadgroupMemoryLength(8192, 0);
  encoder->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(64, 1, 1));
  EXPECT_THAT(takeMisuse(), HasSubstr("36864 bytes, 28672 of them declared"));
  endInError();
}

TEST_P(ComputeEncoderApi, ReportsCallsAfterTheEnd) {
  begin();
  encoder->endEncoding();
  encoder->setBuffer(nullptr, 0, 0);
  EXPECT_THAT(takeMisuse(), HasSubstr("endEncoding was already called"));
  encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
  EXPECT_THAT(takeMisuse(), HasSubstr("endEncoding was already called"));
  finish(commands);
}

TEST_P(ComputeEncoderApi, IndirectCommandsRunManyTimes) {
  auto descriptor = NS::TransferPtr(MTL::IndirectCommandBufferDescriptor::alloc()->init());
  descriptor->setCommandTypes(MTL::IndirectCommandTypeConcurrentDispatchThreads);
  auto list = NS::TransferPtr(device->newIndirectCommandBuffer(descriptor.get(), 3, 0));
  ASSERT_TRUE(list);
  auto values = bufferOf(std::vector<int>(8, 1));
  auto add = pipeline("add_one"), twice = pipeline("double_it");
  MTL::ComputePipelineState *states[] = {add.get(), twice.get()};
  for (int i = 0; i < 2; ++i) {
    auto *command = list->indirectComputeCommand(i);
    command->setComputePipelineState(states[i]);
    command->setKernelBuffer(values.get(), 0, 0);
    command->concurrentDispatchThreads(MTL::Size(8, 1, 1), MTL::Size(32, 1, 1));
    command->setBarrier();
  }
  begin();
  encoder->executeCommandsInBuffer(list.get(), NS::Range(0, 3));
  encoder->executeCommandsInBuffer(list.get(), NS::Range(0, 1));
  end();
  if (executes())
    EXPECT_EQ(contentsOf<int>(values), std::vector<int>(8, 5));
  begin();
  encoder->executeCommandsInBuffer(list.get(), NS::Range(2, 2));
  EXPECT_THAT(takeMisuse(), HasSubstr("range (2 + 2) ends past the 3 commands"));
  endInError();
  descriptor->setCommandTypes(MTL::IndirectCommandTypeDraw);
  EXPECT_EQ(device->newIndirectCommandBuffer(descriptor.get(), 3, 0), nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("commandTypes (1)"));
}

} // namespace
} // namespace pewter::test
