// SPDX-License-Identifier: Apache-2.0
// A case on the first GPU of this machine, through the device interface. Buffers are private memory, so
// that nothing of the host is in the way; each stands between two gaps that are checked after the run.
#include "cuda/CudaDevice.h"
#include "device/PipelineImage.h"
#include "runner/Executors.h"
#include <atomic>
#include <cstring>
#include <thread>

namespace pewter::testing {
namespace {

constexpr size_t kGapBytes = 256;
constexpr std::byte kGap{0x6d};

struct Placed {
  std::shared_ptr<device::Memory> host, gpu;
  size_t size;
};

Result<std::shared_ptr<device::Pipeline>> pipelineFor(device::Device &gpu, const KernelCase &test) {
  Hash128 identity = device::functionIdentity(hashOf(*test.module), test.function, test.constants);
  static std::map<std::string, std::shared_ptr<device::Pipeline>> made;
  auto &pipeline = made[identity.hex()];
  if (!pipeline) {
    device::PipelineRequest request;
    request.module = test.module;
    request.function = test.function;
    request.constants = test.constants;
    request.identity = identity;
    PEWTER_TRY(pipeline, gpu.createPipeline(request));
  }
  return pipeline;
}

Result<void> play(device::Queue &queue, std::unique_ptr<device::CommandStream> stream) {
  device::Completion result;
  std::atomic<bool> done{false};
  queue.submit(std::move(stream), {}, [&](const device::Completion &completion) {
    result = completion;
    done.store(true, std::memory_order_release);
  });
  auto isDone = [&] { return done.load(std::memory_order_acquire); };
  queue.help(isDone);
  while (!isDone())
    std::this_thread::yield();
  if (result.error)
    return std::unexpected(*result.error);
  return {};
}

void copy(device::CommandStream &stream, device::Memory &from, device::Memory &to) {
  auto *c = stream.append<device::CopyBufferCommand>(device::CommandKind::CopyBuffer);
  c->source = &from;
  c->destination = &to;
  c->sourceOffset = c->destinationOffset = 0;
  c->length = from.length();
}

} // namespace

bool cudaIsAvailable() { return !cuda::connect().empty(); }

Result<Buffers> runOnCuda(const KernelCase &test) {
  device::Device &gpu = *cuda::connect().front();
  PEWTER_TRY(std::shared_ptr<device::Pipeline> pipeline, pipelineFor(gpu, test));
  device::Size3 size{test.launch.threadsPerThreadgroup[0], test.launch.threadsPerThreadgroup[1],
                     test.launch.threadsPerThreadgroup[2]};
  PEWTER_TRY_VOID(pipeline->prepare(size, true));

  auto stream = std::make_unique<device::CommandStream>();
  std::map<uint32_t, Placed> memory;
  for (const auto &[slot, contents] : test.buffers) {
    Placed placed{nullptr, nullptr, contents.size()};
    size_t whole = (contents.size() + 2 * kGapBytes + 255) / 256 * 256;
    PEWTER_TRY(placed.host, gpu.allocate(whole, device::StorageMode::Shared));
    PEWTER_TRY(placed.gpu, gpu.allocate(whole, device::StorageMode::Private));
    auto *bytes = static_cast<std::byte *>(placed.host->contents());
    std::memset(bytes, int(kGap), whole);
    if (!contents.empty())
      std::memcpy(bytes + kGapBytes, contents.data(), contents.size());
    copy(*stream, *placed.host, *placed.gpu);
    memory[slot] = std::move(placed);
  }
  auto *begin = stream->append<device::BeginEncoderCommand>(device::CommandKind::BeginEncoder);
  begin->encoder = device::EncoderKind::Compute;
  begin->concurrent = false;
  begin->label = stream->copyText(test.function.c_str());
  const auto &arguments = pipeline->reflection().arguments;
  auto *c = stream->append<device::DispatchCommand>(device::CommandKind::Dispatch,
                                                    arguments.size() * sizeof(device::ArgumentBinding));
  c->pipeline = pipeline.get();
  c->grid = {test.launch.threadsPerGrid[0], test.launch.threadsPerGrid[1], test.launch.threadsPerGrid[2]};
  c->threadsPerThreadgroup = size;
  c->exactThreads = true;
  c->indirectAddress = 0;
  c->argumentCount = uint32_t(arguments.size());
  auto *bindings = const_cast<device::ArgumentBinding *>(c->arguments());
  for (size_t i = 0; i < arguments.size(); ++i) {
    using Kind = device::ArgumentBinding::Kind;
    bindings[i] = {Kind::Unbound, 0, 0};
    uint32_t slot = arguments[i].slot;
    if (arguments[i].kind == air::ArgumentKind::Buffer) {
      if (auto same = test.sameAs.find(slot); same != test.sameAs.end())
        slot = same->second;
      if (auto placed = memory.find(slot); placed != memory.end())
        bindings[i] = {Kind::Buffer, 0, placed->second.gpu->deviceAddress() + kGapBytes};
    } else if (arguments[i].kind == air::ArgumentKind::ThreadgroupMemory) {
      auto wanted = test.launch.threadgroupMemory.find(slot);
      uint32_t bytes = wanted == test.launch.threadgroupMemory.end() ? 0 : wanted->second;
      bindings[i] = {Kind::ThreadgroupMemory, bytes, 0};
    }
  }
  stream->append<device::EndEncoderCommand>(device::CommandKind::EndEncoder);
  for (auto &[slot, placed] : memory)
    copy(*stream, *placed.gpu, *placed.host);
  static auto queue = gpu.createQueue();
  PEWTER_TRY_VOID(play(*queue, std::move(stream)));

  Buffers results;
  for (auto &[slot, placed] : memory) {
    const auto *bytes = static_cast<const std::byte *>(placed.host->contents());
    for (size_t i = 0; i < placed.host->length(); ++i)
      if ((i < kGapBytes || i >= kGapBytes + placed.size) && bytes[i] != kGap)
        return fail(ErrorKind::DeviceLost, "Kernel \"{}\" wrote outside buffer [{}].", test.function, slot);
    results[slot] = Bytes(bytes + kGapBytes, bytes + kGapBytes + placed.size);
  }
  return results;
}

} // namespace pewter::testing
