// SPDX-License-Identifier: Apache-2.0
//
// Executing is recording: each command's bindings are set on the encoder, dispatched, and the
// encoder's own bindings put back. The commands are read when executeCommandsInBuffer is called.
// Tested by tests/api/ComputeEncoder_test.cpp.
#include "metal/IndirectCommandBuffer.h"
#include "metal/ComputeCommandEncoder.h"
#include "metal/Device.h"
#include "metal/Property.h"
#include "metal/Validation.h"

namespace pewter::metal {

NS::detail::Root *IndirectCommandBufferDescriptor::makeCopy() const {
  auto *copy = new IndirectCommandBufferDescriptor();
  copy->commandTypes = commandTypes;
  copy->inheritBuffers = inheritBuffers;
  copy->inheritPipelineState = inheritPipelineState;
  copy->maxKernelBufferBindCount = maxKernelBufferBindCount;
  copy->maxKernelThreadgroupMemoryBindCount = maxKernelThreadgroupMemoryBindCount;
  return copy;
}

IndirectCommandBuffer::~IndirectCommandBuffer() { NS::detail::release(descriptor); }

void executeIndirectCommands(ComputeCommandEncoder &encoder,
                             const MTL::IndirectCommandBuffer *commands, NS::Range range) {
  constexpr const char *kCall = "executeCommandsInBuffer";
  if (!commands)
    return encoder.misuse(kCall, "indirectCommandBuffer is null.");
  auto *list = implOf(commands);
  if (range.Max() > list->commands.size() || range.Max() < range.location)
    return encoder.misuse(kCall, "range ({} + {}) ends past the {} commands.",
                          NS::UInteger(range.location), NS::UInteger(range.length),
                          list->commands.size());
  auto savedBuffers = encoder.buffers;
  auto savedLengths = encoder.threadgroupLengths;
  auto savedPipeline = encoder.currentPipeline();
  for (NS::UInteger i = range.location; i < range.Max(); ++i) {
    auto &content = list->commands[i]->content;
    if (!content.hasDispatch)
      continue; // A command that was never set, or was reset, does nothing.
    if (content.barrier)
      encoder.barrier(MTL::BarrierScopeBuffers, nullptr, 0);
    if (!list->descriptor->inheritPipelineState)
      encoder.setPipeline(content.pipeline.get());
    if (!list->descriptor->inheritBuffers)
      for (uint32_t slot = 0; slot < kBufferSlots; ++slot)
        encoder.setBuffer(content.buffers[slot].buffer.get(), content.buffers[slot].offset, slot,
                          kCall);
    for (uint32_t slot = 0; slot < kThreadgroupSlots; ++slot)
      encoder.setThreadgroupMemory(content.threadgroupLengths[slot], slot);
    encoder.dispatch(kCall, content.grid, content.threadgroup, content.exact, 0);
  }
  encoder.buffers = savedBuffers;
  encoder.threadgroupLengths = savedLengths;
  if (savedPipeline)
    encoder.setPipeline(savedPipeline);
}

} // namespace pewter::metal

using namespace pewter::metal;
using pewter::foundation::share;

PEWTER_ALLOC(IndirectCommandBufferDescriptor)
PEWTER_VALUE(IndirectCommandBufferDescriptor, IndirectCommandType, commandTypes, setCommandTypes)
PEWTER_PLAIN(IndirectCommandBufferDescriptor, bool, inheritBuffers, setInheritBuffers)
PEWTER_PLAIN(IndirectCommandBufferDescriptor, bool, inheritPipelineState, setInheritPipelineState)
PEWTER_PLAIN(IndirectCommandBufferDescriptor, NS::UInteger, maxKernelBufferBindCount,
             setMaxKernelBufferBindCount)
PEWTER_PLAIN(IndirectCommandBufferDescriptor, NS::UInteger, maxKernelThreadgroupMemoryBindCount,
             setMaxKernelThreadgroupMemoryBindCount)

