// SPDX-License-Identifier: Apache-2.0
//
// What the API costs on its own: recording one dispatch (pipeline, 4 buffers, 2 small constants,
// launch) and an empty command buffer committed and waited for, on the null device, with the memory
// allocations counted.
//
//   Encode_bench
#include <Metal/Metal.hpp>
#include <Pewter/Pewter.hpp>
#include <atomic>
#include <benchmark/benchmark.h>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {
std::atomic<uint64_t> allocations{0};
}
void *operator new(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void *memory = std::malloc(size ? size : 1))
    return memory;
  std::abort();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

namespace {

constexpr const char *kSource = R"(
#include <metal_stdlib>
using namespace metal;
kernel void four(device float *a [[buffer(0)]], device float *b [[buffer(1)]],
                 device float *c [[buffer(2)]], device float *d [[buffer(3)]],
                 constant uint &n [[buffer(4)]], constant float &s [[buffer(5)]],
                 uint i [[thread_position_in_grid]]) {
  if (i < n)
    d[i] = a[i] * b[i] + c[i] * s;
}
)";

struct Setup {
  MTL::Device *device = Pewter::CreateDevice("null");
  MTL::CommandQueue *queue = device->newCommandQueue();
  MTL::ComputePipelineState *state = nullptr;
  MTL::Buffer *buffers[4];

  Setup() {
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    NS::Error *error = nullptr;
    auto library = NS::TransferPtr(
        device->newLibrary(NS::String::string(kSource, NS::UTF8StringEncoding), nullptr, &error));
    if (library) {
      auto function = NS::TransferPtr(library->newFunction(MTLSTR("four")));
      state = device->newComputePipelineState(function.get(), &error);
    }
    if (!state) {
      std::fprintf(stderr, "%s\n", error->localizedDescription()->utf8String());
      std::exit(1);
    }
    for (auto &buffer : buffers)
      buffer = device->newBuffer(1 << 16, MTL::ResourceStorageModeShared);
  }
};

Setup &setup() {
  static Setup instance;
  return instance;
}

void recordDispatch(benchmark::State &state) {
  Setup &s = setup();
  constexpr int kDispatches = 1000;
  uint64_t made = 0, rounds = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    MTL::CommandBuffer *commands = s.queue->commandBuffer();
    MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
    uint64_t before = allocations;
    state.ResumeTiming();
    for (uint32_t i = 0; i < kDispatches; ++i) {
      float scale = 2;
      encoder->setComputePipelineState(s.state);
      for (NS::UInteger k = 0; k < 4; ++k)
        encoder->setBuffer(s.buffers[k], 16 * (i & 7), k);
      encoder->setBytes(&i, sizeof(i), 4);
      encoder->setBytes(&scale, sizeof(scale), 5);
      encoder->dispatchThreadgroups(MTL::Size(16, 1, 1), MTL::Size(64, 1, 1));
    }
    state.PauseTiming();
    if (++rounds > 3) // The first ones fill the pools of blocks.
      made += allocations - before;
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    pool.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * kDispatches);
  if (rounds > 3)
    state.counters["allocations_per_dispatch"] =
        double(made) / (double(rounds - 3) * kDispatches);
}
BENCHMARK(recordDispatch)->Unit(benchmark::kMicrosecond);

void commitAndWait(benchmark::State &state) {
  Setup &s = setup();
  for (auto _ : state) {
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    MTL::CommandBuffer *commands = s.queue->commandBuffer();
    commands->computeCommandEncoder()->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
  }
}
BENCHMARK(commitAndWait)->Unit(benchmark::kMicrosecond);

} // namespace

BENCHMARK_MAIN();
