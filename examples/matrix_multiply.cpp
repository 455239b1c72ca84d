// SPDX-License-Identifier: Apache-2.0
//
// C = A * B in half precision with simdgroup_matrix: a SIMD group computes a tile of 32 x 32, four by four
// matrices of 8 x 8, and sums in float.
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <cstdint>
#include <cstdio>

static const char *const kSource = R"(
#include <metal_stdlib>
using namespace metal;

kernel void fill(device half *matrix [[buffer(0)]], constant uint &size [[buffer(1)]],
                 constant uint &seed [[buffer(2)]], uint2 p [[thread_position_in_grid]]) {
  matrix[p.y * size + p.x] = half(int((p.x * 7 + p.y * 3 + seed) % 9) - 4);
}

kernel void multiply(device const half *a [[buffer(0)]], device const half *b [[buffer(1)]],
                     device float *c [[buffer(2)]], constant uint &size [[buffer(3)]],
                     uint2 tile [[threadgroup_position_in_grid]]) {
  simdgroup_float8x8 sums[4][4];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  for (uint k = 0; k < size; k += 8) {
    simdgroup_half8x8 left[4], right[4];
    for (int i = 0; i < 4; ++i) {
      simdgroup_load(left[i], a + (tile.y * 32 + i * 8) * size + k, size);
      simdgroup_load(right[i], b + k * size + tile.x * 32 + i * 8, size);
    }
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        simdgroup_multiply_accumulate(sums[i][j], left[i], right[j], sums[i][j]);
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      simdgroup_store(sums[i][j], c + (tile.y * 32 + i * 8) * size + tile.x * 32 + j * 8, size);
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
  auto pipeline = [&](const char *name) {
    auto function =
        NS::TransferPtr(library->newFunction(NS::String::string(name, NS::UTF8StringEncoding)));
    return NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
  };
  auto fill = pipeline("fill"), multiply = pipeline("multiply");

  const uint32_t size = 256, seeds[2] = {1, 5};
  auto a = NS::TransferPtr(device->newBuffer(size * size * 2, MTL::ResourceStorageModePrivate));
  auto b = NS::TransferPtr(device->newBuffer(size * size * 2, MTL::ResourceStorageModePrivate));
  auto c = NS::TransferPtr(device->newBuffer(size * size * 4, MTL::ResourceStorageModeShared));

  auto queue = NS::TransferPtr(device->newCommandQueue());
  MTL::CommandBuffer *commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(fill.get());
  encoder->setBytes(&size, sizeof(size), 1);
  for (int i = 0; i < 2; ++i) {
    encoder->setBuffer(i == 0 ? a.get() : b.get(), 0, 0);
    encoder->setBytes(&seeds[i], sizeof(seeds[i]), 2);
    encoder->dispatchThreads(MTL::Size::Make(size, size, 1), MTL::Size::Make(32, 8, 1));
  }
  encoder->setComputePipelineState(multiply.get());
  encoder->setBuffer(a.get(), 0, 0);
  encoder->setBuffer(b.get(), 0, 1);
  encoder->setBuffer(c.get(), 0, 2);
  encoder->setBytes(&size, sizeof(size), 3);
  encoder->dispatchThreadgroups(MTL::Size::Make(size / 32, size / 32, 1), MTL::Size::Make(32, 1, 1));
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();

  const float *values = static_cast<const float *>(c->contents());
  for (uint32_t y = 0; y < size; y += 51) {
    for (uint32_t x = 0; x < size; x += 51)
      std::printf("%g ", static_cast<double>(values[y * size + x]));
    std::printf("\n");
  }
  return 0;
}
