// SPDX-License-Identifier: Apache-2.0
//
// What a device says about itself, and the objects that need nothing but memory. Making libraries
// and pipelines is in Library.cpp and ComputePipeline.cpp.
//
// supportsFamily answers for compute: a family counts as supported when every compute feature that
// Metal's feature table lists for it works here. No graphics feature of any family does.
// Tested by tests/api/Device_test.cpp.
#include "metal/Device.h"
#include "base/Toggles.h"
#include "foundation/Collections.h"
#include "foundation/String.h"
#include "metal/Buffer.h"
#include "metal/DeviceList.h"
#include "metal/ErrorDomain.h"
#include "metal/Heap.h"
#include "metal/Property.h"
#include "metal/Validation.h"
#include <Metal/Metal.hpp>
#include <Pewter/Pewter.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <unistd.h>

namespace pewter::metal {
namespace {

class Architecture final : public MTL::Architecture {
public:
  const char *className() const override { return "MTLArchitecture"; }
  std::string name;
};

Architecture *implOf(const MTL::Architecture *architecture) {
  return static_cast<Architecture *>(const_cast<MTL::Architecture *>(architecture));
}

std::span<Device *const> devices() {
  static auto &list = *new std::vector<Device *>([] {
    std::vector<Device *> made;
    for (const ConnectedDevice &connected : connectedDevices())
      made.push_back(new Device(connected.kind, connected.device));
    return made;
  }());
  return list;
}

MTL::Timestamp nanosecondsNow() {
  using namespace std::chrono;
  return static_cast<MTL::Timestamp>(
      duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

MTL::Buffer *newBufferOn(Device *device, std::shared_ptr<device::Memory> memory, uint64_t length,
                         MTL::ResourceOptions options) {
  auto *buffer = new Buffer();
  buffer->device = device;
  buffer->memory = std::move(memory);
  buffer->length = length;
  buffer->options = options;
  return buffer;
}

/// False, and a message, when no buffer can be this long.
bool lengthIsValid(const Device &device, const char *call, uint64_t length) {
  uint64_t limit = device.backend->limits().maxBufferLength;
  if (length != 0 && length <= limit)
    return true;
  misuse("{}: length ({}) is not between 1 and the limit ({}).", call, length, limit);
  return false;
}

} // namespace

Device::Device(const char *kind, std::shared_ptr<device::Device> backend)
    : kind(kind), backend(std::move(backend)),
      maxThreadgroupMemory(this->backend->limits().maxThreadgroupMemoryLength) {
  references.store(foundation::kImmortal | 1, std::memory_order_relaxed);
}

Result<std::shared_ptr<device::Memory>> allocateFor(Device &device, uint64_t length,
                                                    MTL::ResourceOptions options) {
  bool isPrivate = ((options >> 4) & 0xf) == MTL::StorageModePrivate;
  return device.backend->allocate(length, isPrivate ? device::StorageMode::Private
                                                    : device::StorageMode::Shared);
}

} // namespace pewter::metal

using namespace pewter::metal;
using pewter::foundation::makeString;

MTL::Device *Pewter::CreateDevice(const char *kind) {
  for (auto *device : devices())
    if (std::string_view(device->kind) == kind)
      return device;
  return nullptr;
}

const char *Pewter::DeviceKind(const MTL::Device *device) { return implOf(device)->kind; }

namespace MTL {

Device *CreateSystemDefaultDevice() {
  if (auto kind = pewter::environment("PEWTER_DEVICE")) {
    Device *chosen = Pewter::CreateDevice(kind->c_str());
    if (!chosen)
      misuse("CreateSystemDefaultDevice: PEWTER_DEVICE ({}) names no device of this machine.",
             *kind);
    return chosen;
  }
  for (auto *device : devices())
    if (std::string_view(device->kind) != "null")
      return device;
  return nullptr;
}

NS::Array *CopyAllDevices() {
  std::vector<pewter::foundation::Ref<Device>> list;
  for (auto *device : devices())
    if (std::string_view(device->kind) != "null")
      list.push_back(pewter::foundation::share(static_cast<Device *>(device)));
  return pewter::foundation::newArray(std::move(list));
}

NS::Array *CopyAllDevicesWithObserver(NS::Object **pOutObserver,
                                      const DeviceNotificationHandlerFunction &) {
  if (pOutObserver)
    *pOutObserver = pewter::foundation::newString("MTLDeviceObserver");
  return CopyAllDevices();
}

void RemoveDeviceObserver(const NS::Object *pObserver) {
  const_cast<NS::Object *>(pObserver)->release();
}

Architecture *Architecture::alloc() { return new pewter::metal::Architecture(); }
Architecture *Architecture::init() { return this; }
NS::String *Architecture::name() const { return makeString(implOf(this)->name); }

Architecture *Device::architecture() const {
  auto *architecture = new pewter::metal::Architecture();
  architecture->name = std::string("pewter_") + implOf(this)->kind;
  return pewter::foundation::autoreleased(architecture);
}
NS::String *Device::name() const { return makeString(implOf(this)->backend->name()); }
uint64_t Device::registryID() const { return implOf(this)->backend->registryID(); }
bool Device::hasUnifiedMemory() const { return implOf(this)->backend->limits().hasUnifiedMemory; }
bool Device::headless() const { return true; }
bool Device::isHeadless() const { return true; }
bool Device::lowPower() const { return false; }
bool Device::isLowPower() const { return false; }
bool Device::removable() const { return false; }
bool Device::isRemovable() const { return false; }
DeviceLocation Device::location() const {
  return hasUnifiedMemory() ? DeviceLocationBuiltIn : DeviceLocationSlot;
}
NS::UInteger Device::locationNumber() const { return 0; }
uint64_t Device::maxTransferRate() const { return 0; }
uint32_t Device::peerCount() const { return 0; }
uint64_t Device::peerGroupID() const { return 0; }
uint32_t Device::peerIndex() const { return 0; }

NS::UInteger Device::maxBufferLength() const {
  return implOf(this)->backend->limits().maxBufferLength;
}
NS::UInteger Device::maxThreadgroupMemoryLength() const {
  return implOf(this)->backend->limits().maxThreadgroupMemoryLength;
}
Size Device::maxThreadsPerThreadgroup() const {
  auto &size = implOf(this)->backend->limits().maxThreadsPerThreadgroup;
  return Size(size.x, size.y, size.z);
}
uint64_t Device::recommendedMaxWorkingSetSize() const {
  return implOf(this)->backend->limits().recommendedMaxWorkingSetSize;
}
NS::UInteger Device::currentAllocatedSize() const {
  return implOf(this)->backend->currentAllocatedSize();
}
NS::UInteger Device::maxArgumentBufferSamplerCount() const { return 1024; }
NS::UInteger Device::maximumConcurrentCompilationTaskCount() const { return 1; }
bool Device::shouldMaximizeConcurrentCompilation() const {
  return implOf(this)->maximizeCompilation;
}
void Device::setShouldMaximizeConcurrentCompilation(bool shouldMaximizeConcurrentCompilation) {
  implOf(this)->maximizeCompilation = shouldMaximizeConcurrentCompilation;
}
NS::UInteger Device::minimumLinearTextureAlignmentForPixelFormat(PixelFormat) { return 16; }
NS::UInteger Device::minimumTextureBufferAlignmentForPixelFormat(PixelFormat) { return 16; }

ArgumentBuffersTier Device::argumentBuffersSupport() const { return ArgumentBuffersTier2; }
ReadWriteTextureTier Device::readWriteTextureSupport() const { return ReadWriteTextureTier2; }
bool Device::areBarycentricCoordsSupported() const { return false; }
bool Device::barycentricCoordsSupported() const { return false; }
bool Device::areRasterOrderGroupsSupported() const { return false; }
bool Device::rasterOrderGroupsSupported() const { return false; }
bool Device::supports32BitFloatFiltering() const { return true; }
bool Device::supports32BitMSAA() const { return false; }
bool Device::supportsBCTextureCompression() const { return false; }
bool Device::supportsDynamicLibraries() const { return true; }
bool Device::supportsFunctionPointers() const { return true; }
bool Device::supportsPrimitiveMotionBlur() const { return false; }
bool Device::supportsPullModelInterpolation() const { return false; }
bool Device::supportsQueryTextureLOD() const { return false; }
bool Device::supportsRaytracing() const { return false; }
bool Device::supportsShaderBarycentricCoordinates() const { return false; }
bool Device::supportsTextureSampleCount(NS::UInteger sampleCount) { return sampleCount == 1; }
bool Device::supportsFamily(GPUFamily gpuFamily) {
  return (gpuFamily >= GPUFamilyApple1 && gpuFamily <= GPUFamilyApple8) ||
         gpuFamily == GPUFamilyMac1 || gpuFamily == GPUFamilyMac2 ||
         (gpuFamily >= GPUFamilyCommon1 && gpuFamily <= GPUFamilyCommon3) ||
         gpuFamily == GPUFamilyMetal3;
}
bool Device::supportsFeatureSet(FeatureSet featureSet) {
  return featureSet >= FeatureSet_macOS_GPUFamily1_v1 &&
         featureSet <= FeatureSet_macOS_GPUFamily2_v1;
}

uint64_t Device::queryTimestampFrequency() { return 1000000000; }
void Device::sampleTimestamps(Timestamp *cpuTimestamp, Timestamp *gpuTimestamp) {
  Timestamp now = nanosecondsNow();
  if (cpuTimestamp)
    *cpuTimestamp = now;
  if (gpuTimestamp)
    *gpuTimestamp = now;
}

Buffer *Device::newBuffer(NS::UInteger length, ResourceOptions options) {
  auto *device = implOf(this);
  if (!lengthIsValid(*device, "Device::newBuffer", length))
    return nullptr;
  auto memory = allocateFor(*device, length, options);
  if (!memory) {
    reportMisuse(std::move(memory.error()).whileDoing("Device::newBuffer"));
    return nullptr;
  }
  return newBufferOn(device, std::move(*memory), length, options);
}

Buffer *Device::newBuffer(const void *pointer, NS::UInteger length, ResourceOptions options) {
  if (!pointer) {
    misuse("Device::newBuffer: pointer is null.");
    return nullptr;
  }
  if (((options >> 4) & 0xf) == StorageModePrivate) {
    misuse("Device::newBuffer: bytes cannot be copied into a buffer with private storage.");
    return nullptr;
  }
  Buffer *buffer = newBuffer(length, options);
  if (buffer)
    std::memcpy(buffer->contents(), pointer, length);
  return buffer;
}

Buffer *Device::newBuffer(const void *pointer, NS::UInteger length, ResourceOptions options,
                          const std::function<void(void *, NS::UInteger)> &deallocator) {
  auto *device = implOf(this);
  auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  if (!pointer || reinterpret_cast<uintptr_t>(pointer) % page != 0 || length % page != 0) {
    misuse(
        "Device::newBuffer without a copy: pointer ({}) and length ({}) are not both multiples of "
        "the page size ({}).",
        pointer, length, page);
    return nullptr;
  }
  if (!lengthIsValid(*device, "Device::newBuffer without a copy", length))
    return nullptr;
  if (((options >> 4) & 0xf) == StorageModePrivate) {
    misuse("Device::newBuffer without a copy: private storage cannot wrap the host's memory.");
    return nullptr;
  }
  void *address = const_cast<void *>(pointer);
  std::function<void()> release;
  if (deallocator)
    release = [deallocator, address, length] { deallocator(address, length); };
  auto memory = device->backend->wrap(address, length, std::move(release));
  if (!memory) {
    reportMisuse(std::move(memory.error()).whileDoing("Device::newBuffer without a copy"));
    return nullptr;
  }
  return newBufferOn(device, std::move(*memory), length, options);
}

Buffer *Device::newBuffer(NS::UInteger, ResourceOptions, SparsePageSize) {
  unsupported("Device::newBuffer with a sparse page size is not supported.");
  return nullptr;
}

SizeAndAlign Device::heapBufferSizeAndAlign(NS::UInteger length, ResourceOptions) {
  return {(length + kHeapAlignment - 1) / kHeapAlignment * kHeapAlignment, kHeapAlignment};
}

Heap *Device::newHeap(const HeapDescriptor *descriptor) {
  auto *device = implOf(this);
  auto &d = *implOf(descriptor);
  if (d.type == HeapTypeSparse) {
    unsupported("Device::newHeap: sparse heaps are not supported.");
    return nullptr;
  }
  if (!lengthIsValid(*device, "Device::newHeap", d.size))
    return nullptr;
  auto memory = allocateFor(*device, d.size, d.resourceOptions());
  if (!memory) {
    reportMisuse(std::move(memory.error()).whileDoing("Device::newHeap"));
    return nullptr;
  }
  return new pewter::metal::Heap(device, std::move(*memory), d);
}

FunctionHandle *Device::functionHandle(const Function *) {
  unsupported("Device::functionHandle is not supported: take the handle of a pipeline state.");
  return nullptr;
}

} // namespace MTL
