// SPDX-License-Identifier: Apache-2.0
//
// Lesson 2: the slot number is the contract between kernel and host, and small constants are copied
// when they are bound. Changing the host's variable after setBytes changes nothing. Bindings stay until
// they are replaced: the second dispatch below names only what differs.
#include "lesson.h"
using namespace lesson;

int main() {
  Context metal;
  auto saxpy = metal.pipeline("pointwise_batch.metal", "saxpy");
  const uint32_t count = 300;
  auto x = metal.buffer(std::vector<float>(count, 1.0f));
  auto first = metal.buffer(std::vector<float>(count, 0.0f));
  auto second = metal.buffer(std::vector<float>(count, 0.0f));

  MTL::CommandBuffer *commands = metal.queue->commandBuffer();
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
  float a = 2.0f;
  encoder->setComputePipelineState(saxpy.get());
  encoder->setBuffer(x.get(), 0, 0);
  encoder->setBuffer(first.get(), 0, 1);
  encoder->setBytes(&a, sizeof(a), 2);
  encoder->setBytes(&count, sizeof(count), 3);
  encoder->dispatchThreads(MTL::Size(count, 1, 1), MTL::Size(256, 1, 1));

  a = 5.0f; // the first dispatch keeps its 2
  encoder->setBuffer(second.get(), 0, 1);
  encoder->setBytes(&a, sizeof(a), 2);
  encoder->dispatchThreads(MTL::Size(count, 1, 1), MTL::Size(256, 1, 1));
  a = -1.0f; // nobody reads this
  encoder->endEncoding();
  finish(commands);

  for (uint32_t i = 0; i < count; ++i) {
    check(contents<float>(first)[i] == 2.0f, "The first dispatch used the value of its time.");
    check(contents<float>(second)[i] == 5.0f, "The second used its own.");
  }
  std::printf("Constants were copied at binding: 2 and 5.\n");
}
