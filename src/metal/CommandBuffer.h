// SPDX-License-Identifier: Apache-2.0
//
// CommandBuffer: a device::CommandStream with Metal's life cycle around it. Recycled by its queue.
//
// Threads: recording is one thread's; status, waits and handlers are anybody's. The device's thread
// calls scheduled() and completed(). The buffer holds a reference to itself from commit until its
// handlers have run.
//
// The first misuse of the buffer or its encoders is kept; the buffer then completes with that error
// instead of running.
#pragma once
#include "device/CommandStream.h"
#include "device/Device.h"
#include "foundation/Object.h"
#include "metal/CommandQueue.h"
#include <Metal/MTLCommandBuffer.hpp>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace pewter::metal {

class EncoderBase;

class CommandBufferDescriptor final : public MTL::CommandBufferDescriptor {
public:
  const char *className() const override { return "MTLCommandBufferDescriptor"; }
  Root *makeCopy() const override;
  bool retainedReferences = true;
  MTL::CommandBufferErrorOption errorOptions = MTL::CommandBufferErrorOptionNone;
  foundation::Ref<MTL::LogState> logState;
};

class CommandBuffer final : public MTL::CommandBuffer {
public:
  foundation::Ref<MTL::LogState> logState; ///< The descriptor's, or the queue's.
  const char *className() const override { return "MTLCommandBuffer"; }
  void dispose() override;

  /// Makes a new or recycled object a fresh command buffer of `queue`.
  void begin(CommandQueue *queue);
  void configure(const CommandBufferDescriptor &descriptor);

  /// False, and a misuse, when nothing can be recorded now: committed, or an encoder is open.
  bool canRecord(const char *call);
  void encoderEnded() { openEncoder = nullptr; }

  /// Reports a misuse and makes the buffer fail.
  void poison(Error error);
  template <class... Args>
  void misuse(ErrorKind kind, fmt::format_string<Args...> format, Args &&...args) {
    poison(Error(kind, fmt::format(format, std::forward<Args>(args)...)));
  }
  /// How messages name it.
  std::string describe() const;

  void enqueue();
  void commit();
  void waitUntil(MTL::CommandBufferStatus wanted, const char *call);
  void addHandler(std::vector<MTL::HandlerFunction> &list, const MTL::HandlerFunction &function,
                  const char *call);

  // For CommandQueue, under its lock.
  bool isEnqueued() const { return isEnqueued_; }
  bool isReady() const { return isReady_; }
  void markReady() { isReady_ = true; }
  void submit();

  foundation::Ref<CommandQueue> queue;
  std::unique_ptr<device::CommandStream> stream;
  uint64_t serial = 0; ///< Names this recording; see ResourceBase::keptBy.
  std::string label;
  bool retainsReferences = true;
  MTL::CommandBufferErrorOption errorOptions = MTL::CommandBufferErrorOptionNone;
  EncoderBase *openEncoder = nullptr;
  std::atomic<uint32_t> status{MTL::CommandBufferStatusNotEnqueued};
  std::vector<MTL::HandlerFunction> scheduledHandlers, completedHandlers;
  foundation::Ref<NS::Error> error;
  device::Completion times;
  /// Labels and signposts of the encoders, for errorOptions.
  struct EncoderRecord {
    std::string label;
    std::vector<std::string> signposts;
  };
  std::vector<EncoderRecord> encoderRecords;

private:
  void scheduled();
  void completed(const device::Completion &completion);
  void advance(uint32_t newStatus);
  void attachEncoderInfo();

  static constexpr uint32_t kReportedMisuses =
      32; ///< One mistake in a loop must not drown the rest.
  std::optional<Error> firstMisuse_;
  uint32_t misuseCount_ = 0;
  bool isEnqueued_ = false, isReady_ = false;
  std::atomic<bool> isCommitted_{false};
  /// 0 until scheduled handlers ran, then 1, then 2 when completed handlers ran.
  std::atomic<uint32_t> stage_{0};
  std::atomic<std::thread::id> handlerThread_{};
};

inline CommandBuffer *implOf(const MTL::CommandBuffer *buffer) {
  return static_cast<CommandBuffer *>(const_cast<MTL::CommandBuffer *>(buffer));
}
inline CommandBufferDescriptor *implOf(const MTL::CommandBufferDescriptor *descriptor) {
  return static_cast<CommandBufferDescriptor *>(
      const_cast<MTL::CommandBufferDescriptor *>(descriptor));
}

} // namespace pewter::metal
