// SPDX-License-Identifier: Apache-2.0
//
// ComputeCommandEncoder: bindings, and dispatches made of them. A set call checks its arguments and
// stores an address; a dispatch writes one command with a binding for each argument of the
// pipeline. Neither locks, allocates, looks anything up by name, or calls through a table; the
// pipeline is asked to prepare() only when the threadgroup's size differs from the last one it was
// used with.
#pragma once
#include "metal/Buffer.h"
#include "metal/CommandEncoder.h"
#include "metal/ComputePipeline.h"
#include <Metal/MTLComputeCommandEncoder.hpp>
#include <Metal/MTLComputePass.hpp>

namespace pewter::metal {

class SamplerState;
class Texture;
class VisibleFunctionTable;

inline constexpr uint32_t kBufferSlots = 31;
inline constexpr uint32_t kTextureSlots = 128;
inline constexpr uint32_t kSamplerSlots = 16;
inline constexpr uint32_t kThreadgroupSlots = 31;
inline constexpr uint32_t kMaxInlineBytes = 4096;

class ComputeCommandEncoder final : public MTL::ComputeCommandEncoder, public EncoderBase {
public:
  static MTL::ComputeCommandEncoder *make(CommandBuffer *buffer, MTL::DispatchType type,
                                          const MTL::ComputePassDescriptor *pass);
  const char *className() const override { return "MTLComputeCommandEncoder"; }
  using EncoderBase::label;
  using EncoderBase::popDebugGroup;
  using EncoderBase::pushDebugGroup;

  void *facet() override { return static_cast<EncoderBase *>(this); }
  void dispose() override;

  void setPipeline(const ComputePipelineState *pipeline);
  void setBuffer(Buffer *bound, NS::UInteger offset, NS::UInteger index, const char *call);
  void setBufferOffset(NS::UInteger offset, NS::UInteger index);
  void setBytes(const void *bytes, NS::UInteger length, NS::UInteger index);
  void setFunctionTable(const MTL::VisibleFunctionTable *table, NS::UInteger index, const char *call);
  void setTexture(const MTL::Texture *texture, NS::UInteger index);
  void setSampler(const MTL::SamplerState *sampler, NS::UInteger index);
  void setThreadgroupMemory(NS::UInteger length, NS::UInteger index);
  void dispatch(const char *call, const MTL::Size &grid, const MTL::Size &threadgroup, bool exact,
                uint64_t indirectAddress);
  void barrier(uint32_t scope, const MTL::Resource *const resources[], NS::UInteger count);
  void execute(const MTL::IndirectCommandBuffer *commands, NS::Range range);

  const ComputePipelineState *currentPipeline() const { return pipeline_; }

  MTL::DispatchType dispatchType = MTL::DispatchTypeSerial;

  struct BufferSlot {
    uint64_t value = 0;     ///< Device address, or address of the bytes in the stream.
    uint64_t available = 0; ///< Bytes from there to the end of the buffer.
    Buffer *buffer = nullptr;
    device::ArgumentBinding::Kind kind = device::ArgumentBinding::Kind::Unbound;
    const VisibleFunctionTable *table = nullptr;
  };
  std::array<BufferSlot, kBufferSlots> buffers;
  std::array<uint32_t, kThreadgroupSlots> threadgroupLengths{};
  std::array<uint64_t, kTextureSlots> textures{};
  std::array<uint64_t, kSamplerSlots> samplers{};
  uint32_t texturesUsed = 0; ///< Slots from here on are empty.

private:
  bool checkTable(const BufferSlot &slot, const PipelineParameter &parameter, const char *call);
  bool fill(device::ArgumentBinding &binding, const PipelineParameter &parameter, const char *call);
  bool prepare(const char *call, const device::Size3 &size, bool partial);
  void rejectPipeline(const char *call, const MTL::Size &threadgroup);

  foundation::Ref<ComputePipelineState> pipelineOwner_;
  const ComputePipelineState *pipeline_ = nullptr;
  device::Size3 preparedSize_;
  bool preparedPartial_ = false, isPrepared_ = false;
};

inline ComputeCommandEncoder *implOf(const MTL::ComputeCommandEncoder *encoder) {
  return static_cast<ComputeCommandEncoder *>(const_cast<MTL::ComputeCommandEncoder *>(encoder));
}

} // namespace pewter::metal
