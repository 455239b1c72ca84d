// SPDX-License-Identifier: Apache-2.0
// Tested by tests/api/CommandBuffer_test.cpp.
#include "metal/CommandQueue.h"
#include "metal/BlitCommandEncoder.h"
#include "metal/CommandBuffer.h"
#include "metal/ComputeCommandEncoder.h"
#include "metal/Device.h"
#include "metal/Property.h"
#include "metal/Validation.h"
#include <Metal/MTLLogState.hpp>
#include <Metal/MTLResidencySet.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>

namespace pewter::metal {

NS::detail::Root *CommandQueueDescriptor::makeCopy() const {
  auto *copy = new CommandQueueDescriptor();
  copy->maxCommandBufferCount = maxCommandBufferCount;
  copy->logState = logState;
  return copy;
}

CommandQueue::CommandQueue(Device *device, NS::UInteger maxCommandBufferCount)
    : device(device), backend(device->backend->createQueue()),
      maxUnfinished_(maxCommandBufferCount) {}

CommandQueue::~CommandQueue() = default;

CommandBuffer *CommandQueue::newCommandBuffer() {
  {
    std::unique_lock lock(countMutex_);
    auto hasRoom = [&] { return unfinished_ < maxUnfinished_; };
    if (!hasRoom() && !countChanged_.wait_for(lock, std::chrono::seconds(10), hasRoom)) {
      std::fprintf(stderr,
                   "pewter: CommandQueue::commandBuffer: all %zu command buffers of the queue are "
                   "unfinished for 10 s; waiting for one to complete.\n",
                   size_t(maxUnfinished_));
      countChanged_.wait(lock, hasRoom);
    }
    ++unfinished_;
  }
  CommandBuffer *buffer = commandBuffers.take();
  if (!buffer)
    buffer = new CommandBuffer();
  buffer->begin(this);
  return buffer;
}

void CommandQueue::finished() {
  {
    std::lock_guard lock(countMutex_);
    --unfinished_;
  }
  countChanged_.notify_one();
}

void CommandQueue::enqueue(CommandBuffer *buffer) {
  std::lock_guard lock(mutex_);
  order_.push_back(buffer);
}

void CommandQueue::commit(CommandBuffer *buffer) {
  std::lock_guard lock(mutex_);
  if (!buffer->isEnqueued()) {
    if (order_.empty()) {
      buffer->submit();
      return;
    }
    order_.push_back(buffer);
  }
  buffer->markReady();
  submitReady();
}

void CommandQueue::abandon(CommandBuffer *buffer) {
  std::lock_guard lock(mutex_);
  std::erase(order_, buffer);
  submitReady();
}

void CommandQueue::submitReady() {
  while (!order_.empty() && order_.front()->isReady()) {
    CommandBuffer *next = order_.front();
    order_.pop_front();
    next->submit();
  }
}

} // namespace pewter::metal

using namespace pewter::metal;

PEWTER_ALLOC(CommandQueueDescriptor)
PEWTER_PLAIN(CommandQueueDescriptor, NS::UInteger, maxCommandBufferCount, setMaxCommandBufferCount)
PEWTER_OBJECT(CommandQueueDescriptor, MTL::LogState, logState, setLogState)
PEWTER_LABEL(CommandQueue)

namespace MTL {

CommandQueue *Device::newCommandQueue() { return newCommandQueue(kDefaultCommandBufferCount); }
CommandQueue *Device::newCommandQueue(NS::UInteger maxCommandBufferCount) {
  if (maxCommandBufferCount == 0) {
    misuse("Device::newCommandQueue: maxCommandBufferCount (0) is not above 0.");
    return nullptr;
  }
  return new pewter::metal::CommandQueue(implOf(this), maxCommandBufferCount);
}
CommandQueue *Device::newCommandQueue(const CommandQueueDescriptor *descriptor) {
  CommandQueue *queue = newCommandQueue(implOf(descriptor)->maxCommandBufferCount);
  if (queue)
    implOf(queue)->logState = implOf(descriptor)->logState;
  return queue;
}

CommandBuffer *CommandQueue::commandBuffer() {
  return pewter::foundation::autoreleased(implOf(this)->newCommandBuffer());
}
CommandBuffer *CommandQueue::commandBuffer(const CommandBufferDescriptor *descriptor) {
  auto *buffer = implOf(this)->newCommandBuffer();
  buffer->configure(*implOf(descriptor));
  return pewter::foundation::autoreleased(buffer);
}
CommandBuffer *CommandQueue::commandBufferWithUnretainedReferences() {
  auto *buffer = implOf(this)->newCommandBuffer();
  buffer->retainsReferences = false;
  return pewter::foundation::autoreleased(buffer);
}
Device *CommandQueue::device() const { return implOf(this)->device; }
void CommandQueue::insertDebugCaptureBoundary() {}

// All memory is resident while it lives: there is nothing to do for a residency set.
void CommandQueue::addResidencySet(const ResidencySet *) {}
void CommandQueue::addResidencySets(const ResidencySet *const[], NS::UInteger) {}
void CommandQueue::removeResidencySet(const ResidencySet *) {}
void CommandQueue::removeResidencySets(const ResidencySet *const[], NS::UInteger) {}

} // namespace MTL
