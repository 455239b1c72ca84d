// SPDX-License-Identifier: Apache-2.0
//
// Layout: rows are padded to 16 bytes; the levels of a slice follow each other; slices follow
// slices. Multisampled, compressed, depth and sparse textures do not exist here. Tested by
// tests/api/KernelTextures_test.cpp.
#include "metal/Texture.h"
#include "metal/Device.h"
#include "metal/Heap.h"
#include "metal/PixelFormat.h"
#include "metal/Property.h"
#include "metal/Validation.h"
#include <algorithm>
#include <bit>
#include <cstring>

namespace pewter::metal {
namespace {

using Values = TextureDescriptor::Values;
constexpr uint64_t kRowAlignment = 16;

uint64_t aligned(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

NS::UInteger facesOf(MTL::TextureType type) {
  return type == MTL::TextureTypeCube || type == MTL::TextureTypeCubeArray ? 6 : 1;
}

Result<void> check(const Values &v) {
  switch (v.textureType) {
  case MTL::TextureType2DMultisample:
  case MTL::TextureType2DMultisampleArray:
    return fail(ErrorKind::Unsupported, "multisampled textures are not supported.");
  default:
    break;
  }
  if (v.sampleCount != 1)
    return fail(ErrorKind::Unsupported, "sampleCount ({}) is not 1.", v.sampleCount);
  if (bytesPerTexel(v.pixelFormat) == 0)
    return fail(ErrorKind::Unsupported, "pixel format ({}) is not supported.",
                static_cast<NS::UInteger>(v.pixelFormat));
  bool isBuffer = v.textureType == MTL::TextureTypeTextureBuffer;
  NS::UInteger widest = isBuffer ? NS::UInteger(1) << 28 : 16384;
  if (v.width == 0 || v.width > widest || v.height == 0 || v.height > 16384 || v.depth == 0 ||
      v.depth > 2048 || v.arrayLength == 0 || v.arrayLength > 2048)
    return fail(ErrorKind::Validation,
                "size ({} x {} x {}, {} slices) is not within 1 and the limits ({} x 16384 x 2048, "
                "2048 slices).",
                v.width, v.height, v.depth, v.arrayLength, widest);
  NS::UInteger longest = std::max({v.width, v.height, v.depth});
  NS::UInteger mostLevels = std::bit_width(longest);
  if (v.mipmapLevelCount == 0 || v.mipmapLevelCount > std::min<NS::UInteger>(mostLevels, 16))
    return fail(ErrorKind::Validation, "mipmapLevelCount ({}) is not between 1 and {}.",
                v.mipmapLevelCount, mostLevels);
  return {};
}

void setSwizzle(device::TextureView &view, const MTL::TextureSwizzleChannels &swizzle) {
  view.swizzle[0] = static_cast<uint8_t>(swizzle.red);
  view.swizzle[1] = static_cast<uint8_t>(swizzle.green);
  view.swizzle[2] = static_cast<uint8_t>(swizzle.blue);
  view.swizzle[3] = static_cast<uint8_t>(swizzle.alpha);
  view.hasSwizzle = 0;
  for (uint8_t i = 0; i < 4; ++i)
    view.hasSwizzle |= view.swizzle[i] != MTL::TextureSwizzleRed + i;
}

/// Puts `view` where kernels can read it; the texture's address must be in it.
Result<void> publish(Texture &texture, const device::TextureView &view) {
  static_assert(sizeof(view) <= DescriptorPool::kPlaceBytes);
  PEWTER_TRY(Descriptor place, texture.device->descriptors.take(sizeof(view)));
  texture.shape = std::shared_ptr<const device::TextureView>(
      place.owner(), new (place.contents()) device::TextureView(view));
  texture.shapeAddress = place.deviceAddress();
  return {};
}

/// Where the texels are, from the start of the texture; the address is filled in later.
device::TextureView layOut(const Values &v, uint64_t bytesPerRow) {
  device::TextureView view{};
  view.type = static_cast<uint32_t>(v.textureType);
  describeTexels(view, v.pixelFormat);
  view.sliceCount = static_cast<uint32_t>(v.arrayLength * facesOf(v.textureType));
  view.levelCount = static_cast<uint32_t>(v.mipmapLevelCount);
  setSwizzle(view, v.swizzle);
  uint64_t at = 0;
  for (uint32_t i = 0; i < view.levelCount; ++i) {
    auto &level = view.levels[i];
    level.width = std::max<uint32_t>(1, static_cast<uint32_t>(v.width >> i));
    level.height = std::max<uint32_t>(1, static_cast<uint32_t>(v.height >> i));
    level.depth = std::max<uint32_t>(1, static_cast<uint32_t>(v.depth >> i));
    level.offset = at;
    level.bytesPerRow = bytesPerRow
                            ? bytesPerRow
                            : aligned(uint64_t(level.width) * view.bytesPerTexel, kRowAlignment);
    level.bytesPerImage = level.bytesPerRow * level.height;
    at += level.bytesPerImage * level.depth;
  }
  view.bytesPerSlice = at;
  return view;
}

/// Reports why a texture cannot be made.
MTL::Texture *refuse(const char *call, Error error) {
  reportMisuse(Error(error.kind(), fmt::format("{}: {}", call, error.message())));
  return nullptr;
}

Texture *makeTexture(Device *device, const Values &v, std::shared_ptr<device::Memory> memory,
                     uint64_t offset, device::TextureView view) {
  auto *texture = new Texture();
  texture->device = device;
  texture->memory = std::move(memory);
  texture->offset = offset;
  texture->length = view.bytesPerSlice * view.sliceCount;
  texture->options = v.resourceOptions;
  texture->values = v;
  view.address = texture->address();
  if (auto published = publish(*texture, view); !published) {
    texture->release();
    refuse("Device::newTexture", published.error());
    return nullptr;
  }
  return texture;
}

} // namespace

NS::detail::Root *TextureDescriptor::makeCopy() const {
  auto *copy = new TextureDescriptor();
  copy->values = values;
  return copy;
}
NS::detail::Root *TextureViewDescriptor::makeCopy() const {
  auto *copy = new TextureViewDescriptor();
  copy->values = values;
  return copy;
}

MTL::Texture *newTextureOnBuffer(Buffer *buffer, const MTL::TextureDescriptor *descriptor,
                                 NS::UInteger offset, NS::UInteger bytesPerRow) {
  constexpr const char *kCall = "Buffer::newTexture";
  const Values &v = implOf(descriptor)->values;
  if (auto checked = check(v); !checked)
    return refuse(kCall, checked.error());
  bool flat = v.textureType == MTL::TextureType2D || v.textureType == MTL::TextureType1D ||
              v.textureType == MTL::TextureTypeTextureBuffer;
  if (!flat || v.arrayLength != 1 || v.mipmapLevelCount != 1 || v.depth != 1)
    return refuse(kCall, {ErrorKind::Validation,
                          "a texture on a buffer is 1D, 2D or a texture buffer, with one level."});
  uint64_t least = v.width * bytesPerTexel(v.pixelFormat);
  if (v.height == 1 && bytesPerRow == 0)
    bytesPerRow = aligned(least, kRowAlignment);
  if (bytesPerRow < least || offset % kRowAlignment != 0 || bytesPerRow % kRowAlignment != 0)
    return refuse(kCall, {ErrorKind::Validation,
                          fmt::format("bytesPerRow ({}) is below {}, or it or offset ({}) is not a "
                                      "multiple of {}.",
                                      bytesPerRow, least, offset, kRowAlignment)});
  device::TextureView view = layOut(v, bytesPerRow);
  uint64_t needed = bytesPerRow * (v.height - 1) + least;
  if (offset > buffer->length || needed > buffer->length - offset)
    return refuse(kCall, {ErrorKind::Validation,
                          fmt::format("{} bytes at offset ({}) end past the {} bytes of {}.",
                                      needed, offset, buffer->length, buffer->describe())});
  Values own = v;
  own.resourceOptions = buffer->options;
  Texture *texture =
      makeTexture(buffer->device, own, buffer->memory, buffer->offset + offset, view);
  if (!texture)
    return nullptr;
  texture->buffer = foundation::share(buffer);
  return texture;
}

MTL::Texture *newTextureInHeap(Heap *heap, const MTL::TextureDescriptor *descriptor,
                               std::optional<NS::UInteger> offset) {
  constexpr const char *kCall = "Heap::newTexture";
  const Values &v = implOf(descriptor)->values;
  if (auto checked = check(v); !checked)
    return refuse(kCall, checked.error());
  device::TextureView view = layOut(v, 0);
  uint64_t room = aligned(view.bytesPerSlice * view.sliceCount, kHeapAlignment);
  if (offset.has_value() != (heap->type == MTL::HeapTypePlacement))
    return refuse(kCall, {ErrorKind::Validation, "an offset belongs to placement heaps alone."});
  if (offset &&
      (*offset % kHeapAlignment != 0 || *offset > heap->size || room > heap->size - *offset))
    return refuse(kCall, {ErrorKind::Validation,
                          fmt::format("offset ({}) is not a multiple of {}, or {} bytes there end "
                                      "past the {} bytes of the heap.",
                                      *offset, kHeapAlignment, room, heap->size)});
  if (offset) {
    std::lock_guard lock(heap->mutex);
    heap->used += room;
  } else {
    auto taken = heap->take(room, kHeapAlignment);
    if (!taken)
      return nullptr; // Full: Metal gives null without a message.
    offset = *taken;
  }
  Values own = v;
  own.resourceOptions = heap->options;
  Texture *texture = makeTexture(heap->device, own, heap->memory, *offset, view);
  if (!texture)
    return nullptr;
  texture->heap = foundation::share(heap);
  texture->heapLength = room;
  return texture;
}

Result<TexelBlock> blockOf(const Texture &texture, NS::UInteger slice, NS::UInteger level,
                           const MTL::Origin &origin, const MTL::Size &size) {
  const device::TextureView &view = *texture.shape;
  if (slice >= view.sliceCount || level >= view.levelCount)
    return fail(ErrorKind::Validation,
                "slice ({}) or level ({}) is not in {} ({} slices, {} levels).", slice, level,
                texture.describe(), view.sliceCount, view.levelCount);
  auto &shape = view.levels[level];
  auto past = [](NS::UInteger start, NS::UInteger extent, NS::UInteger limit) {
    return start > limit || extent > limit - start;
  };
  if (past(origin.x, size.width, shape.width) || past(origin.y, size.height, shape.height) ||
      past(origin.z, size.depth, shape.depth))
    return fail(ErrorKind::Validation,
                "region ({}, {}, {}) + ({}, {}, {}) ends past the {} x {} x {} texels of {}.",
                NS::UInteger(origin.x), NS::UInteger(origin.y), NS::UInteger(origin.z),
                NS::UInteger(size.width), NS::UInteger(size.height), NS::UInteger(size.depth),
                shape.width, shape.height, shape.depth, texture.describe());
  TexelBlock block;
  block.bytesPerRow = shape.bytesPerRow;
  block.bytesPerImage = shape.bytesPerImage;
  block.offset = texture.offset + slice * view.bytesPerSlice + shape.offset +
                 origin.z * shape.bytesPerImage + origin.y * shape.bytesPerRow +
                 origin.x * view.bytesPerTexel;
  return block;
}

namespace {

/// Moves texels between the host's rows and the texture's.
void transfer(Texture *texture, const char *call, const MTL::Region &region, NS::UInteger level,
              NS::UInteger slice, std::byte *bytes, NS::UInteger bytesPerRow,
              NS::UInteger bytesPerImage, bool toTexture) {
  if (texture->storageMode() == MTL::StorageModePrivate || !texture->contents() || !bytes) {
    misuse("{}: {} has private storage, or the bytes are null.", call, texture->describe());
    return;
  }
  auto block = blockOf(*texture, slice, level, region.origin, region.size);
  if (!block) {
    misuse("{}: {}", call, block.error().message());
    return;
  }
  uint64_t rowBytes = region.size.width * texture->shape->bytesPerTexel;
  if (bytesPerRow == 0 && region.size.height == 1)
    bytesPerRow = rowBytes;
  if (bytesPerRow < rowBytes) {
    misuse("{}: bytesPerRow ({}) is below the {} bytes of a row.", call, bytesPerRow, rowBytes);
    return;
  }
  auto *base = static_cast<std::byte *>(texture->memory->contents()) + block->offset;
  for (NS::UInteger z = 0; z < region.size.depth; ++z)
    for (NS::UInteger y = 0; y < region.size.height; ++y) {
      std::byte *inTexture = base + z * block->bytesPerImage + y * block->bytesPerRow;
      std::byte *outside = bytes + z * bytesPerImage + y * bytesPerRow;
      if (toTexture)
        std::memcpy(inTexture, outside, rowBytes);
      else
        std::memcpy(outside, inTexture, rowBytes);
    }
}

MTL::Texture *newView(Texture *texture, const TextureViewDescriptor::Values &v) {
  constexpr const char *kCall = "Texture::newTextureView";
  const device::TextureView &view = *texture->shape;
  if (bytesPerTexel(v.pixelFormat) != view.bytesPerTexel)
    return refuse(
        kCall, {ErrorKind::Validation,
                fmt::format("pixel format ({}) has texels of {} bytes, those of {} have {}.",
                            static_cast<NS::UInteger>(v.pixelFormat), bytesPerTexel(v.pixelFormat),
                            texture->describe(), view.bytesPerTexel)});
  if (v.levelRange.length == 0 || v.levelRange.Max() > view.levelCount ||
      v.sliceRange.length == 0 || v.sliceRange.Max() > view.sliceCount)
    return refuse(
        kCall, {ErrorKind::Validation,
                fmt::format("levels ({} + {}) or slices ({} + {}) are not all in {} ({} levels, "
                            "{} slices).",
                            NS::UInteger(v.levelRange.location), NS::UInteger(v.levelRange.length),
                            NS::UInteger(v.sliceRange.location), NS::UInteger(v.sliceRange.length),
                            texture->describe(), view.levelCount, view.sliceCount)});
  auto *made = new Texture();
  made->device = texture->device;
  made->memory = texture->memory;
  made->offset = texture->offset;
  made->length = texture->length;
  made->options = texture->options;
  made->values = texture->values;
  made->values.pixelFormat = v.pixelFormat;
  made->values.textureType = v.textureType;
  made->values.mipmapLevelCount = v.levelRange.length;
  made->values.arrayLength =
      std::max<NS::UInteger>(1, v.sliceRange.length / facesOf(v.textureType));
  made->values.swizzle = v.swizzle;
  made->parent = foundation::share(texture);
  made->parentLevel = v.levelRange.location;
  made->parentSlice = v.sliceRange.location;
  device::TextureView shape = view;
  describeTexels(shape, v.pixelFormat);
  shape.type = static_cast<uint32_t>(v.textureType);
  shape.address += v.sliceRange.location * view.bytesPerSlice;
  made->offset += v.sliceRange.location * view.bytesPerSlice;
  shape.sliceCount = static_cast<uint32_t>(v.sliceRange.length);
  shape.levelCount = static_cast<uint32_t>(v.levelRange.length);
  for (uint32_t i = 0; i < shape.levelCount; ++i)
    shape.levels[i] = view.levels[v.levelRange.location + i];
  made->values.width = shape.levels[0].width;
  made->values.height = shape.levels[0].height;
  made->values.depth = shape.levels[0].depth;
  setSwizzle(shape, v.swizzle);
  if (auto published = publish(*made, shape); !published) {
    made->release();
    return refuse(kCall, published.error());
  }
  return made;
}

} // namespace
} // namespace pewter::metal

using namespace pewter::metal;

PEWTER_ALLOC(TextureDescriptor)
PEWTER_ALLOC(TextureViewDescriptor)

#define implOf(object) (&implOf(object)->values)
PEWTER_VALUE(TextureDescriptor, TextureType, textureType, setTextureType)
PEWTER_VALUE(TextureDescriptor, PixelFormat, pixelFormat, setPixelFormat)
PEWTER_PLAIN(TextureDescriptor, NS::UInteger, width, setWidth)
PEWTER_PLAIN(TextureDescriptor, NS::UInteger, height, setHeight)
PEWTER_PLAIN(TextureDescriptor, NS::UInteger, depth, setDepth)
PEWTER_PLAIN(TextureDescriptor, NS::UInteger, mipmapLevelCount, setMipmapLevelCount)
PEWTER_PLAIN(TextureDescriptor, NS::UInteger, sampleCount, setSampleCount)
PEWTER_PLAIN(TextureDescriptor, NS::UInteger, arrayLength, setArrayLength)
PEWTER_VALUE(TextureDescriptor, ResourceOptions, resourceOptions, setResourceOptions)
PEWTER_VALUE(TextureDescriptor, TextureUsage, usage, setUsage)
PEWTER_PLAIN(TextureDescriptor, bool, allowGPUOptimizedContents, setAllowGPUOptimizedContents)
PEWTER_VALUE(TextureDescriptor, TextureCompressionType, compressionType, setCompressionType)
PEWTER_VALUE(TextureDescriptor, TextureSwizzleChannels, swizzle, setSwizzle)
PEWTER_VALUE(TextureDescriptor, SparsePageSize, placementSparsePageSize, setPlacementSparsePageSize)
PEWTER_VALUE(TextureViewDescriptor, PixelFormat, pixelFormat, setPixelFormat)
PEWTER_VALUE(TextureViewDescriptor, TextureType, textureType, setTextureType)
PEWTER_PLAIN(TextureViewDescriptor, NS::Range, levelRange, setLevelRange)
PEWTER_PLAIN(TextureViewDescriptor, NS::Range, sliceRange, setSliceRange)
PEWTER_VALUE(TextureViewDescriptor, TextureSwizzleChannels, swizzle, setSwizzle)
#undef implOf

namespace MTL {

CPUCacheMode TextureDescriptor::cpuCacheMode() const {
  return static_cast<CPUCacheMode>(resourceOptions() & 0xf);
}
void TextureDescriptor::setCpuCacheMode(CPUCacheMode mode) {
  setResourceOptions(optionsOf(storageMode(), mode, hazardTrackingMode()));
}
StorageMode TextureDescriptor::storageMode() const {
  return static_cast<StorageMode>((resourceOptions() >> 4) & 0xf);
}
void TextureDescriptor::setStorageMode(StorageMode mode) {
  setResourceOptions(optionsOf(mode, cpuCacheMode(), hazardTrackingMode()));
}
HazardTrackingMode TextureDescriptor::hazardTrackingMode() const {
  return static_cast<HazardTrackingMode>((resourceOptions() >> 8) & 3);
}
void TextureDescriptor::setHazardTrackingMode(HazardTrackingMode mode) {
  setResourceOptions(optionsOf(storageMode(), cpuCacheMode(), mode));
}

TextureDescriptor *TextureDescriptor::texture2DDescriptor(PixelFormat pixelFormat,
                                                          NS::UInteger width, NS::UInteger height,
                                                          bool mipmapped) {
  auto *descriptor = new pewter::metal::TextureDescriptor();
  descriptor->values.pixelFormat = pixelFormat;
  descriptor->values.width = width;
  descriptor->values.height = height;
  if (mipmapped)
    descriptor->values.mipmapLevelCount = std::bit_width(std::max(width, height));
  return pewter::foundation::autoreleased(descriptor);
}
TextureDescriptor *TextureDescriptor::textureBufferDescriptor(PixelFormat pixelFormat,
                                                              NS::UInteger width,
                                                              ResourceOptions resourceOptions,
                                                              TextureUsage usage) {
  TextureDescriptor *descriptor = texture2DDescriptor(pixelFormat, width, 1, false);
  auto &values = implOf(descriptor)->values;
  values.textureType = TextureTypeTextureBuffer;
  values.resourceOptions = resourceOptions;
  values.usage = usage;
  return descriptor;
}
TextureDescriptor *TextureDescriptor::textureCubeDescriptor(PixelFormat pixelFormat,
                                                            NS::UInteger size, bool mipmapped) {
  TextureDescriptor *descriptor = texture2DDescriptor(pixelFormat, size, size, mipmapped);
  implOf(descriptor)->values.textureType = TextureTypeCube;
  return descriptor;
}

Texture *Device::newTexture(const TextureDescriptor *descriptor) {
  constexpr const char *kCall = "Device::newTexture";
  auto *device = implOf(this);
  auto &values = implOf(descriptor)->values;
  if (auto checked = check(values); !checked)
    return refuse(kCall, checked.error());
  pewter::device::TextureView view = layOut(values, 0);
  auto memory = allocateFor(*device, view.bytesPerSlice * view.sliceCount, values.resourceOptions);
  if (!memory)
    return refuse(kCall, memory.error());
  return makeTexture(device, values, std::move(*memory), 0, view);
}
SizeAndAlign Device::heapTextureSizeAndAlign(const TextureDescriptor *desc) {
  auto &values = implOf(desc)->values;
  if (!check(values))
    return {0, kHeapAlignment};
  pewter::device::TextureView view = layOut(values, 0);
  return {aligned(view.bytesPerSlice * view.sliceCount, kHeapAlignment), kHeapAlignment};
}

bool Texture::allowGPUOptimizedContents() const {
  return implOf(this)->values.allowGPUOptimizedContents;
}
NS::UInteger Texture::arrayLength() const { return implOf(this)->values.arrayLength; }
Buffer *Texture::buffer() const { return implOf(this)->buffer.get(); }
NS::UInteger Texture::bufferBytesPerRow() const {
  return implOf(this)->buffer ? implOf(this)->shape->levels[0].bytesPerRow : 0;
}
NS::UInteger Texture::bufferOffset() const {
  auto *texture = implOf(this);
  return texture->buffer ? texture->offset - texture->buffer->offset : 0;
}
TextureCompressionType Texture::compressionType() const {
  return implOf(this)->values.compressionType;
}
NS::UInteger Texture::depth() const { return implOf(this)->values.depth; }
NS::UInteger Texture::firstMipmapInTail() const { return 0; }
bool Texture::framebufferOnly() const { return false; }
bool Texture::isFramebufferOnly() const { return false; }
void Texture::getBytes(void *pixelBytes, NS::UInteger bytesPerRow, Region region,
                       NS::UInteger level) {
  getBytes(pixelBytes, bytesPerRow, bytesPerRow * region.size.height, region, level, 0);
}
void Texture::getBytes(void *pixelBytes, NS::UInteger bytesPerRow, NS::UInteger bytesPerImage,
                       Region region, NS::UInteger level, NS::UInteger slice) {
  transfer(implOf(this), "Texture::getBytes", region, level, slice,
           static_cast<std::byte *>(pixelBytes), bytesPerRow, bytesPerImage, /*toTexture=*/false);
}
void Texture::replaceRegion(Region region, NS::UInteger level, const void *pixelBytes,
                            NS::UInteger bytesPerRow) {
  replaceRegion(region, level, 0, pixelBytes, bytesPerRow, bytesPerRow * region.size.height);
}
void Texture::replaceRegion(Region region, NS::UInteger level, NS::UInteger slice,
                            const void *pixelBytes, NS::UInteger bytesPerRow,
                            NS::UInteger bytesPerImage) {
  transfer(implOf(this), "Texture::replaceRegion", region, level, slice,
           static_cast<std::byte *>(const_cast<void *>(pixelBytes)), bytesPerRow, bytesPerImage,
           /*toTexture=*/true);
}
ResourceID Texture::gpuResourceID() const {
  return {implOf(this)->shapeAddress};
}
NS::UInteger Texture::height() const { return implOf(this)->values.height; }
NS::UInteger Texture::iosurfacePlane() const { return 0; }
NS::UInteger Texture::mipmapLevelCount() const { return implOf(this)->values.mipmapLevelCount; }
Texture *Texture::newTextureView(PixelFormat pixelFormat) {
  auto &shape = *implOf(this)->shape;
  return newTextureView(pixelFormat, textureType(), NS::Range(0, shape.levelCount),
                        NS::Range(0, shape.sliceCount));
}
Texture *Texture::newTextureView(const TextureViewDescriptor *descriptor) {
  return newView(implOf(this), implOf(descriptor)->values);
}
Texture *Texture::newTextureView(PixelFormat pixelFormat, TextureType textureType,
                                 NS::Range levelRange, NS::Range sliceRange) {
  return newTextureView(pixelFormat, textureType, levelRange, sliceRange, swizzle());
}
Texture *Texture::newTextureView(PixelFormat pixelFormat, TextureType textureType,
                                 NS::Range levelRange, NS::Range sliceRange,
                                 TextureSwizzleChannels swizzle) {
  return newView(implOf(this), {pixelFormat, textureType, levelRange, sliceRange, swizzle});
}
NS::UInteger Texture::parentRelativeLevel() const { return implOf(this)->parentLevel; }
NS::UInteger Texture::parentRelativeSlice() const { return implOf(this)->parentSlice; }
Texture *Texture::parentTexture() const { return implOf(this)->parent.get(); }
PixelFormat Texture::pixelFormat() const { return implOf(this)->values.pixelFormat; }
Resource *Texture::rootResource() const {
  auto *texture = implOf(this);
  if (texture->parent)
    return texture->parent.get();
  return texture->buffer.get();
}
NS::UInteger Texture::sampleCount() const { return 1; }
bool Texture::shareable() const { return false; }
bool Texture::isShareable() const { return false; }
bool Texture::isSparse() const { return false; }
TextureSparseTier Texture::sparseTextureTier() const { return TextureSparseTierNone; }
TextureSwizzleChannels Texture::swizzle() const { return implOf(this)->values.swizzle; }
NS::UInteger Texture::tailSizeInBytes() const { return 0; }
TextureType Texture::textureType() const { return implOf(this)->values.textureType; }
TextureUsage Texture::usage() const { return implOf(this)->values.usage; }
NS::UInteger Texture::width() const { return implOf(this)->values.width; }

} // namespace MTL
