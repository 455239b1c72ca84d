// SPDX-License-Identifier: Apache-2.0
//
// CommandQueue: hands out command buffers and submits them in order. Command buffers and encoders
// are recycled through pools of the queue, so a warm loop of record, commit and wait allocates
// nothing here. Thread safe.
//
// Order: a command buffer gets its place at enqueue(), or at commit() if it was not enqueued; it is
// submitted once it is committed and nothing before it is still being recorded.
#pragma once
#include "device/Device.h"
#include "foundation/Object.h"
#include <Metal/MTLCommandQueue.hpp>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace pewter::metal {

class BlitCommandEncoder;
class CommandBuffer;
class ComputeCommandEncoder;
class Device;
class LogState;

inline constexpr NS::UInteger kDefaultCommandBufferCount = 64;

class CommandQueueDescriptor final : public MTL::CommandQueueDescriptor {
public:
  const char *className() const override { return "MTLCommandQueueDescriptor"; }
  Root *makeCopy() const override;
  NS::UInteger maxCommandBufferCount = kDefaultCommandBufferCount;
  foundation::Ref<MTL::LogState> logState;
};

/// Objects that wait to be used again.
template <class T> class Recycler {
public:
  ~Recycler() {
    for (T *object : free_)
      delete object;
  }
  T *take() {
    std::lock_guard lock(mutex_);
    if (free_.empty())
      return nullptr;
    T *object = free_.back();
    free_.pop_back();
    return object;
  }
  void put(T *object) {
    std::lock_guard lock(mutex_);
    free_.push_back(object);
  }

private:
  std::mutex mutex_;
  std::vector<T *> free_;
};

class CommandQueue final : public MTL::CommandQueue {
public:
  CommandQueue(Device *device, NS::UInteger maxCommandBufferCount);
  ~CommandQueue() override;
  const char *className() const override { return "MTLCommandQueue"; }

  /// A command buffer that the caller owns; waits while too many are unfinished.
  CommandBuffer *newCommandBuffer();
  void enqueue(CommandBuffer *buffer);
  void commit(CommandBuffer *buffer);
  /// A buffer will never be committed: it leaves its place.
  void abandon(CommandBuffer *buffer);
  /// A buffer has completed, or was abandoned.
  void finished();

  Device *device;
  std::unique_ptr<device::Queue> backend;
  std::string label;
  foundation::Ref<MTL::LogState> logState;

  Recycler<CommandBuffer> commandBuffers;
  Recycler<ComputeCommandEncoder> computeEncoders;
  Recycler<BlitCommandEncoder> blitEncoders;

private:
  void submitReady();

  std::mutex mutex_; ///< Guards the order of submission.
  std::deque<CommandBuffer *> order_;

  std::mutex countMutex_;
  std::condition_variable countChanged_;
  NS::UInteger unfinished_ = 0;
  NS::UInteger maxUnfinished_;
};

inline CommandQueue *implOf(const MTL::CommandQueue *queue) {
  return static_cast<CommandQueue *>(const_cast<MTL::CommandQueue *>(queue));
}
inline CommandQueueDescriptor *implOf(const MTL::CommandQueueDescriptor *descriptor) {
  return static_cast<CommandQueueDescriptor *>(
      const_cast<MTL::CommandQueueDescriptor *>(descriptor));
}

} // namespace pewter::metal
