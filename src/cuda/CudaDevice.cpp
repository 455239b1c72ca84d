// SPDX-License-Identifier: Apache-2.0
// Tested by CudaDevice_test.cpp, on a driver table of the test's.
#include "cuda/CudaDevice.h"
#include "cuda/CudaMemory.h"
#include "cuda/CudaPipeline.h"
#include "cuda/CudaPlayer.h"
#include "device/HostEvent.h"
#include "device/HostQueue.h"

namespace pewter::cuda {

Result<std::shared_ptr<CudaDevice>> CudaDevice::create(const Driver &driver, int index) {
  CuDevice handle;
  PEWTER_TRY_VOID(check(driver, driver.deviceGet(&handle, index), "cuDeviceGet"));
  auto attribute = [&](int which) -> Result<int> {
    int value = 0;
    PEWTER_TRY_VOID(check(driver, driver.deviceAttribute(&value, which, handle), "cuDeviceGetAttribute"));
    return value;
  };
  PEWTER_TRY(int major, attribute(kAttributeMajor));
  PEWTER_TRY(int minor, attribute(kAttributeMinor));
  char text[256] = "";
  PEWTER_TRY_VOID(check(driver, driver.deviceName(text, sizeof text, handle), "cuDeviceGetName"));
  if (major < 8)
    return fail(ErrorKind::Unsupported, "GPU {} (\"{}\") has compute capability {}.{}; 8.0 is the least.",
                index, text, major, minor);
  auto gpu = std::make_shared<Gpu>(driver);
  gpu->architecture = major >= 10 ? 100 : major >= 9 ? 90 : 80;
  PEWTER_TRY(int shared, attribute(kAttributeMaxSharedOptIn));
  gpu->maxSharedBytes = uint32_t(shared);
  PEWTER_TRY_VOID(check(driver, driver.retainContext(&gpu->context, handle), "cuDevicePrimaryCtxRetain"));
  size_t bytes = 0;
  PEWTER_TRY_VOID(check(driver, driver.deviceMemory(&bytes, handle), "cuDeviceTotalMem"));

  std::shared_ptr<CudaDevice> device(new CudaDevice(gpu));
  device->name_ = fmt::format("cuda:{} ({})", index, text);
  device->registryId_ = 0x100 + uint64_t(index);
  device->limits_.maxBufferLength = bytes;
  device->limits_.recommendedMaxWorkingSetSize = bytes / 10 * 9;
  device->limits_.hasUnifiedMemory = false;
  return device;
}

Result<std::shared_ptr<device::Memory>> CudaDevice::allocate(uint64_t length, device::StorageMode mode) {
  return CudaMemory::allocate(gpu_, length, mode);
}

Result<std::shared_ptr<device::Memory>> CudaDevice::wrap(void *address, uint64_t length,
                                                         std::function<void()> release) {
  return CudaMemory::wrap(gpu_, address, length, std::move(release));
}

Result<std::shared_ptr<device::Pipeline>> CudaDevice::createPipeline(const device::PipelineRequest &request) {
  return CudaPipeline::create(gpu_, request);
}

std::unique_ptr<device::Queue> CudaDevice::createQueue() {
  return std::make_unique<device::HostQueue>(std::make_shared<CudaPlayer>(gpu_));
}

std::shared_ptr<device::Event> CudaDevice::createEvent() { return std::make_shared<device::HostEvent>(); }

std::vector<std::shared_ptr<device::Device>> connect() {
  static const std::vector<std::shared_ptr<device::Device>> devices = [] {
    std::vector<std::shared_ptr<device::Device>> found;
    auto driver = loadDriver();
    int count = 0;
    if (!driver || (*driver)->deviceCount(&count) != 0)
      return found;
    for (int i = 0; i < count; ++i)
      if (auto device = CudaDevice::create(**driver, i))
        found.push_back(std::move(*device));
    return found;
  }();
  return devices;
}

} // namespace pewter::cuda
