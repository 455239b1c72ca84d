// SPDX-License-Identifier: Apache-2.0
//
// Lesson 6: threads, threadgroups, SIMD groups. A row is reduced by one threadgroup: inside a SIMD group
// with simd_sum, across SIMD groups through threadgroup memory whose size the host sets, with a barrier
// before it is read. The name's suffix is the geometry: 32sg is 32 SIMD groups, 1,024 threads.
#include "lesson.h"
#include <cmath>
using namespace lesson;

namespace {

const uint32_t kWidth = 6656;
const float kEpsilon1 = 1e-8f, kEpsilon2 = 1e-5f;

std::vector<float> pattern(size_t count, uint32_t seed) {
  std::vector<float> values(count);
  for (float &value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / 8388608.0f - 1.0f;
  }
  return values;
}

double inverseRms(const double *x, double epsilon) {
  double sum = 0;
  for (uint32_t i = 0; i < kWidth; ++i)
    sum += x[i] * x[i];
  return 1 / std::sqrt(sum / kWidth + epsilon);
}

void checkNear(float got, double expected, const char *what) {
  check(std::fabs(got - expected) <= 2e-5 * (1 + std::fabs(expected)), what);
}

void normRows(Context &metal, uint32_t rows) {
  auto pipeline = metal.pipeline("norm_batch.metal", "rms_norm_batch");
  auto x = pattern(size_t(rows) * kWidth, 1), weight = pattern(kWidth, 2);
  auto in = metal.buffer(x), weights = metal.buffer(weight);
  auto out = metal.buffer(std::vector<float>(x.size(), 99.0f));
  MTL::CommandBuffer *commands = metal.queue->commandBuffer();
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(pipeline.get());
  encoder->setBuffer(in.get(), 0, 0);
  encoder->setBuffer(weights.get(), 0, 1);
  encoder->setBuffer(out.get(), 0, 2);
  encoder->setBytes(&kWidth, sizeof(kWidth), 3);
  encoder->setBytes(&kEpsilon2, sizeof(kEpsilon2), 4);
  encoder->setThreadgroupMemoryLength(32, 0);
  encoder->dispatchThreadgroups(MTL::Size(rows, 1, 1), MTL::Size(128, 1, 1));
  encoder->endEncoding();
  finish(commands);
  for (uint32_t r = 0; r < rows; ++r) {
    std::vector<double> row(x.begin() + size_t(r) * kWidth, x.begin() + size_t(r + 1) * kWidth);
    double inverse = inverseRms(row.data(), kEpsilon2);
    for (uint32_t i = 0; i < kWidth; ++i)
      checkNear(contents<float>(out)[size_t(r) * kWidth + i], row[i] * inverse * weight[i],
                "rms_norm_batch");
  }
}

void fusedTail(Context &metal, uint32_t rows) {
  auto pipeline = metal.pipeline("norm_batch.metal", "fused_norm_residual_rms_norm_32sg");
  size_t count = size_t(rows) * kWidth;
  auto source = pattern(count, 3), hidden = pattern(count, 4);
  auto weight1 = pattern(kWidth, 5), weight2 = pattern(kWidth, 6);
  auto sourceBuffer = metal.buffer(source), hiddenBuffer = metal.buffer(hidden);
  auto weightBuffer1 = metal.buffer(weight1), weightBuffer2 = metal.buffer(weight2);
  auto out = metal.buffer(std::vector<float>(count, 99.0f));
  MTL::CommandBuffer *commands = metal.queue->commandBuffer();
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(pipeline.get());
  encoder->setBuffer(sourceBuffer.get(), 0, 0);
  encoder->setBuffer(weightBuffer1.get(), 0, 1);
  encoder->setBuffer(hiddenBuffer.get(), 0, 2);
  encoder->setBuffer(weightBuffer2.get(), 0, 3);
  encoder->setBuffer(out.get(), 0, 4);
  encoder->setBytes(&kWidth, sizeof(kWidth), 5);
  encoder->setBytes(&kEpsilon1, sizeof(kEpsilon1), 6);
  encoder->setBytes(&kEpsilon2, sizeof(kEpsilon2), 7);
  encoder->setThreadgroupMemoryLength(144, 0); // 33 floats, rounded up to 16 bytes
  encoder->dispatchThreadgroups(MTL::Size(rows, 1, 1), MTL::Size(1024, 1, 1));
  encoder->endEncoding();
  finish(commands);
  for (uint32_t r = 0; r < rows; ++r) {
    size_t first = size_t(r) * kWidth;
    std::vector<double> row(source.begin() + first, source.begin() + first + kWidth), sum(kWidth);
    double inverse = inverseRms(row.data(), kEpsilon1);
    for (uint32_t i = 0; i < kWidth; ++i)
      sum[i] = hidden[first + i] + row[i] * inverse * weight1[i];
    double second = inverseRms(sum.data(), kEpsilon2);
    for (uint32_t i = 0; i < kWidth; ++i) {
      checkNear(contents<float>(hiddenBuffer)[first + i], sum[i], "The sum stays in hidden.");
      checkNear(contents<float>(out)[first + i], sum[i] * second * weight2[i], "The second norm.");
    }
  }
}

} // namespace

int main() {
  Context metal;
  normRows(metal, 1);
  normRows(metal, 17);
  fusedTail(metal, 1);
  fusedTail(metal, 5);
  std::printf("Norms of rows of %u floats agree with double precision.\n", kWidth);
}
