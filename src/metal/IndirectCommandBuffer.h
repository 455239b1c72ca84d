// SPDX-License-Identifier: Apache-2.0
//
// IndirectCommandBuffer: compute commands that the host records once and encoders run many times.
// Kernels cannot record into one.
#pragma once
#include "foundation/Object.h"
#include "metal/Buffer.h"
#include "metal/ComputePipeline.h"
#include <Metal/MTLIndirectCommandBuffer.hpp>
#include <Metal/MTLIndirectCommandEncoder.hpp>
#include <array>
#include <vector>

namespace pewter::metal {

class ComputeCommandEncoder;

class IndirectCommandBufferDescriptor final : public MTL::IndirectCommandBufferDescriptor {
public:
  const char *className() const override { return "MTLIndirectCommandBufferDescriptor"; }
  Root *makeCopy() const override;
  MTL::IndirectCommandType commandTypes = 0;
  bool inheritBuffers = false, inheritPipelineState = false;
  NS::UInteger maxKernelBufferBindCount = 31, maxKernelThreadgroupMemoryBindCount = 31;
};

class IndirectComputeCommand final : public MTL::IndirectComputeCommand {
public:
  const char *className() const override { return "MTLIndirectComputeCommand"; }
  struct Binding {
    foundation::Ref<Buffer> buffer;
    NS::UInteger offset = 0;
  };
  struct Content {
    foundation::Ref<ComputePipelineState> pipeline;
    std::array<Binding, 31> buffers;
    std::array<NS::UInteger, 31> threadgroupLengths{};
    MTL::Size grid{0, 0, 0}, threadgroup{0, 0, 0};
    bool hasDispatch = false, exact = false, barrier = false;
  } content;
};

class IndirectCommandBuffer final : public MTL::IndirectCommandBuffer, public ResourceBase {
public:
  using ResourceBase::contents;
  using ResourceBase::device;
  using ResourceBase::heap;
  using ResourceBase::label;
  using ResourceBase::length;
  using ResourceBase::storageMode;

  const char *className() const override { return "MTLIndirectCommandBuffer"; }
  void *facet() override { return static_cast<ResourceBase *>(this); }
  IndirectCommandBufferDescriptor *descriptor = nullptr;
  ~IndirectCommandBuffer() override;
  std::vector<foundation::Ref<IndirectComputeCommand>> commands;
};

inline IndirectCommandBuffer *implOf(const MTL::IndirectCommandBuffer *buffer) {
  return static_cast<IndirectCommandBuffer *>(const_cast<MTL::IndirectCommandBuffer *>(buffer));
}
inline IndirectComputeCommand *implOf(const MTL::IndirectComputeCommand *command) {
  return static_cast<IndirectComputeCommand *>(const_cast<MTL::IndirectComputeCommand *>(command));
}
inline IndirectCommandBufferDescriptor *implOf(const MTL::IndirectCommandBufferDescriptor *d) {
  return static_cast<IndirectCommandBufferDescriptor *>(
      const_cast<MTL::IndirectCommandBufferDescriptor *>(d));
}

/// Records the commands in `range` into an encoder.
void executeIndirectCommands(ComputeCommandEncoder &encoder,
                             const MTL::IndirectCommandBuffer *commands, NS::Range range);

} // namespace pewter::metal
