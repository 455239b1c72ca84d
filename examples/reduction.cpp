// SPDX-License-Identifier: Apache-2.0
//
// The sum of many integers: lanes by simd_sum, SIMD groups by threadgroup memory, threadgroups by an
// atomic.
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <cstdint>
#include <cstdio>

static const char *const kSource = R"(
#include <metal_stdlib>
using namespace metal;

kernel void sum(device const uint *values [[buffer(0)]], device atomic_uint *total [[buffer(1)]],
                constant uint &count [[buffer(2)]], uint index [[thread_position_in_grid]],
                uint grid [[threads_per_grid]], uint lane [[thread_index_in_simdgroup]],
                uint group [[simdgroup_index_in_threadgroup]],
                uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup uint partial[32];
  uint mine = 0;
  for (uint i = index; i < count; i += grid)
    mine += values[i];
  mine = simd_sum(mine);
  if (lane == 0)
    partial[group] = mine;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (group == 0) {
    uint all = simd_sum(lane < groups ? partial[lane] : 0);
    if (lane == 0)
      atomic_fetch_add_explicit(total, all, memory_order_relaxed);
  }
}
)";

int main() {
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  NS::Error *error = nullptr;
  auto library = NS::TransferPtr(
      device->newLibrary(NS::String::string(kSource, NS::UTF8StringEncoding), nullptr, &error));
  if (!library) {
    std::fprintf(stderr, "%s\n", error->localizedDescription()->utf8String());
    return 1;
  }
  auto function =
      NS::TransferPtr(library->newFunction(NS::String::string("sum", NS::UTF8StringEncoding)));
  auto pipeline = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));

  const uint32_t count = 5'000'000;
  auto values = NS::TransferPtr(
      device->newBuffer(count * sizeof(uint32_t), MTL::ResourceStorageModeShared));
  auto total = NS::TransferPtr(device->newBuffer(sizeof(uint32_t), MTL::ResourceStorageModeShared));
  for (uint32_t i = 0; i < count; ++i)
    static_cast<uint32_t *>(values->contents())[i] = i % 7;
  *static_cast<uint32_t *>(total->contents()) = 0;

  auto queue = NS::TransferPtr(device->newCommandQueue());
  MTL::CommandBuffer *commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(pipeline.get());
  encoder->setBuffer(values.get(), 0, 0);
  encoder->setBuffer(total.get(), 0, 1);
  encoder->setBytes(&count, sizeof(count), 2);
  encoder->dispatchThreadgroups(MTL::Size::Make(64, 1, 1), MTL::Size::Make(1024, 1, 1));
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  std::printf("sum of %u values: %u\n", count, *static_cast<uint32_t *>(total->contents()));
  return 0;
}
