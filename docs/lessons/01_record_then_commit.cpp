// SPDX-License-Identifier: Apache-2.0
//
// Lesson 1: record first, then commit. A command buffer is a recording. The five steps are: take one
// from the queue, open an encoder, record (bind a pipeline, bind buffers, bind constants, launch), end
// the encoder, commit. Until the last step nothing has run.
#include "lesson.h"
using namespace lesson;

int main() {
  Context metal;
  auto saxpy = metal.pipeline("pointwise_batch.metal", "saxpy");
  const uint32_t count = 1000;
  auto x = metal.buffer(std::vector<float>(count, 2.0f));
  auto y = metal.buffer(std::vector<float>(count, 1.0f));

  MTL::CommandBuffer *commands = metal.queue->commandBuffer();
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
  const float a = 3.0f;
  encoder->setComputePipelineState(saxpy.get());
  encoder->setBuffer(x.get(), 0, 0);
  encoder->setBuffer(y.get(), 0, 1);
  encoder->setBytes(&a, sizeof(a), 2);
  encoder->setBytes(&count, sizeof(count), 3);
  encoder->dispatchThreads(MTL::Size(count, 1, 1), MTL::Size(256, 1, 1));
  encoder->endEncoding();

  for (uint32_t i = 0; i < count; ++i)
    check(contents<float>(y)[i] == 1.0f, "A recorded dispatch must not run before commit.");
  check(commands->status() == MTL::CommandBufferStatusNotEnqueued, "Not enqueued before commit.");

  finish(commands);
  check(commands->status() == MTL::CommandBufferStatusCompleted, "Completed after the wait.");
  for (uint32_t i = 0; i < count; ++i)
    check(contents<float>(y)[i] == 7.0f, "Every element is 3 * 2 + 1.");
  std::printf("Recorded, committed, completed: %u elements.\n", count);
}
