// SPDX-License-Identifier: Apache-2.0
//
// A copy between a buffer and a texture is one buffer copy for each row of texels, or for each
// image when the rows lie alike on both sides. Tested by tests/api/BlitEncoder_test.cpp.
#include "metal/BlitCommandEncoder.h"
#include "metal/Buffer.h"
#include "metal/Counters.h"
#include "metal/Device.h"
#include "metal/IndirectCommandBuffer.h"
#include "metal/Texture.h"
#include <algorithm>

namespace pewter::metal {

MTL::BlitCommandEncoder *BlitCommandEncoder::make(CommandBuffer *buffer,
                                                  const MTL::BlitPassDescriptor *pass) {
  if (!buffer->canRecord("CommandBuffer::blitCommandEncoder"))
    return nullptr;
  BlitCommandEncoder *encoder = buffer->queue->blitEncoders.take();
  if (!encoder)
    encoder = new BlitCommandEncoder();
  encoder->references.store(1, std::memory_order_relaxed);
  encoder->open(buffer, "BlitCommandEncoder", device::EncoderKind::Blit, /*concurrent=*/false);
  if (pass)
    for (NS::UInteger i = 0; i < kPassSampleAttachments; ++i)
      if (auto *attachment = pass->sampleBufferAttachments()->object(i))
        encoder->samplePass(attachment->sampleBuffer(), attachment->startOfEncoderSampleIndex(),
                            attachment->endOfEncoderSampleIndex());
  return foundation::autoreleased(encoder);
}

void BlitCommandEncoder::dispose() {
  close();
  auto commands = std::move(buffer);
  commands->queue->blitEncoders.put(this);
}

bool BlitCommandEncoder::rangeFits(const char *call, const char *what, Buffer *bound,
                                   uint64_t offset, uint64_t length) {
  if (!bound) {
    misuse(call, "{} is null.", what);
    return false;
  }
  if (bound->device != owner) {
    misuse(call, "{} ({}) belongs to another device.", what, bound->describe());
    return false;
  }
  if (offset > bound->length || length > bound->length - offset) {
    misuse(call, "{} bytes at offset ({}) end past the {} bytes of {} ({}).", length, offset,
           bound->length, what, bound->describe());
    return false;
  }
  return true;
}

void BlitCommandEncoder::copy(ResourceBase &source, uint64_t sourceOffset,
                              ResourceBase &destination, uint64_t destinationOffset,
                              uint64_t length) {
  keep(source);
  keep(destination);
  auto *command = stream->append<device::CopyBufferCommand>(device::CommandKind::CopyBuffer);
  command->source = source.memory.get();
  command->sourceOffset = sourceOffset;
  command->destination = destination.memory.get();
  command->destinationOffset = destinationOffset;
  command->length = length;
}

void BlitCommandEncoder::copyTexels(const char *call, const HostRows &rows,
                                    const MTL::Texture *target, NS::UInteger slice,
                                    NS::UInteger level, const MTL::Origin &origin,
                                    const MTL::Size &size, bool toTexture) {
  if (!checkOpen(call))
    return;
  if (!target)
    return misuse(call, "the texture is null.");
  Texture &texture = *implOf(target);
  auto block = blockOf(texture, slice, level, origin, size);
  if (!block)
    return misuse(call, "{}", block.error().message());
  if (size.width == 0 || size.height == 0 || size.depth == 0)
    return misuse(call, "size ({}, {}, {}) has an extent of 0.", NS::UInteger(size.width),
                  NS::UInteger(size.height), NS::UInteger(size.depth));
  uint64_t rowBytes = size.width * texture.shape->bytesPerTexel;
  uint64_t bytesPerRow = size.height == 1 && rows.bytesPerRow == 0 ? rowBytes : rows.bytesPerRow;
  uint64_t bytesPerImage =
      size.depth == 1 && rows.bytesPerImage == 0 ? bytesPerRow * size.height : rows.bytesPerImage;
  if (bytesPerRow < rowBytes || (size.depth > 1 && bytesPerImage < bytesPerRow * size.height))
    return misuse(call,
                  "bytesPerRow ({}) is below the {} bytes of a row, or bytesPerImage ({}) is "
                  "below {}.",
                  bytesPerRow, rowBytes, bytesPerImage, bytesPerRow * size.height);
  uint64_t span = (size.depth - 1) * bytesPerImage + (size.height - 1) * bytesPerRow + rowBytes;
  if (!rangeFits(call, "the buffer", rows.buffer, rows.offset, span))
    return;
  bool alike = bytesPerRow == block->bytesPerRow && rowBytes == bytesPerRow;
  uint64_t runs = alike ? 1 : size.height, runBytes = alike ? rowBytes * size.height : rowBytes;
  for (uint64_t z = 0; z < size.depth; ++z)
    for (uint64_t y = 0; y < runs; ++y) {
      uint64_t inBuffer = rows.buffer->offset + rows.offset + z * bytesPerImage + y * bytesPerRow;
      uint64_t inTexture = block->offset + z * block->bytesPerImage + y * block->bytesPerRow;
      if (toTexture)
        copy(*rows.buffer, inBuffer, texture, inTexture, runBytes);
      else
        copy(texture, inTexture, *rows.buffer, inBuffer, runBytes);
    }
}

namespace {

void copyTextures(BlitCommandEncoder &encoder, const MTL::Texture *from, NS::UInteger fromSlice,
                  NS::UInteger fromLevel, const MTL::Origin &fromOrigin, const MTL::Size &size,
                  const MTL::Texture *to, NS::UInteger toSlice, NS::UInteger toLevel,
                  const MTL::Origin &toOrigin) {
  constexpr const char *kCall = "copyFromTexture";
  if (!encoder.checkOpen(kCall))
    return;
  if (!from || !to)
    return encoder.misuse(kCall, "the {} texture is null.", from ? "destination" : "source");
  Texture &source = *implOf(from), &destination = *implOf(to);
  if (source.shape->bytesPerTexel != destination.shape->bytesPerTexel)
    return encoder.misuse(kCall, "texels of {} have {} bytes, those of {} have {}.",
                          source.describe(), source.shape->bytesPerTexel, destination.describe(),
                          destination.shape->bytesPerTexel);
  auto a = blockOf(source, fromSlice, fromLevel, fromOrigin, size);
  auto b = blockOf(destination, toSlice, toLevel, toOrigin, size);
  if (!a || !b)
    return encoder.misuse(kCall, "{}", a ? b.error().message() : a.error().message());
  uint64_t rowBytes = size.width * source.shape->bytesPerTexel;
  for (uint64_t z = 0; z < size.depth; ++z)
    for (uint64_t y = 0; y < size.height; ++y)
      encoder.copy(source, a->offset + z * a->bytesPerImage + y * a->bytesPerRow, destination,
                   b->offset + z * b->bytesPerImage + y * b->bytesPerRow, rowBytes);
}

MTL::Size sizeOfLevel(const Texture &texture, NS::UInteger level) {
  auto &shape = texture.shape->levels[level];
  return MTL::Size(shape.width, shape.height, shape.depth);
}

} // namespace
} // namespace pewter::metal

