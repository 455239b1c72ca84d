// SPDX-License-Identifier: Apache-2.0
//
// DescriptorPool: where a device's texture and sampler descriptors lie. They are small, many, and read
// by kernels through the address that an argument buffer holds, so they share blocks of memory that
// host and device reach. Any thread.
#pragma once
#include "device/Device.h"
#include <memory>
#include <mutex>
#include <vector>

namespace pewter::metal {

/// One descriptor; its place is free again when the last owner goes.
class Descriptor {
public:
  Descriptor(std::shared_ptr<void> place, uint64_t deviceAddress)
      : place_(std::move(place)), deviceAddress_(deviceAddress) {}
  void *contents() const { return place_.get(); }
  uint64_t deviceAddress() const { return deviceAddress_; }
  const std::shared_ptr<void> &owner() const { return place_; }

private:
  std::shared_ptr<void> place_;
  uint64_t deviceAddress_;
};

class DescriptorPool {
public:
  explicit DescriptorPool(device::Device &device);
  ~DescriptorPool();
  /// Room for `size` bytes, at most kPlaceBytes.
  Result<Descriptor> take(size_t size);
  static constexpr size_t kPlaceBytes = 1024;

private:
  struct State;
  device::Device &device_;
  std::shared_ptr<State> state_;
};

} // namespace pewter::metal
