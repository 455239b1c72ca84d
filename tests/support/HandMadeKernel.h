// SPDX-License-Identifier: Apache-2.0
//
// HandMadeKernel: pipelines whose code is a C++ function of the test that follows cpu/abi/KernelAbi.h,
// and a few lines to record and run them. So the CPU device's pool, fibers and player are tested with
// nothing of the compiler involved.
#pragma once
#include "cpu/CpuPipeline.h"
#include "device/Device.h"
#include <atomic>
#include <initializer_list>
#include <thread>

namespace pewter::testing {

struct HandMadeOptions {
  std::string name = "hand_made";
  cpu::RangeEntry range = nullptr;
  cpu::SimdgroupEntry simdgroup = nullptr;
  bool barrier = false;
  uint32_t lanesPerCall = 32;
  uint32_t stackBytes = 4096;
  uint32_t staticThreadgroupBytes = 0;
  compiler::ThreadgroupShape shape{compiler::ThreadgroupShape::Kind::Any, {0, 0, 0}};
};

inline std::unique_ptr<cpu::KernelVariant> variantOf(const HandMadeOptions &options) {
  auto variant = std::make_unique<cpu::KernelVariant>();
  variant->name = options.name;
  variant->shape = options.shape;
  variant->rangeEntry = options.range;
  variant->simdgroupEntry = options.simdgroup;
  variant->lanesPerCall = options.lanesPerCall;
  variant->stackBytes = options.stackBytes;
  variant->staticThreadgroupBytes = options.staticThreadgroupBytes;
  variant->usesThreadgroupBarrier = options.barrier;
  return variant;
}

inline std::shared_ptr<cpu::CpuPipeline> pipelineOf(const HandMadeOptions &options) {
  air::KernelReflection reflection;
  reflection.name = options.name;
  reflection.usesThreadgroupBarrier = options.barrier;
  std::vector<std::unique_ptr<cpu::KernelVariant>> variants;
  variants.push_back(variantOf(options));
  return std::make_shared<cpu::CpuPipeline>(std::move(reflection), std::move(variants));
}

inline device::ArgumentBinding bufferArgument(const void *address) {
  return {device::ArgumentBinding::Kind::Buffer, 0, reinterpret_cast<uint64_t>(address)};
}
inline device::ArgumentBinding threadgroupArgument(uint32_t bytes) {
  return {device::ArgumentBinding::Kind::ThreadgroupMemory, bytes, 0};
}

/// Records command streams.
class Recorder {
public:
  Recorder &begin(bool concurrent = false, const char *label = "") {
    auto *c = stream_->append<device::BeginEncoderCommand>(device::CommandKind::BeginEncoder);
    c->encoder = device::EncoderKind::Compute;
    c->concurrent = concurrent;
    c->label = stream_->copyText(label);
    return *this;
  }
  Recorder &end() {
    stream_->append<device::EndEncoderCommand>(device::CommandKind::EndEncoder);
    return *this;
  }
  Recorder &dispatch(cpu::CpuPipeline &pipeline, device::Size3 grid, device::Size3 threadgroup,
                     std::initializer_list<device::ArgumentBinding> arguments,
                     bool exactThreads = false, const uint32_t *indirect = nullptr) {
    auto *c = stream_->append<device::DispatchCommand>(
        device::CommandKind::Dispatch, arguments.size() * sizeof(device::ArgumentBinding));
    c->pipeline = &pipeline;
    c->grid = grid;
    c->threadsPerThreadgroup = threadgroup;
    c->exactThreads = exactThreads;
    c->indirectAddress = reinterpret_cast<uint64_t>(indirect);
    c->argumentCount = static_cast<uint32_t>(arguments.size());
    std::copy(arguments.begin(), arguments.end(),
              const_cast<device::ArgumentBinding *>(c->arguments()));
    return *this;
  }
  Recorder &barrier() {
    auto *c = stream_->append<device::BarrierCommand>(device::CommandKind::Barrier);
    c->scope = 1;
    c->resourceCount = 0;
    return *this;
  }
  Recorder &copy(device::Memory &source, uint64_t sourceOffset, device::Memory &destination,
                 uint64_t destinationOffset, uint64_t length) {
    auto *c = stream_->append<device::CopyBufferCommand>(device::CommandKind::CopyBuffer);
    c->source = &source;
    c->sourceOffset = sourceOffset;
    c->destination = &destination;
    c->destinationOffset = destinationOffset;
    c->length = length;
    return *this;
  }
  Recorder &fill(device::Memory &destination, uint64_t offset, uint64_t length, uint8_t value) {
    auto *c = stream_->append<device::FillBufferCommand>(device::CommandKind::FillBuffer);
    c->destination = &destination;
    c->offset = offset;
    c->length = length;
    c->value = value;
    return *this;
  }
  Recorder &event(device::CommandKind kind, device::Event &event, uint64_t value) {
    auto *c = stream_->append<device::EventCommand>(kind);
    c->event = &event;
    c->value = value;
    return *this;
  }
  device::CommandStream &stream() { return *stream_; }
  std::unique_ptr<device::CommandStream> take() { return std::move(stream_); }

private:
  std::unique_ptr<device::CommandStream> stream_ = std::make_unique<device::CommandStream>();
};

/// Submits and waits as a caller of waitUntilCompleted does.
inline device::Completion runAndWait(device::Queue &queue, Recorder &recorder) {
  device::Completion result;
  std::atomic<bool> done{false};
  queue.submit(recorder.take(), {}, [&](const device::Completion &completion) {
    result = completion;
    done.store(true, std::memory_order_release);
  });
  auto isDone = [&] { return done.load(std::memory_order_acquire); };
  queue.help(isDone);
  while (!isDone())
    std::this_thread::yield();
  return result;
}

} // namespace pewter::testing
