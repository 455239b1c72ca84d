// SPDX-License-Identifier: Apache-2.0
//
// What buffers and textures have in common. A resource lives in a device::Memory, which it may
// share with other resources of its heap.
#pragma once
#include "device/Device.h"
#include "foundation/Object.h"
#include <Metal/MTLHeap.hpp>
#include <Metal/MTLResource.hpp>
#include <atomic>
#include <string>

namespace pewter::metal {

class Device;
class Heap;

/// The facet() of every MTL::Resource.
class ResourceBase {
public:
  ResourceBase();
  ~ResourceBase();

  Device *device = nullptr; ///< Lives as long as the process.
  std::shared_ptr<device::Memory> memory;
  uint64_t offset = 0; ///< Of the resource in `memory`.
  uint64_t length = 0; ///< Bytes the program asked for.
  MTL::ResourceOptions options = 0;
  std::string label;
  foundation::Ref<Heap> heap; ///< Null for a resource with its own memory.
  uint64_t heapLength = 0;    ///< Bytes it takes in the heap; 0 once it is aliasable.
  MTL::PurgeableState purgeable = MTL::PurgeableStateNonVolatile;

  /// Serial number of the last stream that keeps `memory`: most set calls find it there already.
  std::atomic<uint64_t> keptBy{0};

  uint64_t address() const { return memory->deviceAddress() + offset; }
  std::byte *contents() const {
    auto *base = static_cast<std::byte *>(memory->contents());
    return base ? base + offset : nullptr;
  }
  MTL::StorageMode storageMode() const {
    return static_cast<MTL::StorageMode>((options >> 4) & 0xf);
  }
  /// How messages name it: buffer "weights", or buffer 0x1234 when it has no label.
  std::string describe() const;
  const char *kindName = "buffer";

  /// Keeps the memory alive until `stream` (whose serial number is given) is destroyed.
  void keepBy(device::CommandStream &stream, uint64_t serial) {
    if (keptBy.load(std::memory_order_relaxed) == serial)
      return;
    stream.keep(memory);
    keptBy.store(serial, std::memory_order_relaxed);
  }
};

ResourceBase *baseOf(const MTL::Resource *resource);

/// Options with the hazard tracking mode "default" settled: tracked, or untracked in a heap.
MTL::HazardTrackingMode trackingOf(const ResourceBase &resource);

} // namespace pewter::metal
