// SPDX-License-Identifier: Apache-2.0
//
// The first Metal program of all: adds two arrays.
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <cstdio>
#include <cstdlib>

static const char *const kSource = R"(
#include <metal_stdlib>
using namespace metal;

kernel void add_arrays(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                       device float *result [[buffer(2)]], uint index [[thread_position_in_grid]]) {
  result[index] = a[index] + b[index];
}
)";

static void fail(const char *what, NS::Error *error) {
  std::fprintf(stderr, "%s: %s\n", what, error ? error->localizedDescription()->utf8String() : "");
  std::exit(1);
}

int main() {
  NS::AutoreleasePool *pool = NS::AutoreleasePool::alloc()->init();
  MTL::Device *device = MTL::CreateSystemDefaultDevice();

  NS::Error *error = nullptr;
  NS::String *source = NS::String::string(kSource, NS::UTF8StringEncoding);
  MTL::Library *library = device->newLibrary(source, nullptr, &error);
  if (!library)
    fail("The library does not compile", error);
  MTL::Function *function =
      library->newFunction(NS::String::string("add_arrays", NS::UTF8StringEncoding));
  MTL::ComputePipelineState *pipeline = device->newComputePipelineState(function, &error);
  if (!pipeline)
    fail("There is no pipeline", error);

  constexpr NS::UInteger kCount = 1 << 20;
  MTL::Buffer *a = device->newBuffer(kCount * sizeof(float), MTL::ResourceStorageModeShared);
  MTL::Buffer *b = device->newBuffer(kCount * sizeof(float), MTL::ResourceStorageModeShared);
  MTL::Buffer *result = device->newBuffer(kCount * sizeof(float), MTL::ResourceStorageModeShared);
  for (NS::UInteger i = 0; i < kCount; ++i) {
    static_cast<float *>(a->contents())[i] = static_cast<float>(i);
    static_cast<float *>(b->contents())[i] = static_cast<float>(2 * i);
  }

  MTL::CommandQueue *queue = device->newCommandQueue();
  MTL::CommandBuffer *commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(pipeline);
  encoder->setBuffer(a, 0, 0);
  encoder->setBuffer(b, 0, 1);
  encoder->setBuffer(result, 0, 2);
  encoder->dispatchThreads(MTL::Size::Make(kCount, 1, 1),
                           MTL::Size::Make(pipeline->maxTotalThreadsPerThreadgroup(), 1, 1));
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();

  const float *values = static_cast<const float *>(result->contents());
  std::printf("%g + %g = %g\n", 3.0, 6.0, static_cast<double>(values[3]));
  std::printf("last %.0f\n", static_cast<double>(values[kCount - 1]));

  for (NS::Object *object : {static_cast<NS::Object *>(queue), static_cast<NS::Object *>(result),
                             static_cast<NS::Object *>(b), static_cast<NS::Object *>(a),
                             static_cast<NS::Object *>(pipeline), static_cast<NS::Object *>(function),
                             static_cast<NS::Object *>(library), static_cast<NS::Object *>(device)})
    object->release();
  pool->release();
  return 0;
}
