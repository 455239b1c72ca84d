// SPDX-License-Identifier: Apache-2.0
// Tested by tests/api/Buffer_test.cpp.
#include "metal/Buffer.h"
#include "metal/Texture.h"
#include "metal/Validation.h"

using pewter::metal::implOf;

namespace MTL {

void Buffer::addDebugMarker(const NS::String *, NS::Range range) {
  auto *buffer = implOf(this);
  if (range.Max() > buffer->length)
    pewter::metal::misuse("Buffer::addDebugMarker: range ({} + {}) ends past the {} bytes of {}.",
                          NS::UInteger(range.location), NS::UInteger(range.length), buffer->length,
                          buffer->describe());
}
void Buffer::removeAllDebugMarkers() {}
void *Buffer::contents() {
  auto *buffer = implOf(this);
  return buffer->storageMode() == StorageModePrivate ? nullptr : buffer->contents();
}
void Buffer::didModifyRange(NS::Range range) {
  auto *buffer = implOf(this);
  if (buffer->storageMode() != StorageModeManaged)
    pewter::metal::misuse("Buffer::didModifyRange: {} is not managed.", buffer->describe());
  else if (range.Max() > buffer->length || range.Max() < range.location)
    pewter::metal::misuse("Buffer::didModifyRange: range ({} + {}) ends past the {} bytes of {}.",
                          NS::UInteger(range.location), NS::UInteger(range.length), buffer->length,
                          buffer->describe());
}
GPUAddress Buffer::gpuAddress() const { return implOf(this)->address(); }
NS::UInteger Buffer::length() const { return implOf(this)->length; }
Texture *Buffer::newTexture(const TextureDescriptor *descriptor, NS::UInteger offset,
                            NS::UInteger bytesPerRow) {
  return pewter::metal::newTextureOnBuffer(implOf(this), descriptor, offset, bytesPerRow);
}
BufferSparseTier Buffer::sparseBufferTier() const { return BufferSparseTierNone; }

} // namespace MTL
