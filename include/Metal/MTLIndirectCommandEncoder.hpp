// SPDX-License-Identifier: Apache-2.0
//
// IndirectComputeCommand: one command of an indirect command buffer.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"
#include "MTLTypes.hpp"

namespace MTL {

class Buffer;
class ComputePipelineState;

/// Binds and dispatches like a compute encoder; set by the host.
class _MTL_EXPORT IndirectComputeCommand : public NS::Referencing<IndirectComputeCommand> {
public:
  void setBarrier();
  void clearBarrier();
  void setComputePipelineState(const ComputePipelineState *pipelineState);
  void concurrentDispatchThreadgroups(Size threadgroupsPerGrid, Size threadsPerThreadgroup);
  void concurrentDispatchThreads(Size threadsPerGrid, Size threadsPerThreadgroup);
  void setKernelBuffer(const Buffer *buffer, NS::UInteger offset, NS::UInteger index);
  void setKernelBuffer(const Buffer *buffer, NS::UInteger offset, NS::UInteger stride,
                       NS::UInteger index);
  void reset();
  void setStageInRegion(Region region);
  void setThreadgroupMemoryLength(NS::UInteger length, NS::UInteger index);
};

} // namespace MTL
