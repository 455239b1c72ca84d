// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "metal/CommandEncoder.h"
#include <Metal/MTLBlitCommandEncoder.hpp>
#include <Metal/MTLBlitPass.hpp>

namespace pewter::metal {

class Buffer;

class BlitCommandEncoder final : public MTL::BlitCommandEncoder, public EncoderBase {
public:
  static MTL::BlitCommandEncoder *make(CommandBuffer *buffer, const MTL::BlitPassDescriptor *pass);
  const char *className() const override { return "MTLBlitCommandEncoder"; }
  using EncoderBase::label;
  using EncoderBase::popDebugGroup;
  using EncoderBase::pushDebugGroup;

  void *facet() override { return static_cast<EncoderBase *>(this); }
  void dispose() override;

  /// False, and a misuse, when [offset, offset + length) is not in the buffer.
  bool rangeFits(const char *call, const char *what, Buffer *bound, uint64_t offset,
                 uint64_t length);
  void copy(ResourceBase &source, uint64_t sourceOffset, ResourceBase &destination,
            uint64_t destinationOffset, uint64_t length);

  struct HostRows { ///< How the texels lie in a buffer.
    Buffer *buffer;
    uint64_t offset, bytesPerRow, bytesPerImage;
  };
  void copyTexels(const char *call, const HostRows &rows, const MTL::Texture *texture,
                  NS::UInteger slice, NS::UInteger level, const MTL::Origin &origin,
                  const MTL::Size &size, bool toTexture);
};

inline BlitCommandEncoder *implOf(const MTL::BlitCommandEncoder *encoder) {
  return static_cast<BlitCommandEncoder *>(const_cast<MTL::BlitCommandEncoder *>(encoder));
}

} // namespace pewter::metal
