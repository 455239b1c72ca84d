// SPDX-License-Identifier: Apache-2.0
//
// Heap: one allocation that many resources share.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLAllocation.hpp"
#include "MTLDefines.hpp"
#include "MTLResource.hpp"

namespace MTL {

class Buffer;
class Device;
class Heap;
class HeapDescriptor;
class Texture;
class TextureDescriptor;

enum HeapType : NS::Integer {
  HeapTypeAutomatic = 0,
  HeapTypePlacement = 1,
  HeapTypeSparse = 2,
};

/// How a heap is made.
class _MTL_EXPORT HeapDescriptor : public NS::Copying<HeapDescriptor> {
public:
  static HeapDescriptor *alloc();
  HeapDescriptor *init();
  CPUCacheMode cpuCacheMode() const;
  void setCpuCacheMode(CPUCacheMode cpuCacheMode);
  HazardTrackingMode hazardTrackingMode() const;
  void setHazardTrackingMode(HazardTrackingMode hazardTrackingMode);
  SparsePageSize maxCompatiblePlacementSparsePageSize() const;
  void setMaxCompatiblePlacementSparsePageSize(SparsePageSize maxCompatiblePlacementSparsePageSize);
  ResourceOptions resourceOptions() const;
  void setResourceOptions(ResourceOptions resourceOptions);
  NS::UInteger size() const;
  void setSize(NS::UInteger size);
  SparsePageSize sparsePageSize() const;
  void setSparsePageSize(SparsePageSize sparsePageSize);
  StorageMode storageMode() const;
  void setStorageMode(StorageMode storageMode);
  HeapType type() const;
  void setType(HeapType type);
};

/// An automatic heap finds room for each resource; a placement heap takes the offset from the
/// caller, and ranges may overlap there. makeAliasable gives a resource's room back while the
/// resource stays usable.
class _MTL_EXPORT Heap : public NS::Referencing<Heap, Allocation> {
public:
  CPUCacheMode cpuCacheMode() const;
  NS::UInteger currentAllocatedSize() const;
  Device *device() const;
  HazardTrackingMode hazardTrackingMode() const;
  NS::String *label() const;
  void setLabel(const NS::String *label);
  NS::UInteger maxAvailableSize(NS::UInteger alignment);
  Buffer *newBuffer(NS::UInteger length, ResourceOptions options);
  Buffer *newBuffer(NS::UInteger length, ResourceOptions options, NS::UInteger offset);
  Texture *newTexture(const TextureDescriptor *descriptor);
  Texture *newTexture(const TextureDescriptor *descriptor, NS::UInteger offset);
  PurgeableState setPurgeableState(PurgeableState state);
  ResourceOptions resourceOptions() const;
  NS::UInteger size() const;
  StorageMode storageMode() const;
  HeapType type() const;
  NS::UInteger usedSize() const;
};

} // namespace MTL
