// SPDX-License-Identifier: Apache-2.0
//
// Tested by NullDevice_test.cpp.
#include "device/null/NullDevice.h"
#include "device/CompilerLibrary.h"
#include "device/HostEvent.h"
#include "device/HostQueue.h"
#include <algorithm>
#include <atomic>
#include <cstdlib>

namespace pewter::device::null {
namespace {

constexpr uint64_t kRegistryID = 0x6e756c6c; // "null"
constexpr uint64_t kMaxBufferLength = uint64_t(1) << 34;

class NullMemory final : public Memory {
public:
  NullMemory(void *address, uint64_t length, std::function<void()> release,
             std::shared_ptr<std::atomic<uint64_t>> total)
      : release_(std::move(release)), total_(std::move(total)) {
    contents_ = address;
    length_ = length;
    deviceAddress_ = reinterpret_cast<uint64_t>(address);
    *total_ += length_;
  }
  ~NullMemory() override {
    if (release_)
      release_();
    *total_ -= length_;
  }

private:
  std::function<void()> release_;
  std::shared_ptr<std::atomic<uint64_t>> total_; ///< The device's; memory may outlive it.
};

class NullPipeline final : public Pipeline {
public:
  NullPipeline(air::KernelReflection reflection, uint32_t wish) {
    maxTotalThreads_ = reflection.maxTotalThreadsPerThreadgroup;
    if (wish)
      maxTotalThreads_ = std::min(maxTotalThreads_, wish);
    reflection_ = std::move(reflection);
  }
  Result<void> prepare(const Size3 &, bool) override { return {}; }
};

/// Goes through the commands for the sake of the events alone.
class NullPlayer final : public StreamPlayer {
public:
  void play(const CommandStream &stream, Completion &) override {
    for (const Command *c = stream.first(); c; c = stream.next(c)) {
      auto *event = static_cast<const EventCommand *>(c);
      if (c->kind == CommandKind::SignalEvent)
        event->event->signal(event->value);
      else if (c->kind == CommandKind::WaitEvent)
        event->event->wait(event->value, ~uint64_t(0));
    }
  }
};

class NullDevice final : public Device {
public:
  NullDevice() {
    limits_.maxBufferLength = kMaxBufferLength;
    limits_.recommendedMaxWorkingSetSize = kMaxBufferLength;
  }
  const std::string &name() const override { return name_; }
  uint64_t registryID() const override { return kRegistryID; }
  const Limits &limits() const override { return limits_; }
  uint64_t currentAllocatedSize() const override { return *total_; }

  Result<std::shared_ptr<Memory>> allocate(uint64_t length, StorageMode) override {
    if (length > kMaxBufferLength)
      return fail(ErrorKind::OutOfMemory,
                  "The null device cannot allocate {} bytes: a buffer is at most {} bytes.", length,
                  kMaxBufferLength);
    void *address = std::calloc(std::max<uint64_t>(length, 1), 1);
    if (!address)
      return fail(ErrorKind::OutOfMemory, "The null device cannot allocate {} bytes.", length);
    return std::make_shared<NullMemory>(address, length, [address] { std::free(address); }, total_);
  }
  Result<std::shared_ptr<Memory>> wrap(void *address, uint64_t length,
                                       std::function<void()> release) override {
    return std::make_shared<NullMemory>(address, length, std::move(release), total_);
  }
  Result<std::shared_ptr<Pipeline>> createPipeline(const PipelineRequest &request) override {
    if (!request.module)
      return fail(ErrorKind::Validation, "The request for function \"{}\" holds no module.",
                  request.function);
    PEWTER_TRY(auto description, describeModule(*request.module));
    for (air::KernelReflection &kernel : description.kernels)
      if (kernel.name == request.function)
        return std::make_shared<NullPipeline>(std::move(kernel),
                                              request.maxTotalThreadsPerThreadgroup);
    return fail(ErrorKind::Validation, "The module has no kernel function \"{}\".",
                request.function);
  }
  std::unique_ptr<Queue> createQueue() override {
    return std::make_unique<HostQueue>(std::make_shared<NullPlayer>());
  }
  std::shared_ptr<Event> createEvent() override { return std::make_shared<HostEvent>(); }

private:
  const std::string name_ = "Pewter Null";
  Limits limits_;
  std::shared_ptr<std::atomic<uint64_t>> total_ = std::make_shared<std::atomic<uint64_t>>(0);
};

} // namespace

std::vector<std::shared_ptr<Device>> connect() {
  static auto &device = *new std::shared_ptr<Device>(std::make_shared<NullDevice>());
  return {device};
}

} // namespace pewter::device::null