namespace MTL {

IndirectCommandBuffer *
Device::newIndirectCommandBuffer(const IndirectCommandBufferDescriptor *descriptor,
                                 NS::UInteger maxCount, ResourceOptions options) {
  constexpr IndirectCommandType kCompute =
      IndirectCommandTypeConcurrentDispatch | IndirectCommandTypeConcurrentDispatchThreads;
  auto *d = implOf(descriptor);
  if (d->commandTypes == 0 || (d->commandTypes & ~kCompute)) {
    unsupported("Device::newIndirectCommandBuffer: commandTypes ({}) are not compute dispatches "
                "alone.",
                d->commandTypes);
    return nullptr;
  }
  if (maxCount == 0 || maxCount > 16384) {
    misuse("Device::newIndirectCommandBuffer: maxCount ({}) is not between 1 and 16384.", maxCount);
    return nullptr;
  }
  auto memory = allocateFor(*implOf(this), 16, 0); // An identity: resources have an address.
  if (!memory) {
    reportMisuse(memory.error());
    return nullptr;
  }
  auto *buffer = new pewter::metal::IndirectCommandBuffer();
  buffer->kindName = "indirect command buffer";
  buffer->device = implOf(this);
  buffer->memory = std::move(*memory);
  buffer->length = 16;
  buffer->options = options;
  buffer->descriptor = static_cast<pewter::metal::IndirectCommandBufferDescriptor *>(d->makeCopy());
  for (NS::UInteger i = 0; i < maxCount; ++i)
    buffer->commands.push_back(NS::TransferPtr(new pewter::metal::IndirectComputeCommand()));
  return buffer;
}

ResourceID IndirectCommandBuffer::gpuResourceID() const {
  return {reinterpret_cast<uint64_t>(this)};
}
IndirectComputeCommand *IndirectCommandBuffer::indirectComputeCommand(NS::UInteger commandIndex) {
  auto &commands = implOf(this)->commands;
  if (commandIndex < commands.size())
    return commands[commandIndex].get();
  misuse("IndirectCommandBuffer::indirectComputeCommand: index ({}) is not below the size ({}).",
         commandIndex, commands.size());
  return nullptr;
}
void IndirectCommandBuffer::reset(NS::Range range) {
  auto &commands = implOf(this)->commands;
  if (range.Max() > commands.size() || range.Max() < range.location)
    return misuse("IndirectCommandBuffer::reset: range ({} + {}) ends past the {} commands.",
                  NS::UInteger(range.location), NS::UInteger(range.length), commands.size());
  for (NS::UInteger i = range.location; i < range.Max(); ++i)
    commands[i]->reset();
}
NS::UInteger IndirectCommandBuffer::size() const { return implOf(this)->commands.size(); }

void IndirectComputeCommand::reset() { implOf(this)->content = {}; }
void IndirectComputeCommand::setBarrier() { implOf(this)->content.barrier = true; }
void IndirectComputeCommand::clearBarrier() { implOf(this)->content.barrier = false; }
void IndirectComputeCommand::concurrentDispatchThreadgroups(Size threadgroupsPerGrid,
                                                            Size threadsPerThreadgroup) {
  auto &content = implOf(this)->content;
  content.grid = threadgroupsPerGrid;
  content.threadgroup = threadsPerThreadgroup;
  content.exact = false;
  content.hasDispatch = true;
}
void IndirectComputeCommand::concurrentDispatchThreads(Size threadsPerGrid,
                                                       Size threadsPerThreadgroup) {
  concurrentDispatchThreadgroups(threadsPerGrid, threadsPerThreadgroup);
  implOf(this)->content.exact = true;
}
void IndirectComputeCommand::setComputePipelineState(const ComputePipelineState *pipelineState) {
  implOf(this)->content.pipeline = share(implOf(pipelineState));
}
void IndirectComputeCommand::setKernelBuffer(const Buffer *buffer, NS::UInteger offset,
                                             NS::UInteger index) {
  auto &buffers = implOf(this)->content.buffers;
  if (index >= buffers.size())
    return misuse(
        "IndirectComputeCommand::setKernelBuffer: index ({}) is not below the limit ({}).", index,
        buffers.size());
  buffers[index] = {share(implOf(buffer)), offset};
}
void IndirectComputeCommand::setKernelBuffer(const Buffer *, NS::UInteger, NS::UInteger,
                                             NS::UInteger) {
  unsupported(
      "IndirectComputeCommand::setKernelBuffer: a stride belongs to stage-in data, which is "
      "not supported.");
}
void IndirectComputeCommand::setStageInRegion(Region) {
  unsupported("IndirectComputeCommand::setStageInRegion is not supported.");
}
void IndirectComputeCommand::setThreadgroupMemoryLength(NS::UInteger length, NS::UInteger index) {
  auto &lengths = implOf(this)->content.threadgroupLengths;
  if (index >= lengths.size() || length % 16 != 0)
    return misuse(
        "IndirectComputeCommand::setThreadgroupMemoryLength: length ({}) is not a multiple "
        "of 16 bytes, or index ({}) is not below the limit ({}).",
        length, index, lengths.size());
  lengths[index] = length;
}

} // namespace MTL
