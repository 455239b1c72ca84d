// SPDX-License-Identifier: Apache-2.0
//
// Lesson 3: one buffer, many views. A model is one buffer; a tensor is an offset into it. The kernel sees
// an ordinary pointer that starts there.
#include "lesson.h"
using namespace lesson;

int main() {
  Context metal;
  auto add = metal.pipeline("pointwise_batch.metal", "residual_add_batch");
  // Three tensors of 500 floats in one buffer, 2,048 bytes apart.
  const uint32_t count = 500;
  const size_t pitch = 2048;
  auto arena = NS::TransferPtr(metal.device->newBuffer(3 * pitch, MTL::ResourceStorageModeShared));
  float *floats = contents<float>(arena);
  for (size_t i = 0; i < 3 * pitch / sizeof(float); ++i)
    floats[i] = -1.0f;
  for (size_t tensor = 0; tensor < 3; ++tensor)
    for (uint32_t i = 0; i < count; ++i)
      floats[tensor * pitch / sizeof(float) + i] = static_cast<float>(tensor * 1000 + i);

  MTL::CommandBuffer *commands = metal.queue->commandBuffer();
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(add.get());
  encoder->setBuffer(arena.get(), 2 * pitch, 0); // target: the third tensor
  encoder->setBuffer(arena.get(), 1 * pitch, 1); // source: the second
  encoder->setBytes(&count, sizeof(count), 2);
  encoder->dispatchThreadgroups(MTL::Size((count + 1023) / 1024, 1, 1), MTL::Size(1024, 1, 1));
  encoder->setBufferOffset(0, 1); // the same buffer, now the first tensor
  encoder->dispatchThreadgroups(MTL::Size((count + 1023) / 1024, 1, 1), MTL::Size(1024, 1, 1));
  encoder->endEncoding();
  finish(commands);

  const float *target = floats + 2 * pitch / sizeof(float);
  for (uint32_t i = 0; i < count; ++i) {
    check(target[i] == static_cast<float>(3000 + 3 * i), "The third tensor holds the sum of all.");
    check(floats[i] == static_cast<float>(i), "The first is as it was.");
  }
  check(target[count] == -1.0f, "The guard kept the threads past the end from writing.");
  std::printf("Three tensors in one buffer of %zu bytes.\n", 3 * pitch);
}
