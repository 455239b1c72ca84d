// SPDX-License-Identifier: Apache-2.0
//
// Limits and messages follow Metal's validation layer. A dispatch of no threads records nothing.
// Tested by tests/api/ComputeEncoder_test.cpp; its cost is
// measured by bench/Encode_bench.cpp.
#include "metal/ComputeCommandEncoder.h"
#include "metal/Counters.h"
#include "metal/Device.h"
#include "metal/Heap.h"
#include "metal/IndirectCommandBuffer.h"
#include "metal/Sampler.h"
#include "metal/Texture.h"
#include "metal/VisibleFunctionTable.h"
#include <algorithm>
#include <bit>
#include <cstring>

namespace pewter::metal {
namespace {

using Kind = device::ArgumentBinding::Kind;

uint32_t roundedTo16(uint32_t length) { return (length + 15) & ~uint32_t(15); }

} // namespace

MTL::ComputeCommandEncoder *ComputeCommandEncoder::make(CommandBuffer *buffer,
                                                        MTL::DispatchType type,
                                                        const MTL::ComputePassDescriptor *pass) {
  if (!buffer->canRecord("CommandBuffer::computeCommandEncoder"))
    return nullptr;
  ComputeCommandEncoder *encoder = buffer->queue->computeEncoders.take();
  if (!encoder)
    encoder = new ComputeCommandEncoder();
  encoder->references.store(1, std::memory_order_relaxed);
  encoder->dispatchType = type;
  encoder->open(buffer, "ComputeCommandEncoder", device::EncoderKind::Compute,
                type == MTL::DispatchTypeConcurrent);
  if (pass)
    for (NS::UInteger i = 0; i < kPassSampleAttachments; ++i)
      if (auto *attachment = pass->sampleBufferAttachments()->object(i))
        encoder->samplePass(attachment->sampleBuffer(), attachment->startOfEncoderSampleIndex(),
                            attachment->endOfEncoderSampleIndex());
  return foundation::autoreleased(encoder);
}

void ComputeCommandEncoder::dispose() {
  close();
  buffers.fill({});
  threadgroupLengths.fill(0);
  std::fill_n(textures.begin(), texturesUsed, 0);
  texturesUsed = 0;
  samplers.fill(0);
  pipelineOwner_.reset();
  pipeline_ = nullptr;
  isPrepared_ = false;
  auto commands = std::move(buffer); // Its queue lives at least until this scope ends.
  commands->queue->computeEncoders.put(this);
}

void ComputeCommandEncoder::setPipeline(const ComputePipelineState *pipeline) {
  if (!checkOpen("setComputePipelineState"))
    return;
  if (!pipeline) {
    misuse("setComputePipelineState", "state is null.");
    return;
  }
  if (pipeline == pipeline_)
    return;
  pipeline_ = pipeline;
  isPrepared_ = false;
  if (retainsReferences())
    pipelineOwner_ = foundation::share(const_cast<ComputePipelineState *>(pipeline));
}

void ComputeCommandEncoder::setBuffer(Buffer *bound, NS::UInteger offset, NS::UInteger index,
                                      const char *call) {
  if (!checkOpen(call))
    return;
  if (index >= kBufferSlots) [[unlikely]]
    return misuse(call, "index ({}) is not below the limit ({}).", index, kBufferSlots);
  BufferSlot &slot = buffers[index];
  if (!bound) {
    slot = {};
    return;
  }
  if (offset >= bound->length) [[unlikely]]
    return misuse(call, "offset ({}) is not below the length ({}) of {}, at index {}.", offset,
                  bound->length, bound->describe(), index);
  if (bound->device != owner) [[unlikely]]
    return misuse(call, "{} belongs to another device, at index {}.", bound->describe(), index);
  slot.value = bound->address() + offset;
  slot.available = bound->length - offset;
  slot.buffer = bound;
  slot.kind = Kind::Buffer;
  slot.table = nullptr;
  keep(*bound);
}

void ComputeCommandEncoder::setBufferOffset(NS::UInteger offset, NS::UInteger index) {
  if (!checkOpen("setBufferOffset"))
    return;
  if (index >= kBufferSlots)
    return misuse("setBufferOffset", "index ({}) is not below the limit ({}).", index,
                  kBufferSlots);
  BufferSlot &slot = buffers[index];
  if (slot.kind != Kind::Buffer || slot.table)
    return misuse("setBufferOffset", "no buffer is set at index {}.", index);
  if (offset >= slot.buffer->length)
    return misuse("setBufferOffset", "offset ({}) is not below the length ({}) of {}, at index {}.",
                  offset, slot.buffer->length, slot.buffer->describe(), index);
  slot.value = slot.buffer->address() + offset;
  slot.available = slot.buffer->length - offset;
}

void ComputeCommandEncoder::setBytes(const void *bytes, NS::UInteger length, NS::UInteger index) {
  if (!checkOpen("setBytes"))
    return;
  if (index >= kBufferSlots) [[unlikely]]
    return misuse("setBytes", "index ({}) is not below the limit ({}).", index, kBufferSlots);
  if (!bytes || length == 0 || length > kMaxInlineBytes) [[unlikely]]
    return misuse("setBytes",
                  "length ({}) is not between 1 and {}, or bytes ({}) is null, at index "
                  "{}.",
                  length, kMaxInlineBytes, bytes, index);
  void *copy = stream->allocateData(length);
  std::memcpy(copy, bytes, length);
  buffers[index] = {reinterpret_cast<uint64_t>(copy), length, nullptr, Kind::Bytes, nullptr};
}

void ComputeCommandEncoder::setFunctionTable(const MTL::VisibleFunctionTable *table,
                                             NS::UInteger index, const char *call) {
  if (!checkOpen(call))
    return;
  if (index >= kBufferSlots)
    return misuse(call, "index ({}) is not below the limit ({}).", index, kBufferSlots);
  buffers[index] = {};
  if (!table)
    return;
  VisibleFunctionTable *bound = implOf(table);
  if (bound->ResourceBase::device != owner)
    return misuse(call, "{} belongs to another device, at index {}.", bound->describe(), index);
  buffers[index] = {bound->address(), bound->ResourceBase::length, nullptr, Kind::Buffer, bound};
  keep(*bound);
}

bool ComputeCommandEncoder::checkTable(const BufferSlot &slot, const PipelineParameter &parameter,
                                       const char *call) {
  const air::Argument &argument = pipeline_->backend->reflection().arguments[parameter.argument];
  if (!parameter.isFunctionTable) {
    misuse(call, "{} is bound at index {} for argument \"{}\" of {}, which is a buffer.",
           slot.table->describe(), parameter.slot, argument.name, pipeline_->describe());
    return false;
  }
  if (!slot.table) {
    misuse(call, "{} at index {} for argument \"{}\" of {}, which is a visible function table.",
           slot.buffer ? slot.buffer->describe() + " is bound" : "bytes are bound", parameter.slot,
           argument.name, pipeline_->describe());
    return false;
  }
  if (!pipeline_->functionSet->contains(*slot.table->functionSet)) {
    misuse(call, "{}, bound at index {} for argument \"{}\" of {}, was made by another pipeline.",
           slot.table->describe(), parameter.slot, argument.name, pipeline_->describe());
    return false;
  }
  const std::string problem = slot.table->mismatch(argument.typeName);
  if (problem.empty())
    return true;
  misuse(call, "{}; argument \"{}\" of {} is a {}.", problem, argument.name, pipeline_->describe(),
         argument.typeName);
  return false;
}

void ComputeCommandEncoder::setTexture(const MTL::Texture *texture, NS::UInteger index) {
  if (!checkOpen("setTexture"))
    return;
  if (index >= kTextureSlots)
    return misuse("setTexture", "index ({}) is not below the limit ({}).", index, kTextureSlots);
  texturesUsed = std::max<uint32_t>(texturesUsed, static_cast<uint32_t>(index) + 1);
  textures[index] = 0;
  if (!texture)
    return;
  auto *bound = implOf(texture);
  keep(*bound);
  stream->keep(bound->shape);
  textures[index] = bound->shapeAddress;
}

void ComputeCommandEncoder::setSampler(const MTL::SamplerState *sampler, NS::UInteger index) {
  if (!checkOpen("setSamplerState"))
    return;
  if (index >= kSamplerSlots)
    return misuse("setSamplerState", "index ({}) is not below the limit ({}).", index,
                  kSamplerSlots);
  samplers[index] = 0;
  if (!sampler)
    return;
  stream->keep(implOf(sampler)->values);
  samplers[index] = implOf(sampler)->address;
}

void ComputeCommandEncoder::setThreadgroupMemory(NS::UInteger length, NS::UInteger index) {
  if (!checkOpen("setThreadgroupMemoryLength"))
    return;
  if (index >= kThreadgroupSlots) [[unlikely]]
    return misuse("setThreadgroupMemoryLength", "index ({}) is not below the limit ({}).", index,
                  kThreadgroupSlots);
  if (length % 16 != 0) [[unlikely]]
    return misuse("setThreadgroupMemoryLength",
                  "length ({}) is not a multiple of 16 bytes, at index {}.", length, index);
  uint32_t limit = owner->maxThreadgroupMemory;
  if (length > limit) [[unlikely]]
    return misuse("setThreadgroupMemoryLength", "length ({}) is above the limit ({}), at index {}.",
                  length, limit, index);
  threadgroupLengths[index] = static_cast<uint32_t>(length);
}

bool ComputeCommandEncoder::fill(device::ArgumentBinding &binding,
                                 const PipelineParameter &parameter, const char *call) {
  auto name = [&] { return pipeline_->backend->reflection().arguments[parameter.argument].name; };
  binding = {};
  switch (parameter.kind) {
  case air::ArgumentKind::Buffer: {
    const BufferSlot &slot = buffers[parameter.slot];
    if (slot.kind == Kind::Unbound) [[unlikely]] {
      if (!parameter.used)
        return true;
      misuse(call, "no {} is bound at index {} for argument \"{}\" of {}.",
             parameter.isFunctionTable ? "visible function table" : "buffer", parameter.slot, name(),
             pipeline_->describe());
      return false;
    }
    if (slot.available < parameter.neededBytes) [[unlikely]] {
      misuse(call,
             "{} bytes are bound at index {} for argument \"{}\" of {}, which needs at least {}.",
             slot.available, parameter.slot, name(), pipeline_->describe(), parameter.neededBytes);
      return false;
    }
    if ((parameter.isFunctionTable || slot.table) && !checkTable(slot, parameter, call))
        [[unlikely]]
      return false;
    binding.kind = slot.kind;
    binding.size = slot.kind == Kind::Bytes ? static_cast<uint32_t>(slot.available) : 0;
    binding.value = slot.value;
    return true;
  }
  case air::ArgumentKind::ThreadgroupMemory:
    binding.kind = Kind::ThreadgroupMemory;
    binding.size = threadgroupLengths[parameter.slot];
    if (binding.size < std::max<uint32_t>(parameter.neededBytes, 1) && parameter.used)
        [[unlikely]] {
      misuse(call,
             "threadgroup memory of {} bytes is set at index {} for argument \"{}\" of {}, which "
             "needs {}.",
             binding.size, parameter.slot, name(), pipeline_->describe(),
             roundedTo16(std::max<uint32_t>(parameter.neededBytes, 1)));
      return false;
    }
    return true;
  case air::ArgumentKind::Texture:
  case air::ArgumentKind::Sampler: {
    bool isTexture = parameter.kind == air::ArgumentKind::Texture;
    if (parameter.slotCount > 1) {
      // A table of descriptor addresses; what is not bound stays null, as in an argument buffer.
      const uint64_t *first = isTexture ? &textures[parameter.slot] : &samplers[parameter.slot];
      const size_t limit = isTexture ? textures.size() : samplers.size();
      const size_t bytes = parameter.slotCount * sizeof(uint64_t);
      void *table = stream->allocateData(bytes);
      std::memset(table, 0, bytes);
      std::memcpy(table, first,
                  std::min<size_t>(parameter.slotCount, limit - parameter.slot) * sizeof(uint64_t));
      binding.kind = Kind::Bytes;
      binding.size = static_cast<uint32_t>(bytes);
      binding.value = reinterpret_cast<uint64_t>(table);
      return true;
    }
    binding.value = isTexture ? textures[parameter.slot] : samplers[parameter.slot];
    if (binding.value) {
      binding.kind = isTexture ? Kind::Texture : Kind::Sampler;
    } else if (parameter.used) {
      misuse(call, "no {} is bound at index {} for argument \"{}\" of {}.",
             isTexture ? "texture" : "sampler", parameter.slot, name(), pipeline_->describe());
      return false;
    }
    return true;
  }
  default:
    return true;
  }
}

void ComputeCommandEncoder::rejectPipeline(const char *call, const MTL::Size &threadgroup) {
  if (!pipeline_)
    return misuse(call, "no compute pipeline state is set.");
  const MTL::Size &required = pipeline_->requiredThreads;
  NS::UInteger total = threadgroup.width * threadgroup.height * threadgroup.depth;
  if (threadgroup.width == 0 || threadgroup.height == 0 || threadgroup.depth == 0)
    return misuse(call, "threadsPerThreadgroup ({}, {}, {}) has an extent of 0.",
                  NS::UInteger(threadgroup.width), NS::UInteger(threadgroup.height),
                  NS::UInteger(threadgroup.depth));
  if (required.width &&
      (threadgroup.width != required.width || threadgroup.height != required.height ||
       threadgroup.depth != required.depth))
    return misuse(call, "threadsPerThreadgroup ({}, {}, {}) is not what {} requires ({}, {}, {}).",
                  NS::UInteger(threadgroup.width), NS::UInteger(threadgroup.height),
                  NS::UInteger(threadgroup.depth), pipeline_->describe(),
                  NS::UInteger(required.width), NS::UInteger(required.height),
                  NS::UInteger(required.depth));
  if (pipeline_->needsFullSimdgroups && total % air::kSimdWidth != 0)
    return misuse(call,
                  "threadsPerThreadgroup ({} in all) is not a multiple of the SIMD width ({}), as "
                  "the descriptor of {} promised.",
                  total, air::kSimdWidth, pipeline_->describe());
  return misuse(
      call, "threadsPerThreadgroup ({}, {}, {}: {} in all) is above the limit ({}) of {}.",
      NS::UInteger(threadgroup.width), NS::UInteger(threadgroup.height),
      NS::UInteger(threadgroup.depth), total, pipeline_->maxThreads, pipeline_->describe());
}

bool ComputeCommandEncoder::prepare(const char *call, const device::Size3 &size, bool partial) {
  if (isPrepared_ && size == preparedSize_ && partial == preparedPartial_) [[likely]]
    return true;
  if (auto ready = pipeline_->backend->prepare(size, partial); !ready) {
    Error error = std::move(ready.error());
    report(error.kind(), call, error.describe());
    return false;
  }
  preparedSize_ = size;
  preparedPartial_ = partial;
  isPrepared_ = true;
  stream->keep(pipeline_->backend);
  return true;
}

void ComputeCommandEncoder::dispatch(const char *call, const MTL::Size &grid,
                                     const MTL::Size &threadgroup, bool exact,
                                     uint64_t indirectAddress) {
  if (!checkOpen(call))
    return;
  const device::Size3 size{threadgroup.width, threadgroup.height, threadgroup.depth};
  constexpr uint64_t kMaxExtent = 1024;
  const ComputePipelineState *pipeline = pipeline_;
  // The extents are bounded first, so that the product cannot overflow.
  if (!pipeline || size.x - 1 >= kMaxExtent || size.y - 1 >= kMaxExtent ||
      size.z - 1 >= kMaxExtent || size.product() > pipeline->maxThreads ||
      (pipeline->needsFullSimdgroups && size.product() % air::kSimdWidth != 0) ||
      (pipeline->requiredThreads.width &&
       (size.x != pipeline->requiredThreads.width || size.y != pipeline->requiredThreads.height ||
        size.z != pipeline->requiredThreads.depth))) [[unlikely]]
    return rejectPipeline(call, threadgroup);
  constexpr uint64_t kMaxGrid = uint64_t(1) << 32;
  if (grid.width >= kMaxGrid || grid.height >= kMaxGrid || grid.depth >= kMaxGrid) [[unlikely]]
    return misuse(call, "the grid ({}, {}, {}) has an extent that does not fit in 32 bits.",
                  NS::UInteger(grid.width), NS::UInteger(grid.height), NS::UInteger(grid.depth));
  if (!indirectAddress && (grid.width == 0 || grid.height == 0 || grid.depth == 0))
    return;

  uint32_t threadgroupBytes = pipeline->staticThreadgroupBytes;
  for (uint32_t mask = pipeline->threadgroupMemoryMask; mask; mask &= mask - 1)
    threadgroupBytes += roundedTo16(threadgroupLengths[std::countr_zero(mask)]);
  if (uint32_t limit = owner->maxThreadgroupMemory; threadgroupBytes > limit) [[unlikely]]
    return misuse(
        call, "threadgroup memory ({} bytes, {} of them declared in {}) is above the limit ({}).",
        threadgroupBytes, pipeline->staticThreadgroupBytes, pipeline->describe(), limit);

  // Ragged ends in whole SIMD groups need no code of their own.
  bool partial = exact && size.x % air::kSimdWidth == 0
                     ? grid.width % size.x % air::kSimdWidth != 0
                     : exact && (grid.width % size.x != 0 || grid.height % size.y != 0 ||
                                 grid.depth % size.z != 0);
  if (!prepare(call, size, partial)) [[unlikely]]
    return;

  size_t count = pipeline->parameters.size();
  auto *command = stream->append<device::DispatchCommand>(device::CommandKind::Dispatch,
                                                          count * sizeof(device::ArgumentBinding));
  command->pipeline = pipeline->backend.get();
  command->grid = {grid.width, grid.height, grid.depth};
  command->threadsPerThreadgroup = size;
  command->exactThreads = exact;
  command->indirectAddress = indirectAddress;
  command->argumentCount = static_cast<uint32_t>(count);
  auto *bindings = reinterpret_cast<device::ArgumentBinding *>(command + 1);
  for (size_t i = 0; i < count; ++i)
    if (!fill(bindings[i], pipeline->parameters[i], call)) [[unlikely]] {
      command->argumentCount = 0; // The stream will not be played: a misuse was reported.
      return;
    }
}

void ComputeCommandEncoder::barrier(uint32_t scope, const MTL::Resource *const resources[],
                                    NS::UInteger count) {
  if (!checkOpen("memoryBarrier"))
    return;
  if (scope & MTL::BarrierScopeRenderTargets)
    return misuse("memoryBarrier", "scope ({}) names render targets, which compute has not.",
                  scope);
  auto *command = stream->append<device::BarrierCommand>(device::CommandKind::Barrier,
                                                         count * sizeof(uint64_t));
  command->scope = scope;
  command->resourceCount = 0;
  auto *addresses = reinterpret_cast<uint64_t *>(command + 1);
  for (NS::UInteger i = 0; i < count; ++i)
    if (resources[i])
      addresses[command->resourceCount++] = baseOf(resources[i])->address();
}

void ComputeCommandEncoder::execute(const MTL::IndirectCommandBuffer *commands, NS::Range range) {
  if (!checkOpen("executeCommandsInBuffer"))
    return;
  executeIndirectCommands(*this, commands, range);
}

} // namespace pewter::metal

