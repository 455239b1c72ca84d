// SPDX-License-Identifier: Apache-2.0
//
// ComputeCommandEncoder: records dispatches.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLCommandBuffer.hpp"
#include "MTLCommandEncoder.hpp"
#include "MTLDefines.hpp"
#include "MTLTypes.hpp"
#include <cstdint>

namespace MTL {

class Buffer;
class ComputeCommandEncoder;
class ComputePipelineState;
class CounterSampleBuffer;
class Fence;
class Heap;
class IndirectCommandBuffer;
class Resource;
class SamplerState;
class Texture;
class VisibleFunctionTable;

struct DispatchThreadgroupsIndirectArguments {
  uint32_t threadgroupsPerGrid[3];
} _MTL_PACKED;

struct DispatchThreadsIndirectArguments {
  uint32_t threadsPerGrid[3];
  uint32_t threadsPerThreadgroup[3];
} _MTL_PACKED;

struct StageInRegionIndirectArguments {
  uint32_t stageInOrigin[3];
  uint32_t stageInSize[3];
} _MTL_PACKED;

/// Binds a pipeline state, buffers, bytes and threadgroup memory, and records dispatches with
/// them. Bindings stay until they are replaced. Bytes are copied when they are set. In a serial
/// encoder each dispatch sees the memory of the ones before it; in a concurrent one a
/// memoryBarrier must stand between.
class _MTL_EXPORT ComputeCommandEncoder
    : public NS::Referencing<ComputeCommandEncoder, CommandEncoder> {
public:
  void setBuffer(const Buffer *buffer, NS::UInteger offset, NS::UInteger index);
  void setBuffer(const Buffer *buffer, NS::UInteger offset, NS::UInteger stride,
                 NS::UInteger index);
  void setBufferOffset(NS::UInteger offset, NS::UInteger index);
  void setBufferOffset(NS::UInteger offset, NS::UInteger stride, NS::UInteger index);
  void setBuffers(const Buffer *const buffers[], const NS::UInteger offsets[], NS::Range range);
  void setBuffers(const Buffer *const buffers[], const NS::UInteger *offsets,
                  const NS::UInteger *strides, NS::Range range);
  void setBytes(const void *bytes, NS::UInteger length, NS::UInteger index);
  void setBytes(const void *bytes, NS::UInteger length, NS::UInteger stride, NS::UInteger index);
  void setComputePipelineState(const ComputePipelineState *state);
  void dispatchThreadgroups(Size threadgroupsPerGrid, Size threadsPerThreadgroup);
  void dispatchThreadgroups(const Buffer *indirectBuffer, NS::UInteger indirectBufferOffset,
                            Size threadsPerThreadgroup);
  void dispatchThreads(Size threadsPerGrid, Size threadsPerThreadgroup);
  DispatchType dispatchType() const;
  void executeCommandsInBuffer(const IndirectCommandBuffer *indirectCommandBuffer,
                               NS::Range executionRange);
  void executeCommandsInBuffer(const IndirectCommandBuffer *indirectCommandbuffer,
                               const Buffer *indirectRangeBuffer,
                               NS::UInteger indirectBufferOffset);
  void memoryBarrier(BarrierScope scope);
  void memoryBarrier(const Resource *const resources[], NS::UInteger count);
  void sampleCountersInBuffer(const CounterSampleBuffer *sampleBuffer, NS::UInteger sampleIndex,
                              bool barrier);
  void setSamplerState(const SamplerState *sampler, NS::UInteger index);
  void setSamplerState(const SamplerState *sampler, float lodMinClamp, float lodMaxClamp,
                       NS::UInteger index);
  void setSamplerStates(const SamplerState *const samplers[], NS::Range range);
  void setSamplerStates(const SamplerState *const samplers[], const float lodMinClamps[],
                        const float lodMaxClamps[], NS::Range range);
  void setStageInRegion(Region region);
  void setStageInRegion(const Buffer *indirectBuffer, NS::UInteger indirectBufferOffset);
  void setTexture(const Texture *texture, NS::UInteger index);
  void setTextures(const Texture *const textures[], NS::Range range);
  void setThreadgroupMemoryLength(NS::UInteger length, NS::UInteger index);
  void updateFence(const Fence *fence);
  void useHeap(const Heap *heap);
  void useHeaps(const Heap *const heaps[], NS::UInteger count);
  void useResource(const Resource *resource, ResourceUsage usage);
  void useResources(const Resource *const resources[], NS::UInteger count, ResourceUsage usage);
  void setVisibleFunctionTable(const VisibleFunctionTable *visibleFunctionTable,
                               NS::UInteger bufferIndex);
  void setVisibleFunctionTables(const VisibleFunctionTable *const visibleFunctionTables[],
                                NS::Range range);
  void waitForFence(const Fence *fence);
};

} // namespace MTL
