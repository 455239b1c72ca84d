// SPDX-License-Identifier: Apache-2.0
//
// Purgeable states are remembered, but memory is never taken away: discarding is a permission.
// Tested by tests/api/Buffer_test.cpp and tests/api/Heap_test.cpp.
#include "metal/Resource.h"
#include "foundation/String.h"
#include "metal/Device.h"
#include "metal/Heap.h"
#include <Metal/MTLAllocation.hpp>

namespace pewter::metal {

ResourceBase *baseOf(const MTL::Resource *resource) {
  return static_cast<ResourceBase *>(const_cast<MTL::Resource *>(resource)->facet());
}

ResourceBase::ResourceBase() = default;

ResourceBase::~ResourceBase() {
  if (heap && heapLength)
    heap->giveBack(offset, heapLength);
}

std::string ResourceBase::describe() const {
  if (label.empty())
    return fmt::format("{} {}", kindName, static_cast<const void *>(this));
  return fmt::format("{} \"{}\"", kindName, label);
}

MTL::HazardTrackingMode trackingOf(const ResourceBase &resource) {
  auto mode = static_cast<MTL::HazardTrackingMode>((resource.options >> 8) & 3);
  if (mode != MTL::HazardTrackingModeDefault)
    return mode;
  return resource.heap ? MTL::HazardTrackingModeUntracked : MTL::HazardTrackingModeTracked;
}

} // namespace pewter::metal

using pewter::metal::baseOf;

namespace MTL {

NS::UInteger Allocation::allocatedSize() const {
  auto *object = const_cast<Allocation *>(this);
  if (auto *resource = dynamic_cast<Resource *>(object))
    return resource->allocatedSize();
  if (auto *heap = dynamic_cast<Heap *>(object))
    return heap->currentAllocatedSize();
  return 0;
}

NS::UInteger Resource::allocatedSize() const {
  auto *base = baseOf(this);
  return base->heap ? base->heapLength : base->memory->length();
}
CPUCacheMode Resource::cpuCacheMode() const {
  return static_cast<CPUCacheMode>(baseOf(this)->options & 0xf);
}
Device *Resource::device() const { return baseOf(this)->device; }
HazardTrackingMode Resource::hazardTrackingMode() const {
  return pewter::metal::trackingOf(*baseOf(this));
}
Heap *Resource::heap() const { return baseOf(this)->heap.get(); }
NS::UInteger Resource::heapOffset() const { return baseOf(this)->heap ? baseOf(this)->offset : 0; }
bool Resource::isAliasable() { return baseOf(this)->heap && !baseOf(this)->heapLength; }
NS::String *Resource::label() const {
  auto &text = baseOf(this)->label;
  return text.empty() ? nullptr : pewter::foundation::makeString(text);
}
void Resource::setLabel(const NS::String *label) {
  baseOf(this)->label = pewter::foundation::copyText(label);
}
void Resource::makeAliasable() {
  auto *base = baseOf(this);
  if (base->heap && base->heapLength) {
    base->heap->giveBack(base->offset, base->heapLength);
    base->heapLength = 0;
  }
}
ResourceOptions Resource::resourceOptions() const {
  auto *base = baseOf(this);
  return (base->options & ~ResourceOptions(0x300)) |
         (static_cast<ResourceOptions>(pewter::metal::trackingOf(*base)) << 8);
}
PurgeableState Resource::setPurgeableState(PurgeableState state) {
  auto *base = baseOf(this);
  PurgeableState old = base->purgeable;
  if (state != PurgeableStateKeepCurrent)
    base->purgeable = state;
  return old;
}
StorageMode Resource::storageMode() const { return baseOf(this)->storageMode(); }

} // namespace MTL
