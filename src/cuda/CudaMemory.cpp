// SPDX-License-Identifier: Apache-2.0
// Tested by CudaDevice_test.cpp.
#include "cuda/CudaMemory.h"
#include <cstring>

namespace pewter::cuda {

CudaMemory::CudaMemory(std::shared_ptr<Gpu> gpu, Kind kind, uint64_t length)
    : gpu_(std::move(gpu)), kind_(kind) {
  length_ = length;
}

Result<std::shared_ptr<CudaMemory>> CudaMemory::allocate(std::shared_ptr<Gpu> gpu, uint64_t length,
                                                         device::StorageMode mode) {
  PEWTER_TRY_VOID(gpu->enter());
  const Driver &driver = gpu->driver;
  bool onDevice = mode == device::StorageMode::Private;
  void *host = nullptr;
  CuAddress address = 0;
  CuResult result = onDevice ? driver.allocate(&address, length)
                             : driver.allocateHost(&host, length, kHostAllocPortable | kHostAllocMapped);
  if (result == kOutOfMemory)
    return fail(ErrorKind::OutOfMemory, "A buffer of {} bytes does not fit the {} memory that is left.",
                length, onDevice ? "GPU" : "pinned host");
  PEWTER_TRY_VOID(check(driver, result, onDevice ? "cuMemAlloc" : "cuMemHostAlloc"));
  std::shared_ptr<CudaMemory> memory(
      new CudaMemory(gpu, onDevice ? Kind::Device : Kind::Pinned, length));
  memory->contents_ = host;
  memory->deviceAddress_ = address;
  gpu->allocated += length;
  // New memory is zero, as on every device; the driver hands out what others have used.
  if (onDevice) {
    PEWTER_TRY_VOID(check(driver, driver.fillNow(address, 0, length), "cuMemsetD8"));
    PEWTER_TRY_VOID(check(driver, driver.synchronize(nullptr), "cuStreamSynchronize"));
  } else {
    std::memset(host, 0, length);
    PEWTER_TRY_VOID(check(driver, driver.hostDeviceAddress(&memory->deviceAddress_, host, 0),
                          "cuMemHostGetDevicePointer"));
  }
  return memory;
}

Result<std::shared_ptr<CudaMemory>> CudaMemory::wrap(std::shared_ptr<Gpu> gpu, void *address,
                                                     uint64_t length, std::function<void()> release) {
  PEWTER_TRY_VOID(gpu->enter());
  const Driver &driver = gpu->driver;
  PEWTER_TRY_VOID(check(driver, driver.registerHost(address, length, kHostRegisterPortable | kHostRegisterMapped),
                        "cuMemHostRegister"));
  std::shared_ptr<CudaMemory> memory(new CudaMemory(gpu, Kind::Registered, length));
  memory->contents_ = address;
  PEWTER_TRY_VOID(check(driver, driver.hostDeviceAddress(&memory->deviceAddress_, address, 0),
                        "cuMemHostGetDevicePointer"));
  memory->release_ = std::move(release);
  return memory;
}

CudaMemory::~CudaMemory() {
  // A failure here means that the device is lost; there is nobody left to tell.
  if (gpu_->enter()) {
    if (kind_ == Kind::Device)
      gpu_->driver.release(deviceAddress_);
    else if (kind_ == Kind::Pinned)
      gpu_->driver.releaseHost(contents_);
    else
      gpu_->driver.unregisterHost(contents_);
  }
  if (kind_ != Kind::Registered)
    gpu_->allocated -= length_;
  if (release_)
    release_();
}

} // namespace pewter::cuda
