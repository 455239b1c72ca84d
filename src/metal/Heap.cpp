// SPDX-License-Identifier: Apache-2.0
//
// First fit. In a placement heap the program chooses offsets, ranges may overlap, and nothing is
// taken; usedSize is then the sum of the live resources' sizes.
// Tested by tests/api/Heap_test.cpp.
#include "metal/Heap.h"
#include "metal/Buffer.h"
#include "metal/Device.h"
#include "metal/Property.h"
#include "metal/Texture.h"
#include "metal/Validation.h"
#include <algorithm>

namespace pewter::metal {

NS::detail::Root *HeapDescriptor::makeCopy() const {
  auto *copy = new HeapDescriptor();
  copy->size = size;
  copy->storageMode = storageMode;
  copy->cpuCacheMode = cpuCacheMode;
  copy->hazardTrackingMode = hazardTrackingMode;
  copy->type = type;
  copy->sparsePageSize = sparsePageSize;
  copy->maxCompatiblePlacementSparsePageSize = maxCompatiblePlacementSparsePageSize;
  return copy;
}

MTL::ResourceOptions optionsOf(MTL::StorageMode storage, MTL::CPUCacheMode cache,
                               MTL::HazardTrackingMode tracking) {
  return static_cast<MTL::ResourceOptions>(cache) |
         static_cast<MTL::ResourceOptions>(storage) << 4 |
         static_cast<MTL::ResourceOptions>(tracking) << 8;
}

Heap::Heap(Device *device, std::shared_ptr<device::Memory> memory, const HeapDescriptor &descriptor)
    : device(device), memory(std::move(memory)), size(descriptor.size),
      options(optionsOf(descriptor.storageMode, descriptor.cpuCacheMode,
                        descriptor.hazardTrackingMode)),
      type(descriptor.type) {
  if (type == MTL::HeapTypeAutomatic)
    free.emplace(0, size);
}

std::optional<uint64_t> Heap::take(uint64_t length, uint64_t alignment) {
  std::lock_guard lock(mutex);
  for (auto [offset, room] : free) {
    uint64_t start = (offset + alignment - 1) / alignment * alignment;
    uint64_t lost = start - offset;
    if (lost > room || room - lost < length)
      continue;
    free.erase(offset);
    if (lost)
      free.emplace(offset, lost);
    if (room - lost > length)
      free.emplace(start + length, room - lost - length);
    used += length;
    return start;
  }
  return std::nullopt;
}

void Heap::giveBack(uint64_t offset, uint64_t length) {
  std::lock_guard lock(mutex);
  used -= length;
  if (type != MTL::HeapTypeAutomatic)
    return;
  auto [at, added] = free.emplace(offset, length);
  if (auto next = std::next(at); next != free.end() && at->first + at->second == next->first) {
    at->second += next->second;
    free.erase(next);
  }
  if (at != free.begin()) {
    auto previous = std::prev(at);
    if (previous->first + previous->second == at->first) {
      previous->second += at->second;
      free.erase(at);
    }
  }
}

namespace {

/// A buffer's place in a heap, or null and a message.
MTL::Buffer *newBufferIn(Heap *heap, uint64_t length, MTL::ResourceOptions options,
                         std::optional<uint64_t> offset) {
  auto name = [&] {
    return heap->label.empty() ? fmt::format("heap {}", static_cast<void *>(heap))
                               : fmt::format("heap \"{}\"", heap->label);
  };
  if (length == 0) {
    misuse("Heap::newBuffer: length (0) is not above 0, in {}.", name());
    return nullptr;
  }
  if (((options ^ heap->options) & 0xf0) != 0) {
    misuse("Heap::newBuffer: storage mode ({}) is not that of {} ({}).", (options >> 4) & 0xf,
           name(), (heap->options >> 4) & 0xf);
    return nullptr;
  }
  uint64_t room = (length + kHeapAlignment - 1) / kHeapAlignment * kHeapAlignment;
  if (offset.has_value() != (heap->type == MTL::HeapTypePlacement)) {
    misuse("Heap::newBuffer: an offset belongs to placement heaps alone; {} is {}.", name(),
           heap->type == MTL::HeapTypePlacement ? "one" : "automatic");
    return nullptr;
  }
  if (offset) {
    if (*offset % kHeapAlignment != 0 || *offset > heap->size || length > heap->size - *offset) {
      misuse("Heap::newBuffer: offset ({}) is not a multiple of {}, or {} bytes there end past the "
             "{} bytes of {}.",
             *offset, kHeapAlignment, length, heap->size, name());
      return nullptr;
    }
    std::lock_guard lock(heap->mutex);
    heap->used += room;
  } else {
    offset = heap->take(room, kHeapAlignment);
    if (!offset)
      return nullptr; // Full: Metal gives null without a message.
  }
  auto *buffer = new Buffer();
  buffer->device = heap->device;
  buffer->memory = heap->memory;
  buffer->offset = *offset;
  buffer->length = length;
  buffer->options = options | (heap->options & 0x300);
  buffer->heap = foundation::share(heap);
  buffer->heapLength = room;
  return buffer;
}

} // namespace
} // namespace pewter::metal

