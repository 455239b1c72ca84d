// SPDX-License-Identifier: Apache-2.0
//
// Lesson 5: the grid is the shape of the output. dispatchThreads takes the exact number of threads and
// cuts the last threadgroup short; dispatchThreadgroups takes whole threadgroups, and the kernel's guard
// keeps the surplus from writing.
#include "lesson.h"
#include <cmath>
using namespace lesson;

int main() {
  Context metal;
  auto gate = metal.pipeline("pointwise_batch.metal", "sigmoid_gate_inplace");
  for (uint32_t count : {1u, 31u, 256u, 1000u, 4096u}) {
    const float sentinel = 12345.0f;
    std::vector<float> values(count + 300, sentinel), gates(count + 300, 0.0f);
    for (uint32_t i = 0; i < count; ++i) {
      values[i] = static_cast<float>(i) * 0.01f - 3.0f;
      gates[i] = static_cast<float>(i % 41) - 20.0f;
    }
    for (bool exact : {true, false}) {
      auto valueBuffer = metal.buffer(values), gateBuffer = metal.buffer(gates);
      MTL::CommandBuffer *commands = metal.queue->commandBuffer();
      MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
      encoder->setComputePipelineState(gate.get());
      encoder->setBuffer(valueBuffer.get(), 0, 0);
      encoder->setBuffer(gateBuffer.get(), 0, 1);
      encoder->setBytes(&count, sizeof(count), 2);
      const uint32_t width = count < 256 ? count : 256;
      if (exact)
        encoder->dispatchThreads(MTL::Size(count, 1, 1), MTL::Size(width, 1, 1));
      else
        encoder->dispatchThreadgroups(MTL::Size((count + 255) / 256, 1, 1), MTL::Size(256, 1, 1));
      encoder->endEncoding();
      finish(commands);
      const float *result = contents<float>(valueBuffer);
      for (uint32_t i = 0; i < count; ++i) {
        double expected = values[i] / (1.0 + std::exp(-static_cast<double>(gates[i])));
        check(std::fabs(result[i] - expected) <= 1e-6 * (1 + std::fabs(expected)), "Gated value.");
      }
      for (uint32_t i = count; i < count + 300; ++i)
        check(result[i] == sentinel, "Nothing is written past the end.");
    }
  }
  std::printf("Exact and rounded-up grids write the same elements.\n");
}
