// SPDX-License-Identifier: Apache-2.0
//
// Lesson 4: order inside an encoder. A serial encoder runs each dispatch after the ones before it. A
// concurrent one may overlap them; where one needs another's result, a memory barrier must stand
// between. Independent dispatches share an interval between barriers: that is what they are for.
#include "lesson.h"
using namespace lesson;

namespace {

const uint32_t kCount = 4096;

void add(MTL::ComputeCommandEncoder *encoder, const NS::SharedPtr<MTL::Buffer> &target,
         const NS::SharedPtr<MTL::Buffer> &source) {
  encoder->setBuffer(target.get(), 0, 0);
  encoder->setBuffer(source.get(), 0, 1);
  encoder->dispatchThreadgroups(MTL::Size((kCount + 1023) / 1024, 1, 1), MTL::Size(1024, 1, 1));
}

/// b += a; then c += b and d += b; then e += c; then e += d.
float run(Context &metal, MTL::ComputePipelineState *pipeline, MTL::DispatchType type) {
  auto ones = [&] { return metal.buffer(std::vector<float>(kCount, 1.0f)); };
  auto a = ones(), b = ones(), c = ones(), d = ones(), e = ones();
  bool concurrent = type == MTL::DispatchTypeConcurrent;

  MTL::CommandBuffer *commands = metal.queue->commandBuffer();
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder(type);
  encoder->setComputePipelineState(pipeline);
  encoder->setBytes(&kCount, sizeof(kCount), 2);
  auto nextGroup = [&] {
    if (concurrent)
      encoder->memoryBarrier(MTL::BarrierScopeBuffers);
  };
  add(encoder, b, a); // 2
  nextGroup();
  add(encoder, c, b); // 3, independent of the next: they share an interval
  add(encoder, d, b); // 3
  nextGroup();
  add(encoder, e, c); // 4
  nextGroup();
  add(encoder, e, d); // 7
  encoder->endEncoding();
  finish(commands);
  float result = contents<float>(e)[0];
  for (uint32_t i = 0; i < kCount; ++i)
    check(contents<float>(e)[i] == result, "Every element went the same way.");
  return result;
}

} // namespace

int main() {
  Context metal;
  auto pipeline = metal.pipeline("pointwise_batch.metal", "residual_add_batch");
  for (int round = 0; round < 50; ++round) {
    check(run(metal, pipeline.get(), MTL::DispatchTypeSerial) == 7.0f, "Serial: in order.");
    check(run(metal, pipeline.get(), MTL::DispatchTypeConcurrent) == 7.0f, "Concurrent: by barriers.");
  }
  std::printf("Serial and concurrent encoders agree.\n");
}
