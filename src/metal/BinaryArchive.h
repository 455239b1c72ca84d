// SPDX-License-Identifier: Apache-2.0
//
// BinaryArchive: an MTL::BinaryArchive over a device::PipelineArchive. Thread safe.
#pragma once
#include "device/PipelineArchive.h"
#include "foundation/Object.h"
#include <Metal/MTLBinaryArchive.hpp>
#include <memory>
#include <string>

namespace pewter::metal {

class Device;

class BinaryArchiveDescriptor final : public MTL::BinaryArchiveDescriptor {
public:
  const char *className() const override { return "MTLBinaryArchiveDescriptor"; }
  Root *makeCopy() const override;
  foundation::Ref<NS::URL> url;
};

class BinaryArchive final : public MTL::BinaryArchive {
public:
  explicit BinaryArchive(Device *device) : device(device) {}
  const char *className() const override { return "MTLBinaryArchive"; }

  Device *device;
  std::string label;
  std::shared_ptr<device::PipelineArchive> images = std::make_shared<device::PipelineArchive>();
};

inline BinaryArchive *implOf(const MTL::BinaryArchive *archive) {
  return static_cast<BinaryArchive *>(const_cast<MTL::BinaryArchive *>(archive));
}
inline BinaryArchiveDescriptor *implOf(const MTL::BinaryArchiveDescriptor *descriptor) {
  return static_cast<BinaryArchiveDescriptor *>(
      const_cast<MTL::BinaryArchiveDescriptor *>(descriptor));
}

} // namespace pewter::metal
