// SPDX-License-Identifier: Apache-2.0
//
// Buffer: a run of bytes that kernels and blits address.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"
#include "MTLGPUAddress.hpp"
#include "MTLResource.hpp"

namespace MTL {

class Texture;
class TextureDescriptor;

/// Made by Device::newBuffer or Heap::newBuffer. `contents()` is null for private memory. Any
/// thread may use one; what the host and the device do to its bytes at the same time is the
/// caller's to order.
class _MTL_EXPORT Buffer : public NS::Referencing<Buffer, Resource> {
public:
  void addDebugMarker(const NS::String *marker, NS::Range range);
  void *contents();
  void didModifyRange(NS::Range range);
  GPUAddress gpuAddress() const;
  NS::UInteger length() const;
  Texture *newTexture(const TextureDescriptor *descriptor, NS::UInteger offset,
                      NS::UInteger bytesPerRow);
  void removeAllDebugMarkers();
  BufferSparseTier sparseBufferTier() const;
};

} // namespace MTL
