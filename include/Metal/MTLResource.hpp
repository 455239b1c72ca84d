// SPDX-License-Identifier: Apache-2.0
//
// Resource: what buffers and textures have in common, and the options they are made with.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLAllocation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class Device;
class Heap;
class Resource;

enum PurgeableState : NS::UInteger {
  PurgeableStateKeepCurrent = 1,
  PurgeableStateNonVolatile = 2,
  PurgeableStateVolatile = 3,
  PurgeableStateEmpty = 4,
};

enum CPUCacheMode : NS::UInteger {
  CPUCacheModeDefaultCache = 0,
  CPUCacheModeWriteCombined = 1,
};

enum StorageMode : NS::UInteger {
  StorageModeShared = 0,
  StorageModeManaged = 1,
  StorageModePrivate = 2,
  StorageModeMemoryless = 3,
};

enum HazardTrackingMode : NS::UInteger {
  HazardTrackingModeDefault = 0,
  HazardTrackingModeUntracked = 1,
  HazardTrackingModeTracked = 2,
};

enum SparsePageSize : NS::Integer {
  SparsePageSize16 = 101,
  SparsePageSize64 = 102,
  SparsePageSize256 = 103,
};

enum BufferSparseTier : NS::Integer {
  BufferSparseTierNone = 0,
  BufferSparseTier1 = 1,
};

enum TextureSparseTier : NS::Integer {
  TextureSparseTierNone = 0,
  TextureSparseTier1 = 1,
  TextureSparseTier2 = 2,
};

using ResourceOptions = NS::UInteger;
enum : ResourceOptions {
  ResourceCPUCacheModeDefaultCache = 0,
  ResourceCPUCacheModeWriteCombined = 1,
  ResourceStorageModeShared = 0,
  ResourceStorageModeManaged = 1 << 4,
  ResourceStorageModePrivate = 1 << 5,
  ResourceStorageModeMemoryless = 1 << 5,
  ResourceHazardTrackingModeDefault = 0,
  ResourceHazardTrackingModeUntracked = 1 << 8,
  ResourceHazardTrackingModeTracked = 1 << 9,
  ResourceOptionCPUCacheModeDefault = 0,
  ResourceOptionCPUCacheModeWriteCombined = 1,
};

/// Memory that kernels can reach. Storage modes: shared and managed memory is visible to the
/// host at all times; private memory only where the device has unified memory.
class _MTL_EXPORT Resource : public NS::Referencing<Resource, Allocation> {
public:
  bool isAliasable();
  NS::UInteger allocatedSize() const;
  CPUCacheMode cpuCacheMode() const;
  Device *device() const;
  HazardTrackingMode hazardTrackingMode() const;
  Heap *heap() const;
  NS::UInteger heapOffset() const;
  NS::String *label() const;
  void setLabel(const NS::String *label);
  void makeAliasable();
  PurgeableState setPurgeableState(PurgeableState state);
  ResourceOptions resourceOptions() const;
  StorageMode storageMode() const;
};

} // namespace MTL
