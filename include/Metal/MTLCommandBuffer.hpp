// SPDX-License-Identifier: Apache-2.0
//
// CommandBuffer: one recording, from its first encoder to its completion.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"
#include <cstdint>
#include <functional>

namespace MTL {

class BlitCommandEncoder;
class BlitPassDescriptor;
class CommandBuffer;
class CommandBufferDescriptor;
class CommandBufferEncoderInfo;
class CommandQueue;
class ComputeCommandEncoder;
class ComputePassDescriptor;
class Device;
class Event;
class LogContainer;
class LogState;
class ResidencySet;

enum CommandBufferStatus : NS::UInteger {
  CommandBufferStatusNotEnqueued = 0,
  CommandBufferStatusEnqueued = 1,
  CommandBufferStatusCommitted = 2,
  CommandBufferStatusScheduled = 3,
  CommandBufferStatusCompleted = 4,
  CommandBufferStatusError = 5,
};

enum CommandBufferError : NS::UInteger {
  CommandBufferErrorNone = 0,
  CommandBufferErrorInternal = 1,
  CommandBufferErrorTimeout = 2,
  CommandBufferErrorPageFault = 3,
  CommandBufferErrorBlacklisted = 4,
  CommandBufferErrorAccessRevoked = 4,
  CommandBufferErrorNotPermitted = 7,
  CommandBufferErrorOutOfMemory = 8,
  CommandBufferErrorInvalidResource = 9,
  CommandBufferErrorMemoryless = 10,
  CommandBufferErrorDeviceRemoved = 11,
  CommandBufferErrorStackOverflow = 12,
};

enum CommandEncoderErrorState : NS::Integer {
  CommandEncoderErrorStateUnknown = 0,
  CommandEncoderErrorStateCompleted = 1,
  CommandEncoderErrorStateAffected = 2,
  CommandEncoderErrorStatePending = 3,
  CommandEncoderErrorStateFaulted = 4,
};

enum DispatchType : NS::UInteger {
  DispatchTypeSerial = 0,
  DispatchTypeConcurrent = 1,
};

using CommandBufferErrorOption = NS::UInteger;
enum : CommandBufferErrorOption {
  CommandBufferErrorOptionNone = 0,
  CommandBufferErrorOptionEncoderExecutionStatus = 1,
};

class CommandBuffer;
using HandlerFunction = std::function<void(CommandBuffer *)>;
#ifdef __BLOCKS__
using CommandBufferHandler = void (^)(CommandBuffer *);
#endif

_MTL_CONST(NS::ErrorDomain, CommandBufferErrorDomain);

/// How a command buffer is made.
class _MTL_EXPORT CommandBufferDescriptor : public NS::Copying<CommandBufferDescriptor> {
public:
  static CommandBufferDescriptor *alloc();
  CommandBufferDescriptor *init();
  CommandBufferErrorOption errorOptions() const;
  void setErrorOptions(CommandBufferErrorOption errorOptions);
  LogState *logState() const;
  void setLogState(const LogState *logState);
  bool retainedReferences() const;
  void setRetainedReferences(bool retainedReferences);
};

/// What became of one encoder of a failed command buffer; in the error's userInfo.
class _MTL_EXPORT CommandBufferEncoderInfo : public NS::Referencing<CommandBufferEncoderInfo> {
public:
  NS::Array *debugSignposts() const;
  CommandEncoderErrorState errorState() const;
  NS::String *label() const;
};

/// Nothing that is recorded runs before commit. After it the command buffer runs once, in its
/// queue's order, and ends completed or with an error. Handlers are called from a thread of the
/// device; waitUntilCompleted returns after them.
class _MTL_EXPORT CommandBuffer : public NS::Referencing<CommandBuffer> {
public:
  void addCompletedHandler(const HandlerFunction &function);
  void addScheduledHandler(const HandlerFunction &function);
  BlitCommandEncoder *blitCommandEncoder();
  BlitCommandEncoder *blitCommandEncoder(const BlitPassDescriptor *blitPassDescriptor);
  CommandQueue *commandQueue() const;
  void commit();
  ComputeCommandEncoder *computeCommandEncoder();
  ComputeCommandEncoder *computeCommandEncoder(DispatchType dispatchType);
  ComputeCommandEncoder *computeCommandEncoder(const ComputePassDescriptor *computePassDescriptor);
  Device *device() const;
  void encodeSignalEvent(const Event *event, uint64_t value);
  void encodeWait(const Event *event, uint64_t value);
  void enqueue();
  NS::Error *error() const;
  CommandBufferErrorOption errorOptions() const;
  CFTimeInterval GPUEndTime() const;
  CFTimeInterval GPUStartTime() const;
  CFTimeInterval kernelEndTime() const;
  CFTimeInterval kernelStartTime() const;
  NS::String *label() const;
  void setLabel(const NS::String *label);
  LogContainer *logs() const;
  void popDebugGroup();
  void pushDebugGroup(const NS::String *string);
  bool retainedReferences() const;
  CommandBufferStatus status() const;
  void useResidencySet(const ResidencySet *residencySet);
  void useResidencySets(const ResidencySet *const residencySets[], NS::UInteger count);
  void waitUntilCompleted();
  void waitUntilScheduled();

#ifdef __BLOCKS__
  void addCompletedHandler(CommandBufferHandler block) {
    addCompletedHandler(HandlerFunction(NS::detail::CopiedBlock<void(CommandBuffer *)>(block)));
  }
  void addScheduledHandler(CommandBufferHandler block) {
    addScheduledHandler(HandlerFunction(NS::detail::CopiedBlock<void(CommandBuffer *)>(block)));
  }
#endif
};

} // namespace MTL
