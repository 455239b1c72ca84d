// SPDX-License-Identifier: Apache-2.0
//
// Device: an MTL::Device over a device::Device. One object for each, made once, never freed.
#pragma once
#include "device/Device.h"
#include "foundation/Object.h"
#include "metal/DescriptorPool.h"
#include <Metal/MTLDevice.hpp>
#include <atomic>

namespace pewter::metal {

class Device final : public MTL::Device {
public:
  Device(const char *kind, std::shared_ptr<device::Device> backend);
  const char *className() const override { return "MTLDevice"; }

  const char *kind;
  std::shared_ptr<device::Device> backend;
  const uint32_t maxThreadgroupMemory; ///< Copied from the limits, for encoders.
  std::atomic<bool> maximizeCompilation{false};
  DescriptorPool descriptors{*backend};
};

inline Device *implOf(const MTL::Device *device) {
  return static_cast<Device *>(const_cast<MTL::Device *>(device));
}

/// Memory for a resource or heap: private memory where the options say so.
Result<std::shared_ptr<device::Memory>> allocateFor(Device &device, uint64_t length,
                                                    MTL::ResourceOptions options);

} // namespace pewter::metal
