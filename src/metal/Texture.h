// SPDX-License-Identifier: Apache-2.0
//
// Texture: texels in linear rows, in memory of its own, of a heap, or of a buffer. Kernels get its
// device::TextureView.
#pragma once
#include "device/TextureView.h"
#include "metal/Buffer.h"
#include "metal/Resource.h"
#include <Metal/MTLTexture.hpp>
#include <optional>

namespace pewter::metal {

class TextureDescriptor final : public MTL::TextureDescriptor {
public:
  const char *className() const override { return "MTLTextureDescriptor"; }
  Root *makeCopy() const override;

  struct Values {
    MTL::TextureType textureType = MTL::TextureType2D;
    MTL::PixelFormat pixelFormat = MTL::PixelFormatRGBA8Unorm;
    NS::UInteger width = 1, height = 1, depth = 1;
    NS::UInteger mipmapLevelCount = 1, sampleCount = 1, arrayLength = 1;
    MTL::ResourceOptions resourceOptions = 0;
    MTL::TextureUsage usage = MTL::TextureUsageShaderRead;
    bool allowGPUOptimizedContents = true;
    MTL::TextureCompressionType compressionType = MTL::TextureCompressionTypeLossless;
    MTL::TextureSwizzleChannels swizzle;
    MTL::SparsePageSize placementSparsePageSize{};
  } values;
};

class TextureViewDescriptor final : public MTL::TextureViewDescriptor {
public:
  const char *className() const override { return "MTLTextureViewDescriptor"; }
  Root *makeCopy() const override;
  struct Values {
    MTL::PixelFormat pixelFormat = MTL::PixelFormatInvalid;
    MTL::TextureType textureType = MTL::TextureType2D;
    NS::Range levelRange{0, 1}, sliceRange{0, 1};
    MTL::TextureSwizzleChannels swizzle;
  } values;
};

class Texture final : public MTL::Texture, public ResourceBase {
public:
  Texture() { kindName = "texture"; }
  using ResourceBase::contents;
  using ResourceBase::device;
  using ResourceBase::heap;
  using ResourceBase::label;
  using ResourceBase::length;
  using ResourceBase::storageMode;

  const char *className() const override { return "MTLTexture"; }
  void *facet() override { return static_cast<ResourceBase *>(this); }

  TextureDescriptor::Values values;
  std::shared_ptr<const device::TextureView> shape; ///< In the device's descriptor pool.
  uint64_t shapeAddress = 0;                        ///< Where kernels find it.
  foundation::Ref<Buffer> buffer; ///< Whose bytes these are, for Buffer::newTexture.
  foundation::Ref<Texture> parent;
  NS::UInteger parentLevel = 0, parentSlice = 0;
};

inline Texture *implOf(const MTL::Texture *texture) {
  return static_cast<Texture *>(const_cast<MTL::Texture *>(texture));
}
inline TextureDescriptor *implOf(const MTL::TextureDescriptor *descriptor) {
  return static_cast<TextureDescriptor *>(const_cast<MTL::TextureDescriptor *>(descriptor));
}
inline TextureViewDescriptor *implOf(const MTL::TextureViewDescriptor *descriptor) {
  return static_cast<TextureViewDescriptor *>(const_cast<MTL::TextureViewDescriptor *>(descriptor));
}

MTL::Texture *newTextureOnBuffer(Buffer *buffer, const MTL::TextureDescriptor *descriptor,
                                 NS::UInteger offset, NS::UInteger bytesPerRow);
MTL::Texture *newTextureInHeap(Heap *heap, const MTL::TextureDescriptor *descriptor,
                               std::optional<NS::UInteger> offset);

/// The bytes of one texel row range of a texture that a copy names; an error names what does not
/// fit.
struct TexelBlock {
  uint64_t offset = 0; ///< In the texture's memory, of the first texel.
  uint64_t bytesPerRow = 0, bytesPerImage = 0;
};
Result<TexelBlock> blockOf(const Texture &texture, NS::UInteger slice, NS::UInteger level,
                           const MTL::Origin &origin, const MTL::Size &size);

} // namespace pewter::metal
