// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "foundation/Object.h"
#include <Metal/MTLFence.hpp>
#include <string>

namespace pewter::metal {

class Device;

class Fence final : public MTL::Fence {
public:
  explicit Fence(Device *device) : device(device) {}
  const char *className() const override { return "MTLFence"; }

  Device *device;
  std::string label;
};

inline Fence *implOf(const MTL::Fence *fence) {
  return static_cast<Fence *>(const_cast<MTL::Fence *>(fence));
}

} // namespace pewter::metal
