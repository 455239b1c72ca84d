// SPDX-License-Identifier: Apache-2.0
//
// CudaDevice: one NVIDIA GPU as a Metal device. Private memory is on the GPU; shared memory is pinned
// host memory that the GPU reads over the bus, so programs ask hasUnifiedMemory. Kernels are PTX that
// the driver compiles when a pipeline is made. A queue plays one command stream at a time on a CUDA
// stream of its own (CudaPlayer.h). Objects live as long as the process or as someone holds them.
#pragma once
#include "cuda/Driver.h"
#include "device/Device.h"
#include <atomic>
#include <memory>

namespace pewter::cuda {

/// What everything on one GPU needs to call the driver.
struct Gpu {
  const Driver &driver;
  CuContext context = nullptr;
  uint32_t architecture = 0; ///< Compute capability that kernels are compiled for: 80, 90 or 100.
  uint32_t maxSharedBytes = 0;
  std::atomic<uint64_t> allocated{0};

  /// Makes this GPU the calling thread's; every call into the driver needs it first.
  Result<void> enter() const { return check(driver, driver.setContext(context), "cuCtxSetCurrent"); }
};

class CudaDevice final : public device::Device {
public:
  static Result<std::shared_ptr<CudaDevice>> create(const Driver &driver, int index);

  const std::string &name() const override { return name_; }
  uint64_t registryID() const override { return registryId_; }
  const device::Limits &limits() const override { return limits_; }
  uint64_t currentAllocatedSize() const override { return gpu_->allocated.load(); }
  Result<std::shared_ptr<device::Memory>> allocate(uint64_t length, device::StorageMode mode) override;
  Result<std::shared_ptr<device::Memory>> wrap(void *address, uint64_t length,
                                               std::function<void()> release) override;
  Result<std::shared_ptr<device::Pipeline>>
  createPipeline(const device::PipelineRequest &request) override;
  std::unique_ptr<device::Queue> createQueue() override;
  std::shared_ptr<device::Event> createEvent() override;

private:
  explicit CudaDevice(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  std::shared_ptr<Gpu> gpu_;
  std::string name_;
  uint64_t registryId_ = 0;
  device::Limits limits_;
};

/// The GPUs of this machine; none when there is no driver.
std::vector<std::shared_ptr<device::Device>> connect();

} // namespace pewter::cuda
