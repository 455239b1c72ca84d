// SPDX-License-Identifier: Apache-2.0
//
// CpuDevice: this machine's processor as a Metal device: unified memory, kernels as machine code of
// the best family that the processor has (TargetChoice.h), queues played by host threads and the
// worker pool. One object a process (connect), which lives as long as the process.
#pragma once
#include "cpu/HostArena.h"
#include "device/Device.h"
#include <memory>
#include <vector>

namespace pewter::cpu {

class CpuDevice final : public device::Device {
public:
  CpuDevice();
  const std::string &name() const override { return name_; }
  uint64_t registryID() const override;
  const device::Limits &limits() const override { return limits_; }
  /// Buffers of the device's own; wrapped memory is the caller's and is not counted.
  uint64_t currentAllocatedSize() const override { return arena_->bytesOut(); }

  Result<std::shared_ptr<device::Memory>> allocate(uint64_t length,
                                                   device::StorageMode mode) override;
  Result<std::shared_ptr<device::Memory>> wrap(void *address, uint64_t length,
                                               std::function<void()> release) override;
  Result<std::shared_ptr<device::Pipeline>>
  createPipeline(const device::PipelineRequest &request) override;
  std::unique_ptr<device::Queue> createQueue() override;
  std::shared_ptr<device::Event> createEvent() override;

private:
  std::string name_;
  device::Limits limits_;
  const compiler::TargetKind target_;
  std::shared_ptr<HostArena> arena_; ///< Memory may outlive the device.
};

std::vector<std::shared_ptr<device::Device>> connect();

} // namespace pewter::cpu
