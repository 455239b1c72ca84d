// SPDX-License-Identifier: Apache-2.0
//
// IndirectCommandBuffer: dispatches recorded into a resource.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"
#include "MTLResource.hpp"
#include "MTLTypes.hpp"
#include <cstdint>

namespace MTL {

class IndirectCommandBuffer;
class IndirectCommandBufferDescriptor;
class IndirectComputeCommand;

using IndirectCommandType = NS::UInteger;
enum : IndirectCommandType {
  IndirectCommandTypeDraw = 1,
  IndirectCommandTypeDrawIndexed = 1 << 1,
  IndirectCommandTypeDrawPatches = 1 << 2,
  IndirectCommandTypeDrawIndexedPatches = 1 << 3,
  IndirectCommandTypeConcurrentDispatch = 1 << 5,
  IndirectCommandTypeConcurrentDispatchThreads = 1 << 6,
  IndirectCommandTypeDrawMeshThreadgroups = 1 << 7,
  IndirectCommandTypeDrawMeshThreads = 1 << 8,
};

struct IndirectCommandBufferExecutionRange {
  uint32_t location;
  uint32_t length;
} _MTL_PACKED;

/// How an indirect command buffer is made.
class _MTL_EXPORT IndirectCommandBufferDescriptor
    : public NS::Copying<IndirectCommandBufferDescriptor> {
public:
  static IndirectCommandBufferDescriptor *alloc();
  IndirectCommandBufferDescriptor *init();
  IndirectCommandType commandTypes() const;
  void setCommandTypes(IndirectCommandType commandTypes);
  bool inheritBuffers() const;
  void setInheritBuffers(bool inheritBuffers);
  bool inheritPipelineState() const;
  void setInheritPipelineState(bool inheritPipelineState);
  NS::UInteger maxKernelBufferBindCount() const;
  void setMaxKernelBufferBindCount(NS::UInteger maxKernelBufferBindCount);
  NS::UInteger maxKernelThreadgroupMemoryBindCount() const;
  void setMaxKernelThreadgroupMemoryBindCount(NS::UInteger maxKernelThreadgroupMemoryBindCount);
};

/// Holds compute commands that an encoder runs with executeCommandsInBuffer.
class _MTL_EXPORT IndirectCommandBuffer : public NS::Referencing<IndirectCommandBuffer, Resource> {
public:
  ResourceID gpuResourceID() const;
  IndirectComputeCommand *indirectComputeCommand(NS::UInteger commandIndex);
  void reset(NS::Range range);
  NS::UInteger size() const;
};

} // namespace MTL