using pewter::metal::implOf;

namespace MTL {

void BlitCommandEncoder::copyFromBuffer(const Buffer *sourceBuffer, NS::UInteger sourceOffset,
                                        const Buffer *destinationBuffer,
                                        NS::UInteger destinationOffset, NS::UInteger size) {
  constexpr const char *kCall = "copyFromBuffer";
  auto *encoder = implOf(this);
  auto *source = implOf(sourceBuffer), *destination = implOf(destinationBuffer);
  if (!encoder->checkOpen(kCall) ||
      !encoder->rangeFits(kCall, "sourceBuffer", source, sourceOffset, size) ||
      !encoder->rangeFits(kCall, "destinationBuffer", destination, destinationOffset, size))
    return;
  uint64_t from = source->offset + sourceOffset, to = destination->offset + destinationOffset;
  if (source->memory == destination->memory && from < to + size && to < from + size && size)
    return encoder->misuse(kCall, "the ranges ({} bytes at {} and {}) of {} overlap.", size,
                           sourceOffset, destinationOffset, source->describe());
  if (size)
    encoder->copy(*source, from, *destination, to, size);
}
void BlitCommandEncoder::copyFromBuffer(const Buffer *sourceBuffer, NS::UInteger sourceOffset,
                                        NS::UInteger sourceBytesPerRow,
                                        NS::UInteger sourceBytesPerImage, Size sourceSize,
                                        const Texture *destinationTexture,
                                        NS::UInteger destinationSlice,
                                        NS::UInteger destinationLevel, Origin destinationOrigin) {
  implOf(this)->copyTexels(
      "copyFromBuffer",
      {implOf(sourceBuffer), sourceOffset, sourceBytesPerRow, sourceBytesPerImage},
      destinationTexture, destinationSlice, destinationLevel, destinationOrigin, sourceSize,
      /*toTexture=*/true);
}
void BlitCommandEncoder::copyFromBuffer(const Buffer *sourceBuffer, NS::UInteger sourceOffset,
                                        NS::UInteger sourceBytesPerRow,
                                        NS::UInteger sourceBytesPerImage, Size sourceSize,
                                        const Texture *destinationTexture,
                                        NS::UInteger destinationSlice,
                                        NS::UInteger destinationLevel, Origin destinationOrigin,
                                        BlitOption options) {
  if (options != BlitOptionNone)
    return implOf(this)->unsupported("copyFromBuffer", "blit options are not supported.");
  copyFromBuffer(sourceBuffer, sourceOffset, sourceBytesPerRow, sourceBytesPerImage, sourceSize,
                 destinationTexture, destinationSlice, destinationLevel, destinationOrigin);
}
void BlitCommandEncoder::copyFromTexture(const Texture *sourceTexture, NS::UInteger sourceSlice,
                                         NS::UInteger sourceLevel, Origin sourceOrigin,
                                         Size sourceSize, const Buffer *destinationBuffer,
                                         NS::UInteger destinationOffset,
                                         NS::UInteger destinationBytesPerRow,
                                         NS::UInteger destinationBytesPerImage) {
  implOf(this)->copyTexels("copyFromTexture",
                           {implOf(destinationBuffer), destinationOffset, destinationBytesPerRow,
                            destinationBytesPerImage},
                           sourceTexture, sourceSlice, sourceLevel, sourceOrigin, sourceSize,
                           /*toTexture=*/false);
}
void BlitCommandEncoder::copyFromTexture(const Texture *sourceTexture, NS::UInteger sourceSlice,
                                         NS::UInteger sourceLevel, Origin sourceOrigin,
                                         Size sourceSize, const Buffer *destinationBuffer,
                                         NS::UInteger destinationOffset,
                                         NS::UInteger destinationBytesPerRow,
                                         NS::UInteger destinationBytesPerImage,
                                         BlitOption options) {
  if (options != BlitOptionNone)
    return implOf(this)->unsupported("copyFromTexture", "blit options are not supported.");
  copyFromTexture(sourceTexture, sourceSlice, sourceLevel, sourceOrigin, sourceSize,
                  destinationBuffer, destinationOffset, destinationBytesPerRow,
                  destinationBytesPerImage);
}
void BlitCommandEncoder::copyFromTexture(const Texture *sourceTexture, NS::UInteger sourceSlice,
                                         NS::UInteger sourceLevel, Origin sourceOrigin,
                                         Size sourceSize, const Texture *destinationTexture,
                                         NS::UInteger destinationSlice,
                                         NS::UInteger destinationLevel, Origin destinationOrigin) {
  pewter::metal::copyTextures(*implOf(this), sourceTexture, sourceSlice, sourceLevel, sourceOrigin,
                              sourceSize, destinationTexture, destinationSlice, destinationLevel,
                              destinationOrigin);
}
void BlitCommandEncoder::copyFromTexture(const Texture *sourceTexture, NS::UInteger sourceSlice,
                                         NS::UInteger sourceLevel,
                                         const Texture *destinationTexture,
                                         NS::UInteger destinationSlice,
                                         NS::UInteger destinationLevel, NS::UInteger sliceCount,
                                         NS::UInteger levelCount) {
  auto *encoder = implOf(this);
  if (!encoder->checkOpen("copyFromTexture"))
    return;
  if (!sourceTexture || !destinationTexture ||
      sourceLevel + levelCount > implOf(sourceTexture)->shape->levelCount)
    return encoder->misuse("copyFromTexture",
                           "a texture is null, or levels ({} + {}) are not all in the source.",
                           sourceLevel, levelCount);
  for (NS::UInteger slice = 0; slice < sliceCount; ++slice)
    for (NS::UInteger level = 0; level < levelCount; ++level)
      copyFromTexture(sourceTexture, sourceSlice + slice, sourceLevel + level, Origin(0, 0, 0),
                      pewter::metal::sizeOfLevel(*implOf(sourceTexture), sourceLevel + level),
                      destinationTexture, destinationSlice + slice, destinationLevel + level,
                      Origin(0, 0, 0));
}
void BlitCommandEncoder::copyFromTexture(const Texture *sourceTexture,
                                         const Texture *destinationTexture) {
  auto *encoder = implOf(this);
  if (!encoder->checkOpen("copyFromTexture"))
    return;
  if (!sourceTexture || !destinationTexture)
    return encoder->misuse("copyFromTexture", "a texture is null.");
  auto &a = *implOf(sourceTexture)->shape, &b = *implOf(destinationTexture)->shape;
  copyFromTexture(sourceTexture, 0, 0, destinationTexture, 0, 0,
                  std::min(a.sliceCount, b.sliceCount), std::min(a.levelCount, b.levelCount));
}
void BlitCommandEncoder::fillBuffer(const Buffer *buffer, NS::Range range, uint8_t value) {
  auto *encoder = implOf(this);
  auto *bound = implOf(buffer);
  if (!encoder->checkOpen("fillBuffer") ||
      !encoder->rangeFits("fillBuffer", "buffer", bound, range.location, range.length) ||
      range.length == 0)
    return;
  encoder->keep(*bound);
  using namespace pewter::device;
  auto *command = encoder->stream->append<FillBufferCommand>(CommandKind::FillBuffer);
  command->destination = bound->memory.get();
  command->offset = bound->offset + range.location;
  command->length = range.length;
  command->value = value;
}
void BlitCommandEncoder::generateMipmaps(const Texture *texture) {
  auto *encoder = implOf(this);
  if (!encoder->checkOpen("generateMipmaps"))
    return;
  if (texture && texture->mipmapLevelCount() > 1)
    encoder->unsupported("generateMipmaps");
}
void BlitCommandEncoder::getTextureAccessCounters(const Texture *, Region, NS::UInteger,
                                                  NS::UInteger, bool, const Buffer *,
                                                  NS::UInteger) {
  implOf(this)->unsupported("getTextureAccessCounters");
}
void BlitCommandEncoder::resetTextureAccessCounters(const Texture *, Region, NS::UInteger,
                                                    NS::UInteger) {
  implOf(this)->unsupported("resetTextureAccessCounters");
}

// Texels have one layout and memory is coherent: there is nothing to optimise or synchronise.
void BlitCommandEncoder::optimizeContentsForCPUAccess(const Texture *) {
  implOf(this)->checkOpen("optimizeContentsForCPUAccess");
}
void BlitCommandEncoder::optimizeContentsForCPUAccess(const Texture *, NS::UInteger, NS::UInteger) {
  implOf(this)->checkOpen("optimizeContentsForCPUAccess");
}
void BlitCommandEncoder::optimizeContentsForGPUAccess(const Texture *) {
  implOf(this)->checkOpen("optimizeContentsForGPUAccess");
}
void BlitCommandEncoder::optimizeContentsForGPUAccess(const Texture *, NS::UInteger, NS::UInteger) {
  implOf(this)->checkOpen("optimizeContentsForGPUAccess");
}
void BlitCommandEncoder::synchronizeResource(const Resource *resource) {
  auto *encoder = implOf(this);
  if (!encoder->checkOpen("synchronizeResource"))
    return;
  if (!resource)
    return encoder->misuse("synchronizeResource", "resource is null.");
  if (resource->storageMode() == StorageModePrivate)
    encoder->misuse("synchronizeResource", "{} has private storage, which has no host copy.",
                    pewter::metal::baseOf(resource)->describe());
}
void BlitCommandEncoder::synchronizeTexture(const Texture *texture, NS::UInteger, NS::UInteger) {
  synchronizeResource(texture);
}

void BlitCommandEncoder::copyIndirectCommandBuffer(const IndirectCommandBuffer *source,
                                                   NS::Range sourceRange,
                                                   const IndirectCommandBuffer *destination,
                                                   NS::UInteger destinationIndex) {
  implOf(this)->unsupported("copyIndirectCommandBuffer");
}
void BlitCommandEncoder::optimizeIndirectCommandBuffer(const IndirectCommandBuffer *, NS::Range) {
  implOf(this)->checkOpen("optimizeIndirectCommandBuffer");
}
void BlitCommandEncoder::resetCommandsInBuffer(const IndirectCommandBuffer *buffer,
                                               NS::Range range) {
  implOf(this)->unsupported("resetCommandsInBuffer",
                            "is not supported; IndirectCommandBuffer::reset is.");
}

void BlitCommandEncoder::resolveCounters(const CounterSampleBuffer *, NS::Range, const Buffer *,
                                         NS::UInteger) {
  implOf(this)->unsupported("resolveCounters",
                            "is not supported; CounterSampleBuffer::resolveCounterRange is.");
}
void BlitCommandEncoder::sampleCountersInBuffer(const CounterSampleBuffer *sampleBuffer,
                                                NS::UInteger sampleIndex, bool) {
  implOf(this)->sampleCounters("sampleCountersInBuffer", sampleBuffer, sampleIndex);
}
void BlitCommandEncoder::updateFence(const Fence *fence) {
  implOf(this)->fence(pewter::device::CommandKind::UpdateFence, fence);
}
void BlitCommandEncoder::waitForFence(const Fence *fence) {
  implOf(this)->fence(pewter::device::CommandKind::WaitFence, fence);
}

} // namespace MTL
