// SPDX-License-Identifier: Apache-2.0
//
// Heap: one device::Memory from which resources take ranges. The free ranges are kept in a map by
// offset; neighbours are merged when a range comes back. Thread safe.
#pragma once
#include "device/Device.h"
#include "foundation/Object.h"
#include <Metal/MTLHeap.hpp>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace pewter::metal {

class Device;

inline constexpr uint64_t kHeapAlignment = 256;

class HeapDescriptor final : public MTL::HeapDescriptor {
public:
  const char *className() const override { return "MTLHeapDescriptor"; }
  Root *makeCopy() const override;

  NS::UInteger size = 0;
  MTL::StorageMode storageMode = MTL::StorageModePrivate;
  MTL::CPUCacheMode cpuCacheMode = MTL::CPUCacheModeDefaultCache;
  MTL::HazardTrackingMode hazardTrackingMode = MTL::HazardTrackingModeDefault;
  MTL::HeapType type = MTL::HeapTypeAutomatic;
  MTL::SparsePageSize sparsePageSize = MTL::SparsePageSize16;
  MTL::SparsePageSize maxCompatiblePlacementSparsePageSize{};
};

class Heap final : public MTL::Heap {
public:
  Heap(Device *device, std::shared_ptr<device::Memory> memory, const HeapDescriptor &descriptor);
  const char *className() const override { return "MTLHeap"; }

  /// Takes `length` bytes out of an automatic heap; nothing when no free range is long enough.
  std::optional<uint64_t> take(uint64_t length, uint64_t alignment);
  void giveBack(uint64_t offset, uint64_t length);

  Device *device;
  std::shared_ptr<device::Memory> memory;
  uint64_t size;
  MTL::ResourceOptions options;
  MTL::HeapType type;
  std::string label;
  MTL::PurgeableState purgeable = MTL::PurgeableStateNonVolatile;

  std::mutex mutex;
  uint64_t used = 0;
  std::map<uint64_t, uint64_t> free; ///< Offset -> length.
};

inline HeapDescriptor *implOf(const MTL::HeapDescriptor *descriptor) {
  return static_cast<HeapDescriptor *>(const_cast<MTL::HeapDescriptor *>(descriptor));
}
inline Heap *implOf(const MTL::Heap *heap) {
  return static_cast<Heap *>(const_cast<MTL::Heap *>(heap));
}

MTL::ResourceOptions optionsOf(MTL::StorageMode storage, MTL::CPUCacheMode cache,
                               MTL::HazardTrackingMode tracking);

} // namespace pewter::metal
