// SPDX-License-Identifier: Apache-2.0
//
// Lesson 7: one command buffer for much work. Recording is bookkeeping; the time is spent between commit
// and the end of the wait. A thousand dispatches, each needing the one before, are recorded on one
// command buffer, committed once, and waited for once.
#include "lesson.h"
using namespace lesson;

int main() {
  Context metal;
  auto add = metal.pipeline("pointwise_batch.metal", "residual_add_batch");
  const uint32_t count = 64;
  const int dispatches = 1000;
  auto sum = metal.buffer(std::vector<float>(count, 0.0f));
  auto one = metal.buffer(std::vector<float>(count, 1.0f));
  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  MTL::CommandBuffer *commands = metal.queue->commandBuffer();
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
  for (int i = 0; i < dispatches; ++i) {
    if (i > 0)
      encoder->memoryBarrier(MTL::BarrierScopeBuffers);
    encoder->setComputePipelineState(add.get());
    encoder->setBuffer(sum.get(), 0, 0);
    encoder->setBuffer(one.get(), 0, 1);
    encoder->setBytes(&count, sizeof(count), 2);
    encoder->dispatchThreads(MTL::Size(count, 1, 1), MTL::Size(64, 1, 1));
  }
  encoder->endEncoding();
  auto recorded = Clock::now();
  finish(commands);
  auto done = Clock::now();
  for (uint32_t i = 0; i < count; ++i)
    check(contents<float>(sum)[i] == static_cast<float>(dispatches), "Every dispatch ran once, in order.");
  check(commands->GPUEndTime() > commands->GPUStartTime(), "The device measured an interval.");
  auto microseconds = [](auto span) { return std::chrono::duration<double, std::micro>(span).count(); };
  std::printf("%d dispatches: recorded in %.0f us, ran in %.0f us (device: %.0f us).\n", dispatches,
              microseconds(recorded - start), microseconds(done - recorded),
              (commands->GPUEndTime() - commands->GPUStartTime()) * 1e6);
}
