// SPDX-License-Identifier: Apache-2.0
//
// What it costs to record and to submit, with kernels that do nothing: an empty kernel committed and
// waited for; a stream of 1,000 tiny dispatches with a barrier between each; recording one dispatch
// (pipeline, 4 buffers, 2 small constants, launch) on its own, with the memory allocations counted.
//
//   Submission_bench --benchmark_filter=Commit
#include "HandMadeKernel.h"
#include "cpu/CpuDevice.h"
#include "device/null/NullDevice.h"
#include <atomic>
#include <benchmark/benchmark.h>
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

namespace pewter {
namespace {

using device::ArgumentBinding;
using device::CommandKind;
using device::CommandStream;
using device::DispatchCommand;

void nothing(void *const *, cpu::KernelContext *, uint64_t, uint64_t) {}

void recordDispatch(CommandStream &stream, cpu::CpuPipeline &pipeline, void *const *buffers,
                    uint32_t constant, uint64_t groups) {
  auto *c =
      stream.append<DispatchCommand>(CommandKind::Dispatch, 6 * sizeof(ArgumentBinding));
  c->pipeline = &pipeline;
  c->grid = {groups, 1, 1};
  c->threadsPerThreadgroup = {32, 1, 1};
  c->exactThreads = false;
  c->indirectAddress = 0;
  c->argumentCount = 6;
  auto *arguments = const_cast<ArgumentBinding *>(c->arguments());
  for (int i = 0; i < 4; ++i)
    arguments[i] = {ArgumentBinding::Kind::Buffer, 0, reinterpret_cast<uint64_t>(buffers[i])};
  for (int i = 4; i < 6; ++i) {
    auto *bytes = static_cast<uint32_t *>(stream.allocateData(4));
    *bytes = constant;
    arguments[i] = {ArgumentBinding::Kind::Bytes, 4, reinterpret_cast<uint64_t>(bytes)};
  }
}

struct Fixture {
  std::shared_ptr<cpu::CpuPipeline> pipeline = testing::pipelineOf({.range = nothing});
  std::shared_ptr<device::Memory> memory =
      cpu::connect()[0]->allocate(4096, device::StorageMode::Shared).value();
  void *buffers[4] = {memory->contents(), memory->contents(), memory->contents(),
                      memory->contents()};
};

void CommitAndWaitEmptyKernel(benchmark::State &state) {
  Fixture fixture;
  auto queue = cpu::connect()[0]->createQueue();
  for (auto _ : state) {
    testing::Recorder recorder;
    recorder.begin();
    recordDispatch(recorder.stream(), *fixture.pipeline, fixture.buffers, 1, 1);
    recorder.end();
    benchmark::DoNotOptimize(testing::runAndWait(*queue, recorder));
  }
}
BENCHMARK(CommitAndWaitEmptyKernel)->UseRealTime();

void ThousandTinyDispatches(benchmark::State &state) {
  Fixture fixture;
  auto queue = cpu::connect()[0]->createQueue();
  auto groups = static_cast<uint64_t>(state.range(0));
  double playing = 0;
  for (auto _ : state) {
    testing::Recorder recorder;
    recorder.begin(/*concurrent=*/true);
    for (int i = 0; i < 1000; ++i) {
      recordDispatch(recorder.stream(), *fixture.pipeline, fixture.buffers, 1, groups);
      recorder.barrier();
    }
    recorder.end();
    auto completion = testing::runAndWait(*queue, recorder);
    playing += completion.gpuEnd - completion.gpuStart;
  }
  state.counters["ns_per_dispatch_played"] =
      benchmark::Counter(playing * 1e6 / double(state.iterations()));
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(ThousandTinyDispatches)->Arg(1)->Arg(64)->UseRealTime();

void RecordDispatch(benchmark::State &state) {
  Fixture fixture;
  auto record = [&] {
    CommandStream *stream = new CommandStream;
    for (int i = 0; i < 1000; ++i)
      recordDispatch(*stream, *fixture.pipeline, fixture.buffers, uint32_t(i), 1);
    benchmark::DoNotOptimize(stream->commandCount());
    delete stream;
  };
  record();
  uint64_t before = allocations.load();
  for (auto _ : state)
    record();
  state.counters["allocations"] = double(allocations.load() - before);
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(RecordDispatch);

} // namespace
} // namespace pewter

BENCHMARK_MAIN();
