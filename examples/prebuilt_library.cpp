// SPDX-License-Identifier: Apache-2.0
//
// Runs kernels of a library that the build made (pewter_add_metallib in CMakeLists.txt): a glider of the
// game of life, four steps of which move it by one cell.
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

int main() {
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  NS::Error *error = nullptr;
  auto library = NS::TransferPtr(
      device->newLibrary(NS::String::string(LIFE_LIBRARY, NS::UTF8StringEncoding), &error));
  if (!library) {
    std::fprintf(stderr, "%s\n", error->localizedDescription()->utf8String());
    return 1;
  }
  auto function =
      NS::TransferPtr(library->newFunction(NS::String::string("life_step", NS::UTF8StringEncoding)));
  auto pipeline = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));

  constexpr uint32_t kSize = 12;
  std::vector<uint8_t> board(kSize * kSize);
  for (auto [x, y] : {std::pair{1, 0}, {2, 1}, {0, 2}, {1, 2}, {2, 2}})
    board[y * kSize + x] = 1;
  auto *descriptor =
      MTL::TextureDescriptor::texture2DDescriptor(MTL::PixelFormatR8Uint, kSize, kSize, false);
  descriptor->setUsage(MTL::TextureUsageShaderRead | MTL::TextureUsageShaderWrite);
  auto now = NS::TransferPtr(device->newTexture(descriptor));
  auto next = NS::TransferPtr(device->newTexture(descriptor));
  const MTL::Region all = MTL::Region::Make2D(0, 0, kSize, kSize);
  now->replaceRegion(all, 0, board.data(), kSize);

  auto queue = NS::TransferPtr(device->newCommandQueue());
  MTL::CommandBuffer *commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(pipeline.get());
  for (int step = 0; step < 32; ++step) {
    encoder->setTexture(now.get(), 0);
    encoder->setTexture(next.get(), 1);
    encoder->dispatchThreads(MTL::Size::Make(kSize, kSize, 1), MTL::Size::Make(32, 4, 1));
    std::swap(now, next);
  }
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();

  now->getBytes(board.data(), kSize, all, 0);
  for (uint32_t y = 0; y < kSize; ++y) {
    for (uint32_t x = 0; x < kSize; ++x)
      std::putchar(board[y * kSize + x] ? '#' : '.');
    std::putchar('\n');
  }
  return 0;
}
