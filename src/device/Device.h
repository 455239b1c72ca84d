// SPDX-License-Identifier: Apache-2.0
//
// THE device interface: what the runtime (metal/) asks of a CPU, a GPU, or the null device, and
// nothing else. A device knows memory, pipelines, command streams and events; it does not know
// who calls it. Objects are shared_ptr-owned; a CommandStream keeps what it names alive.
//
// Threads: Device, Pipeline, Memory and Event may be used from any thread. A CommandStream is
// recorded by one thread at a time and not touched after submit. Queues run streams in submission
// order; two queues are independent.
//
//   auto memory = device->allocate(4096, StorageMode::Shared).value();
//   auto pipeline = device->createPipeline(request).value();
//   auto queue = device->createQueue();
//   auto stream = std::make_unique<CommandStream>();
//   ...record...
//   queue->submit(std::move(stream), {}, [](const Completion &c) { ... });
//
// Each device folder defines `std::vector<std::shared_ptr<device::Device>> connect()` in its
// namespace (device::null, cpu, cuda): the devices of its kind that this machine has, the same
// objects at every call.
#pragma once
#include "air/Reflection.h"
#include "base/Error.h"
#include "compiler/Compiler.h"
#include "device/CommandStream.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pewter::device {

enum class StorageMode : uint8_t { Shared, Private };

/// One allocation that kernels can address.
class Memory {
public:
  virtual ~Memory() = default;
  uint64_t length() const { return length_; }
  /// Host address of the first byte; null when the host cannot reach it (private, discrete GPU).
  void *contents() const { return contents_; }
  /// The address kernels see; unique for the lifetime of the memory.
  uint64_t deviceAddress() const { return deviceAddress_; }

protected:
  uint64_t length_ = 0;
  void *contents_ = nullptr;
  uint64_t deviceAddress_ = 0;
};

/// A function that a pipeline's kernel may call (compiler::LinkedFunction).
struct LinkedFunction {
  std::shared_ptr<const Bytes> module;
  std::string name;
  std::vector<compiler::ConstantValue> constants;
  bool isInTables = false;
};

/// A function taken out of a library, with its constants: what a pipeline is made from. `identity`
/// is a hash of module, name and constants, and those of what is linked: the cache key's first part.
struct PipelineRequest {
  std::shared_ptr<const Bytes> module; ///< Bitcode that holds the function.
  std::string function;
  std::vector<compiler::ConstantValue> constants; ///< By index.
  Hash128 identity;
  std::vector<LinkedFunction> linkedFunctions;
  uint32_t maxCallStackDepth = 1;
  uint32_t maxTotalThreadsPerThreadgroup = 0; ///< From the descriptor; 0 = no wish.
  bool threadgroupSizeIsMultipleOfSimdWidth = false;
  /// Images to look in first (binary archives), by cache key; may be empty.
  std::function<std::optional<Bytes>(const Hash128 &key)> lookUp;
  /// Called with every image that was compiled for this pipeline (to fill binary archives).
  std::function<void(const Hash128 &key, ByteView image)> store;
  /// Fail rather than compile when no image is found (MTLPipelineOptionFailOnBinaryArchiveMiss).
  bool failOnMiss = false;
};

class Pipeline {
public:
  virtual ~Pipeline() = default;
  const air::KernelReflection &reflection() const { return reflection_; }
  uint32_t maxTotalThreadsPerThreadgroup() const { return maxTotalThreads_; }
  /// Makes the pipeline ready for threadgroups of this size (a compile, the first time); called
  /// while recording, so that playing never compiles. Cheap when it was done before.
  /// `hasPartialGroups`: the grid's last threadgroups in x have a width that is no multiple of the
  /// SIMD width, so that SIMD groups with fewer threads occur.
  virtual Result<void> prepare(const Size3 &threadsPerThreadgroup, bool hasPartialGroups) = 0;

protected:
  air::KernelReflection reflection_;
  uint32_t maxTotalThreads_ = 1024;
};

/// A counter that the host and queues signal and wait for (MTLSharedEvent; MTLEvent is one too).
class Event {
public:
  virtual ~Event() = default;
  virtual uint64_t value() const = 0;
  virtual void signal(uint64_t value) = 0; ///< From the host; values never go down.
  /// Calls `then` once the value is reached, from any thread; at once if it already is.
  virtual void notify(uint64_t value, std::function<void(uint64_t)> then) = 0;
  /// Waits on the host; false when `timeoutMs` passed first.
  virtual bool wait(uint64_t value, uint64_t timeoutMs) = 0;
};

/// How a command stream ended. Times are seconds on the host's monotonic clock.
struct Completion {
  std::optional<Error> error; ///< Nothing when it completed.
  double kernelStart = 0, kernelEnd = 0; ///< Scheduling on the host (MTL kernelStartTime).
  double gpuStart = 0, gpuEnd = 0;       ///< First command begins, last command ends.
};

class Queue {
public:
  virtual ~Queue() = default;
  /// Hands a finished stream over; returns at once. `scheduled` (may be empty) is called before its
  /// first command runs, `completed` exactly once after its last, when the stream is destroyed.
  /// Both come, in submission order, from a thread of the device or one that is inside help().
  virtual void submit(std::unique_ptr<CommandStream> stream, std::function<void()> scheduled,
                      std::function<void(const Completion &)> completed) = 0;
  /// A caller that is about to block until its stream completes lends its thread: the device may run
  /// submitted streams of this queue here. Returns when `done()` is true or nothing can be run here.
  virtual void help(const std::function<bool()> &done) = 0;
};

struct Limits {
  uint64_t maxBufferLength = 0;
  uint64_t recommendedMaxWorkingSetSize = 0;
  uint32_t maxThreadgroupMemoryLength = 32768;
  Size3 maxThreadsPerThreadgroup{1024, 1024, 1024};
  bool hasUnifiedMemory = true;
};

class Device {
public:
  virtual ~Device() = default;
  virtual const std::string &name() const = 0;
  virtual uint64_t registryID() const = 0;
  virtual const Limits &limits() const = 0;
  virtual uint64_t currentAllocatedSize() const = 0;

  virtual Result<std::shared_ptr<Memory>> allocate(uint64_t length, StorageMode mode) = 0;
  /// Wraps memory of the caller without a copy; `release` is called when the Memory dies.
  virtual Result<std::shared_ptr<Memory>> wrap(void *address, uint64_t length,
                                               std::function<void()> release) = 0;
  virtual Result<std::shared_ptr<Pipeline>> createPipeline(const PipelineRequest &request) = 0;
  virtual std::unique_ptr<Queue> createQueue() = 0;
  virtual std::shared_ptr<Event> createEvent() = 0;
};

} // namespace pewter::device
