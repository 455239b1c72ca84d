// SPDX-License-Identifier: Apache-2.0
//
// The one file of the runtime that knows which devices there are.
#include "metal/DeviceList.h"

namespace pewter {
namespace device::null {
std::vector<std::shared_ptr<device::Device>> connect();
}
namespace cpu {
[[gnu::weak]] std::vector<std::shared_ptr<device::Device>> connect();
}
namespace cuda {
[[gnu::weak]] std::vector<std::shared_ptr<device::Device>> connect();
}
} // namespace pewter

namespace pewter::metal {

std::span<const ConnectedDevice> connectedDevices() {
  static auto &all = *new std::vector<ConnectedDevice>([] {
    std::vector<ConnectedDevice> list;
    auto add = [&](const char *kind, std::vector<std::shared_ptr<device::Device>> (*connect)()) {
      if (connect)
        for (auto &device : connect())
          list.push_back({kind, std::move(device)});
    };
    add("cuda", &cuda::connect);
    add("cpu", &cpu::connect);
    add("null", &device::null::connect);
    return list;
  }());
  return all;
}

} // namespace pewter::metal
