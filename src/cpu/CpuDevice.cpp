// SPDX-License-Identifier: Apache-2.0
//
// Tested by CpuQueue_test.cpp.
#include "cpu/CpuDevice.h"
#include "cpu/CpuPipeline.h"
#include "cpu/CpuPlayer.h"
#include "cpu/TargetChoice.h"
#include "device/HostEvent.h"
#include "device/HostQueue.h"
#include <algorithm>
#include <unistd.h>

namespace pewter::cpu {
using namespace device;
namespace {

constexpr uint64_t kRegistryID = 0x637075; // "cpu"

class CpuMemory final : public Memory {
public:
  CpuMemory(void *address, uint64_t length, std::function<void()> release)
      : release_(std::move(release)) {
    contents_ = address;
    length_ = length;
    deviceAddress_ = reinterpret_cast<uint64_t>(address);
  }
  ~CpuMemory() override {
    if (release_)
      release_();
  }

private:
  std::function<void()> release_;
};

uint64_t physicalMemory() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

} // namespace

CpuDevice::CpuDevice()
    : target_(chooseTarget()), arena_(std::make_shared<HostArena>(physicalMemory())) {
  name_ = fmt::format("Pewter CPU ({}, {})", processorName(), nameOf(target_));
  limits_.maxBufferLength = arena_->maxBytes();
  limits_.recommendedMaxWorkingSetSize = arena_->maxBytes() / 4 * 3;
}

uint64_t CpuDevice::registryID() const { return kRegistryID; }

Result<std::shared_ptr<Memory>> CpuDevice::allocate(uint64_t length, StorageMode) {
  PEWTER_TRY(void *address, arena_->allocate(length));
  return std::make_shared<CpuMemory>(
      address, length, [arena = arena_, address, length] { arena->release(address, length); });
}

Result<std::shared_ptr<Memory>> CpuDevice::wrap(void *address, uint64_t length,
                                                std::function<void()> release) {
  return std::make_shared<CpuMemory>(address, length, std::move(release));
}

Result<std::shared_ptr<Pipeline>> CpuDevice::createPipeline(const PipelineRequest &request) {
  return CpuPipeline::create(request, target_);
}

std::unique_ptr<Queue> CpuDevice::createQueue() {
  return std::make_unique<HostQueue>(std::make_shared<CpuPlayer>());
}

std::shared_ptr<Event> CpuDevice::createEvent() { return std::make_shared<HostEvent>(); }

std::vector<std::shared_ptr<Device>> connect() {
  static auto &device = *new std::shared_ptr<Device>(std::make_shared<CpuDevice>());
  return {device};
}

} // namespace pewter::cpu