using namespace pewter::metal;

PEWTER_ALLOC(HeapDescriptor)
PEWTER_PLAIN(HeapDescriptor, NS::UInteger, size, setSize)
PEWTER_VALUE(HeapDescriptor, StorageMode, storageMode, setStorageMode)
PEWTER_VALUE(HeapDescriptor, CPUCacheMode, cpuCacheMode, setCpuCacheMode)
PEWTER_VALUE(HeapDescriptor, HazardTrackingMode, hazardTrackingMode, setHazardTrackingMode)
PEWTER_VALUE(HeapDescriptor, HeapType, type, setType)
PEWTER_VALUE(HeapDescriptor, SparsePageSize, sparsePageSize, setSparsePageSize)
PEWTER_VALUE(HeapDescriptor, SparsePageSize, maxCompatiblePlacementSparsePageSize,
             setMaxCompatiblePlacementSparsePageSize)

namespace MTL {

ResourceOptions HeapDescriptor::resourceOptions() const {
  auto *d = implOf(this);
  return optionsOf(d->storageMode, d->cpuCacheMode, d->hazardTrackingMode);
}
void HeapDescriptor::setResourceOptions(ResourceOptions resourceOptions) {
  auto *d = implOf(this);
  d->cpuCacheMode = static_cast<CPUCacheMode>(resourceOptions & 0xf);
  d->storageMode = static_cast<StorageMode>((resourceOptions >> 4) & 0xf);
  d->hazardTrackingMode = static_cast<HazardTrackingMode>((resourceOptions >> 8) & 3);
}

CPUCacheMode Heap::cpuCacheMode() const {
  return static_cast<CPUCacheMode>(implOf(this)->options & 0xf);
}
NS::UInteger Heap::currentAllocatedSize() const { return implOf(this)->memory->length(); }
Device *Heap::device() const { return implOf(this)->device; }
HazardTrackingMode Heap::hazardTrackingMode() const {
  auto mode = static_cast<HazardTrackingMode>((implOf(this)->options >> 8) & 3);
  return mode == HazardTrackingModeDefault ? HazardTrackingModeUntracked : mode;
}
NS::String *Heap::label() const {
  auto &text = implOf(this)->label;
  return text.empty() ? nullptr : pewter::foundation::makeString(text);
}
void Heap::setLabel(const NS::String *label) {
  implOf(this)->label = pewter::foundation::copyText(label);
}
NS::UInteger Heap::maxAvailableSize(NS::UInteger alignment) {
  auto *heap = implOf(this);
  std::lock_guard lock(heap->mutex);
  if (heap->type != HeapTypeAutomatic)
    return heap->size - std::min(heap->used, heap->size);
  uint64_t best = 0;
  alignment = std::max<NS::UInteger>(alignment, kHeapAlignment);
  for (auto [offset, room] : heap->free) {
    uint64_t lost = (alignment - offset % alignment) % alignment;
    if (room > lost)
      best = std::max(best, room - lost);
  }
  return best;
}
Buffer *Heap::newBuffer(NS::UInteger length, ResourceOptions options) {
  return newBufferIn(implOf(this), length, options, std::nullopt);
}
Buffer *Heap::newBuffer(NS::UInteger length, ResourceOptions options, NS::UInteger offset) {
  return newBufferIn(implOf(this), length, options, offset);
}
Texture *Heap::newTexture(const TextureDescriptor *descriptor) {
  return newTextureInHeap(implOf(this), descriptor, std::nullopt);
}
Texture *Heap::newTexture(const TextureDescriptor *descriptor, NS::UInteger offset) {
  return newTextureInHeap(implOf(this), descriptor, offset);
}
ResourceOptions Heap::resourceOptions() const { return implOf(this)->options; }
PurgeableState Heap::setPurgeableState(PurgeableState state) {
  PurgeableState old = implOf(this)->purgeable;
  if (state != PurgeableStateKeepCurrent)
    implOf(this)->purgeable = state;
  return old;
}
NS::UInteger Heap::size() const { return implOf(this)->size; }
StorageMode Heap::storageMode() const {
  return static_cast<StorageMode>((implOf(this)->options >> 4) & 0xf);
}
HeapType Heap::type() const { return implOf(this)->type; }
NS::UInteger Heap::usedSize() const {
  auto *heap = implOf(this);
  std::lock_guard lock(heap->mutex);
  return heap->used;
}

} // namespace MTL
