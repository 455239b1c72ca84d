// SPDX-License-Identifier: Apache-2.0
//
// ResidencySet: allocations to keep where the device can reach them.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"
#include <cstdint>

namespace MTL {

class Allocation;
class Device;
class ResidencySet;
class ResidencySetDescriptor;

/// How a residency set is made.
class _MTL_EXPORT ResidencySetDescriptor : public NS::Copying<ResidencySetDescriptor> {
public:
  static ResidencySetDescriptor *alloc();
  ResidencySetDescriptor *init();
  NS::UInteger initialCapacity() const;
  void setInitialCapacity(NS::UInteger initialCapacity);
  NS::String *label() const;
  void setLabel(const NS::String *label);
};

/// Changes take effect at commit. All memory here is resident while it lives, so a set keeps
/// its allocations alive and counts them.
class _MTL_EXPORT ResidencySet : public NS::Referencing<ResidencySet> {
public:
  void addAllocation(const Allocation *allocation);
  void addAllocations(const Allocation *const allocations[], NS::UInteger count);
  NS::Array *allAllocations() const;
  uint64_t allocatedSize() const;
  NS::UInteger allocationCount() const;
  void commit();
  bool containsAllocation(const Allocation *anAllocation);
  Device *device() const;
  void endResidency();
  NS::String *label() const;
  void removeAllAllocations();
  void removeAllocation(const Allocation *allocation);
  void removeAllocations(const Allocation *const allocations[], NS::UInteger count);
  void requestResidency();
};

} // namespace MTL
