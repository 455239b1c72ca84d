// SPDX-License-Identifier: Apache-2.0
//
// The null device: accepts everything and runs nothing. Memory is real host memory, events work and
// command buffers complete in order, so the runtime's own rules can be tested and the cost of
// recording be measured with nothing behind it. Pipelines carry the reflection of their function,
// from the compiler or the cache, but no code.
#pragma once
#include "device/Device.h"

namespace pewter::device::null {

/// One null device, the same at every call.
std::vector<std::shared_ptr<Device>> connect();

} // namespace pewter::device::null
