// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/Device.h"
#include <span>
#include <string_view>

namespace pewter::metal {

struct ConnectedDevice {
  const char *kind; ///< "cuda", "cpu", "null".
  std::shared_ptr<device::Device> device;
};

/// Every device of this machine, the preferred ones first; connected once.
std::span<const ConnectedDevice> connectedDevices();

} // namespace pewter::metal
