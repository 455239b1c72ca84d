// SPDX-License-Identifier: Apache-2.0
//
// All memory is resident while it lives, so a residency set only keeps its allocations alive and
// counts them. Changes show at commit(), as in Metal.
// Tested by tests/api/Resources_test.cpp.
#include "foundation/Collections.h"
#include "metal/Device.h"
#include "metal/ErrorDomain.h"
#include "metal/Property.h"
#include <Metal/MTLAllocation.hpp>
#include <Metal/MTLResidencySet.hpp>
#include <algorithm>
#include <mutex>

namespace pewter::metal {

class ResidencySetDescriptor final : public MTL::ResidencySetDescriptor {
public:
  const char *className() const override { return "MTLResidencySetDescriptor"; }
  Root *makeCopy() const override {
    auto *copy = new ResidencySetDescriptor();
    copy->label = label;
    copy->initialCapacity = initialCapacity;
    return copy;
  }
  std::string label;
  NS::UInteger initialCapacity = 0;
};

class ResidencySet final : public MTL::ResidencySet {
public:
  const char *className() const override { return "MTLResidencySet"; }

  using List = std::vector<foundation::Ref<MTL::Allocation>>;
  static auto find(List &list, const MTL::Allocation *allocation) {
    return std::find_if(list.begin(), list.end(),
                        [&](auto &entry) { return entry.get() == allocation; });
  }

  Device *device = nullptr;
  std::string label;
  std::mutex mutex;
  List committed, pending; ///< `pending` is what commit() will make of the set.
};

namespace {

ResidencySetDescriptor *implOf(const MTL::ResidencySetDescriptor *descriptor) {
  return static_cast<ResidencySetDescriptor *>(
      const_cast<MTL::ResidencySetDescriptor *>(descriptor));
}
ResidencySet *implOf(const MTL::ResidencySet *set) {
  return static_cast<ResidencySet *>(const_cast<MTL::ResidencySet *>(set));
}

} // namespace
} // namespace pewter::metal

using namespace pewter::metal;

PEWTER_ALLOC(ResidencySetDescriptor)
PEWTER_LABEL(ResidencySetDescriptor)
PEWTER_PLAIN(ResidencySetDescriptor, NS::UInteger, initialCapacity, setInitialCapacity)

namespace MTL {

ResidencySet *Device::newResidencySet(const ResidencySetDescriptor *desc, NS::Error **) {
  auto *set = new pewter::metal::ResidencySet();
  set->device = pewter::metal::implOf(this);
  if (desc) {
    set->label = implOf(desc)->label;
    set->pending.reserve(implOf(desc)->initialCapacity);
  }
  return set;
}

void ResidencySet::addAllocation(const Allocation *allocation) {
  auto *set = implOf(this);
  std::lock_guard lock(set->mutex);
  if (allocation && set->find(set->pending, allocation) == set->pending.end())
    set->pending.push_back(pewter::foundation::share(allocation));
}
void ResidencySet::addAllocations(const Allocation *const allocations[], NS::UInteger count) {
  for (NS::UInteger i = 0; i < count; ++i)
    addAllocation(allocations[i]);
}
void ResidencySet::removeAllocation(const Allocation *allocation) {
  auto *set = implOf(this);
  std::lock_guard lock(set->mutex);
  auto found = set->find(set->pending, allocation);
  if (found != set->pending.end())
    set->pending.erase(found);
}
void ResidencySet::removeAllocations(const Allocation *const allocations[], NS::UInteger count) {
  for (NS::UInteger i = 0; i < count; ++i)
    removeAllocation(allocations[i]);
}
void ResidencySet::removeAllAllocations() {
  std::lock_guard lock(implOf(this)->mutex);
  implOf(this)->pending.clear();
}
void ResidencySet::commit() {
  auto *set = implOf(this);
  std::lock_guard lock(set->mutex);
  set->committed = set->pending;
}
NS::Array *ResidencySet::allAllocations() const {
  std::lock_guard lock(implOf(this)->mutex);
  return pewter::foundation::makeArray(implOf(this)->committed);
}
uint64_t ResidencySet::allocatedSize() const {
  std::lock_guard lock(implOf(this)->mutex);
  uint64_t sum = 0;
  for (auto &allocation : implOf(this)->committed)
    sum += allocation->allocatedSize();
  return sum;
}
NS::UInteger ResidencySet::allocationCount() const {
  std::lock_guard lock(implOf(this)->mutex);
  return implOf(this)->committed.size();
}
bool ResidencySet::containsAllocation(const Allocation *anAllocation) {
  auto *set = implOf(this);
  std::lock_guard lock(set->mutex);
  return set->find(set->committed, anAllocation) != set->committed.end();
}
Device *ResidencySet::device() const { return implOf(this)->device; }
NS::String *ResidencySet::label() const {
  auto &text = implOf(this)->label;
  return text.empty() ? nullptr : pewter::foundation::makeString(text);
}
void ResidencySet::requestResidency() {}
void ResidencySet::endResidency() {}

} // namespace MTL
