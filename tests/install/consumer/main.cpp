// SPDX-License-Identifier: Apache-2.0
//
// Copies bytes through private memory and runs kernels of a library that the build made, as a program
// for Apple's metal-cpp would.
#define NS_PRIVATE_IMPLEMENTATION
#define CA_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <QuartzCore/QuartzCore.hpp>
#include <cstdio>

int main() {
  NS::AutoreleasePool *pool = NS::AutoreleasePool::alloc()->init();
  MTL::Device *device = MTL::CreateSystemDefaultDevice();
  if (!device) {
    std::fprintf(stderr, "There is no Metal device.\n");
    return 1;
  }
  constexpr NS::UInteger kCount = 1000;
  MTL::Buffer *buffers[3];
  for (int i = 0; i < 3; ++i)
    buffers[i] = device->newBuffer(kCount, i == 1 ? MTL::ResourceStorageModePrivate
                                                  : MTL::ResourceStorageModeShared);
  MTL::CommandQueue *queue = device->newCommandQueue();
  MTL::CommandBuffer *commands = queue->commandBuffer();
  MTL::BlitCommandEncoder *encoder = commands->blitCommandEncoder();
  encoder->fillBuffer(buffers[0], NS::Range::Make(0, kCount), 7);
  encoder->copyFromBuffer(buffers[0], 0, buffers[1], 0, kCount);
  encoder->copyFromBuffer(buffers[1], 0, buffers[2], 0, kCount);
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  int wrong = commands->status() != MTL::CommandBufferStatusCompleted;
  for (NS::UInteger k = 0; k < kCount; ++k)
    wrong += static_cast<unsigned char *>(buffers[2]->contents())[k] != 7;
  std::printf("%s: %d wrong\n", device->name()->utf8String(), wrong);

  NS::Error *error = nullptr;
  MTL::Library *library = device->newLibrary(NS::String::string(KERNELS, NS::UTF8StringEncoding), &error);
  if (!library) {
    std::fprintf(stderr, "%s\n", error->localizedDescription()->utf8String());
    return 1;
  }
  // Both kernels: value * 3 + 10, then printed for the test that changes the header.
  float value = 2;
  MTL::Buffer *number = device->newBuffer(&value, sizeof(value), MTL::ResourceStorageModeShared);
  for (const char *name : {"scale", "offset"}) {
    MTL::Function *function = library->newFunction(NS::String::string(name, NS::UTF8StringEncoding));
    MTL::ComputePipelineState *state =
        function ? device->newComputePipelineState(function, &error) : nullptr;
    if (!state) {
      std::fprintf(stderr, "%s cannot run.\n", name);
      return 1;
    }
    MTL::CommandBuffer *run = queue->commandBuffer();
    MTL::ComputeCommandEncoder *compute = run->computeCommandEncoder();
    compute->setComputePipelineState(state);
    compute->setBuffer(number, 0, 0);
    compute->dispatchThreads(MTL::Size::Make(1, 1, 1), MTL::Size::Make(1, 1, 1));
    compute->endEncoding();
    run->commit();
    run->waitUntilCompleted();
    state->release();
    function->release();
  }
  std::printf("result %g\n", static_cast<double>(*static_cast<float *>(number->contents())));
  number->release();
  library->release();

  for (auto *buffer : buffers)
    buffer->release();
  queue->release();
  device->release();
  pool->release();
  return wrong ? 1 : 0;
}