using pewter::metal::implOf;

namespace MTL {

void ComputeCommandEncoder::dispatchThreadgroups(Size threadgroupsPerGrid,
                                                 Size threadsPerThreadgroup) {
  implOf(this)->dispatch("dispatchThreadgroups", threadgroupsPerGrid, threadsPerThreadgroup, false,
                         0);
}
void ComputeCommandEncoder::dispatchThreads(Size threadsPerGrid, Size threadsPerThreadgroup) {
  implOf(this)->dispatch("dispatchThreads", threadsPerGrid, threadsPerThreadgroup, true, 0);
}
void ComputeCommandEncoder::dispatchThreadgroups(const Buffer *indirectBuffer,
                                                 NS::UInteger indirectBufferOffset,
                                                 Size threadsPerThreadgroup) {
  auto *encoder = implOf(this);
  auto *buffer = implOf(indirectBuffer);
  constexpr auto kSize = sizeof(DispatchThreadgroupsIndirectArguments);
  if (!encoder->checkOpen("dispatchThreadgroups"))
    return;
  if (!buffer || indirectBufferOffset % 4 != 0 || buffer->length < kSize ||
      indirectBufferOffset > buffer->length - kSize)
    return encoder->misuse(
        "dispatchThreadgroups",
        "indirectBufferOffset ({}) is not a multiple of 4, or {} bytes there end "
        "past {}.",
        indirectBufferOffset, kSize, buffer ? buffer->describe() : "a null buffer");
  encoder->keep(*buffer);
  encoder->dispatch("dispatchThreadgroups", Size(0, 0, 0), threadsPerThreadgroup, false,
                    buffer->address() + indirectBufferOffset);
}
DispatchType ComputeCommandEncoder::dispatchType() const { return implOf(this)->dispatchType; }

void ComputeCommandEncoder::executeCommandsInBuffer(const IndirectCommandBuffer *commands,
                                                    NS::Range executionRange) {
  implOf(this)->execute(commands, executionRange);
}
void ComputeCommandEncoder::executeCommandsInBuffer(const IndirectCommandBuffer *, const Buffer *,
                                                    NS::UInteger) {
  implOf(this)->unsupported("executeCommandsInBuffer",
                            "a range that is read from a buffer is not supported.");
}

void ComputeCommandEncoder::memoryBarrier(BarrierScope scope) {
  implOf(this)->barrier(static_cast<uint32_t>(scope), nullptr, 0);
}
void ComputeCommandEncoder::memoryBarrier(const Resource *const resources[], NS::UInteger count) {
  implOf(this)->barrier(0, resources, count);
}
void ComputeCommandEncoder::sampleCountersInBuffer(const CounterSampleBuffer *sampleBuffer,
                                                   NS::UInteger sampleIndex, bool barrier) {
  auto *encoder = implOf(this);
  if (barrier)
    encoder->barrier(BarrierScopeBuffers, nullptr, 0);
  encoder->sampleCounters("sampleCountersInBuffer", sampleBuffer, sampleIndex);
}

void ComputeCommandEncoder::setBuffer(const Buffer *buffer, NS::UInteger offset,
                                      NS::UInteger index) {
  implOf(this)->setBuffer(implOf(buffer), offset, index, "setBuffer");
}
void ComputeCommandEncoder::setBuffer(const Buffer *, NS::UInteger, NS::UInteger, NS::UInteger) {
  implOf(this)->unsupported("setBuffer",
                            "a stride belongs to stage-in data, which is not supported.");
}
void ComputeCommandEncoder::setBufferOffset(NS::UInteger offset, NS::UInteger index) {
  implOf(this)->setBufferOffset(offset, index);
}
void ComputeCommandEncoder::setBufferOffset(NS::UInteger, NS::UInteger, NS::UInteger) {
  implOf(this)->unsupported("setBufferOffset",
                            "a stride belongs to stage-in data, which is not supported.");
}
void ComputeCommandEncoder::setBuffers(const Buffer *const buffers[], const NS::UInteger offsets[],
                                       NS::Range range) {
  for (NS::UInteger i = 0; i < range.length; ++i)
    implOf(this)->setBuffer(implOf(buffers[i]), offsets[i], range.location + i, "setBuffers");
}
void ComputeCommandEncoder::setBuffers(const Buffer *const[], const NS::UInteger *,
                                       const NS::UInteger *, NS::Range) {
  implOf(this)->unsupported("setBuffers",
                            "strides belong to stage-in data, which is not supported.");
}
void ComputeCommandEncoder::setBytes(const void *bytes, NS::UInteger length, NS::UInteger index) {
  implOf(this)->setBytes(bytes, length, index);
}
void ComputeCommandEncoder::setBytes(const void *, NS::UInteger, NS::UInteger, NS::UInteger) {
  implOf(this)->unsupported("setBytes",
                            "a stride belongs to stage-in data, which is not supported.");
}
void ComputeCommandEncoder::setComputePipelineState(const ComputePipelineState *state) {
  implOf(this)->setPipeline(implOf(state));
}
void ComputeCommandEncoder::setSamplerState(const SamplerState *sampler, NS::UInteger index) {
  implOf(this)->setSampler(sampler, index);
}
void ComputeCommandEncoder::setSamplerState(const SamplerState *sampler, float, float,
                                            NS::UInteger index) {
  implOf(this)->setSampler(sampler, index); // Textures have one level: there is no lod to clamp.
}
void ComputeCommandEncoder::setSamplerStates(const SamplerState *const samplers[],
                                             NS::Range range) {
  for (NS::UInteger i = 0; i < range.length; ++i)
    implOf(this)->setSampler(samplers[i], range.location + i);
}
void ComputeCommandEncoder::setSamplerStates(const SamplerState *const samplers[], const float[],
                                             const float[], NS::Range range) {
  setSamplerStates(samplers, range);
}
void ComputeCommandEncoder::setStageInRegion(Region) {
  implOf(this)->unsupported("setStageInRegion");
}
void ComputeCommandEncoder::setStageInRegion(const Buffer *, NS::UInteger) {
  implOf(this)->unsupported("setStageInRegion");
}
void ComputeCommandEncoder::setTexture(const Texture *texture, NS::UInteger index) {
  implOf(this)->setTexture(texture, index);
}
void ComputeCommandEncoder::setTextures(const Texture *const textures[], NS::Range range) {
  for (NS::UInteger i = 0; i < range.length; ++i)
    implOf(this)->setTexture(textures[i], range.location + i);
}
void ComputeCommandEncoder::setThreadgroupMemoryLength(NS::UInteger length, NS::UInteger index) {
  implOf(this)->setThreadgroupMemory(length, index);
}
void ComputeCommandEncoder::setVisibleFunctionTable(const VisibleFunctionTable *table,
                                                    NS::UInteger bufferIndex) {
  implOf(this)->setFunctionTable(table, bufferIndex, "setVisibleFunctionTable");
}
void ComputeCommandEncoder::setVisibleFunctionTables(const VisibleFunctionTable *const tables[],
                                                     NS::Range range) {
  for (NS::UInteger i = 0; i < range.length; ++i)
    implOf(this)->setFunctionTable(tables[i], range.location + i, "setVisibleFunctionTables");
}
void ComputeCommandEncoder::updateFence(const Fence *fence) {
  implOf(this)->fence(pewter::device::CommandKind::UpdateFence, fence);
}
void ComputeCommandEncoder::waitForFence(const Fence *fence) {
  implOf(this)->fence(pewter::device::CommandKind::WaitFence, fence);
}

// What a kernel reaches through pointers must live until it has run; all memory is resident.
void ComputeCommandEncoder::useHeap(const Heap *heap) {
  auto *encoder = implOf(this);
  if (encoder->checkOpen("useHeap") && heap && encoder->buffer->retainsReferences)
    encoder->stream->keep(implOf(heap)->memory);
}
void ComputeCommandEncoder::useHeaps(const Heap *const heaps[], NS::UInteger count) {
  for (NS::UInteger i = 0; i < count; ++i)
    useHeap(heaps[i]);
}
void ComputeCommandEncoder::useResource(const Resource *resource, ResourceUsage) {
  auto *encoder = implOf(this);
  if (encoder->checkOpen("useResource") && resource)
    encoder->keep(*pewter::metal::baseOf(resource));
}
void ComputeCommandEncoder::useResources(const Resource *const resources[], NS::UInteger count,
                                         ResourceUsage usage) {
  for (NS::UInteger i = 0; i < count; ++i)
    useResource(resources[i], usage);
}

} // namespace MTL
