// SPDX-License-Identifier: Apache-2.0
//
// ArgumentEncoder: writes the members of an argument buffer.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class Buffer;
class ComputePipelineState;
class Device;
class IndirectCommandBuffer;
class SamplerState;
class Texture;
class VisibleFunctionTable;

/// Knows the layout of one struct of pointers and constants. A buffer member holds the buffer's
/// gpuAddress plus its offset.
class _MTL_EXPORT ArgumentEncoder : public NS::Referencing<ArgumentEncoder> {
public:
  NS::UInteger alignment() const;
  void setArgumentBuffer(const Buffer *argumentBuffer, NS::UInteger offset);
  void setArgumentBuffer(const Buffer *argumentBuffer, NS::UInteger startOffset,
                         NS::UInteger arrayElement);
  void setBuffer(const Buffer *buffer, NS::UInteger offset, NS::UInteger index);
  void setBuffers(const Buffer *const buffers[], const NS::UInteger offsets[], NS::Range range);
  void setComputePipelineState(const ComputePipelineState *pipeline, NS::UInteger index);
  void setComputePipelineStates(const ComputePipelineState *const pipelines[], NS::Range range);
  void *constantData(NS::UInteger index);
  Device *device() const;
  NS::UInteger encodedLength() const;
  void setIndirectCommandBuffer(const IndirectCommandBuffer *indirectCommandBuffer,
                                NS::UInteger index);
  void setIndirectCommandBuffers(const IndirectCommandBuffer *const buffers[], NS::Range range);
  NS::String *label() const;
  void setLabel(const NS::String *label);
  ArgumentEncoder *newArgumentEncoder(NS::UInteger index);
  void setSamplerState(const SamplerState *sampler, NS::UInteger index);
  void setSamplerStates(const SamplerState *const samplers[], NS::Range range);
  void setTexture(const Texture *texture, NS::UInteger index);
  void setTextures(const Texture *const textures[], NS::Range range);
  void setVisibleFunctionTable(const VisibleFunctionTable *visibleFunctionTable,
                               NS::UInteger index);
  void setVisibleFunctionTables(const VisibleFunctionTable *const visibleFunctionTables[],
                                NS::Range range);
};

} // namespace MTL
