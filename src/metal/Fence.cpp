// SPDX-License-Identifier: Apache-2.0
// Tested by tests/api/Event_test.cpp.
#include "metal/Fence.h"
#include "metal/Device.h"
#include "metal/Property.h"

using namespace pewter::metal;

PEWTER_LABEL(Fence)

namespace MTL {
Device *Fence::device() const { return implOf(this)->device; }
Fence *Device::newFence() { return new pewter::metal::Fence(implOf(this)); }
} // namespace MTL
