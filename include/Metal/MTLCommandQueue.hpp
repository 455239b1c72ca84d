// SPDX-License-Identifier: Apache-2.0
//
// CommandQueue: runs command buffers in the order they were enqueued or committed.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class CommandBuffer;
class CommandBufferDescriptor;
class CommandQueue;
class CommandQueueDescriptor;
class Device;
class LogState;
class ResidencySet;

/// How a queue is made.
class _MTL_EXPORT CommandQueueDescriptor : public NS::Copying<CommandQueueDescriptor> {
public:
  static CommandQueueDescriptor *alloc();
  CommandQueueDescriptor *init();
  LogState *logState() const;
  void setLogState(const LogState *logState);
  NS::UInteger maxCommandBufferCount() const;
  void setMaxCommandBufferCount(NS::UInteger maxCommandBufferCount);
};

/// Any thread may ask for command buffers. When maxCommandBufferCount of them are unfinished,
/// commandBuffer() waits for one to complete.
class _MTL_EXPORT CommandQueue : public NS::Referencing<CommandQueue> {
public:
  void addResidencySet(const ResidencySet *residencySet);
  void addResidencySets(const ResidencySet *const residencySets[], NS::UInteger count);
  CommandBuffer *commandBuffer();
  CommandBuffer *commandBuffer(const CommandBufferDescriptor *descriptor);
  CommandBuffer *commandBufferWithUnretainedReferences();
  Device *device() const;
  void insertDebugCaptureBoundary();
  NS::String *label() const;
  void setLabel(const NS::String *label);
  void removeResidencySet(const ResidencySet *residencySet);
  void removeResidencySets(const ResidencySet *const residencySets[], NS::UInteger count);
};

} // namespace MTL
