// SPDX-License-Identifier: Apache-2.0
//
// CommandStream: the recorded form of one command buffer: typed plain structs, one after the other
// in a linear allocator, played back by one switch. Recording a command is a pointer bump and a few
// stores; blocks are recycled through a pool, so nothing is allocated after warm-up. Encoders and
// debug groups are commands too, so a player can rebuild the whole structure.
//
// What orders commands: between BeginEncoder and EndEncoder of a serial encoder every dispatch
// waits for the one before; of a concurrent encoder dispatches may overlap unless a barrier stands
// between them. Encoders of one stream run in order. A device may be laxer only where nobody can
// tell.
//
// Not thread safe: one recorder at a time, then one player.
#pragma once
#include "device/LogSink.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace pewter::device {

class Memory;
class Pipeline;
class Event;

struct Size3 {
  uint64_t x = 0, y = 0, z = 0;
  bool operator==(const Size3 &) const = default;
  uint64_t product() const { return x * y * z; }
};

/// One bound argument of a dispatch, in the pipeline's parameter order.
struct ArgumentBinding {
  enum class Kind : uint8_t { Unbound, Buffer, Bytes, ThreadgroupMemory, Texture, Sampler };
  Kind kind = Kind::Unbound;
  uint32_t size = 0;    ///< Bytes: length. ThreadgroupMemory: length the host set. Buffer: unused.
  uint64_t value = 0;   ///< Buffer: device address, offset included. Bytes: address in this stream.
                        ///< Texture, Sampler: device address of a descriptor (air/TextureAbi.h).
};

enum class CommandKind : uint16_t {
  BeginEncoder,
  EndEncoder,
  Dispatch,
  Barrier,
  CopyBuffer,
  FillBuffer,
  SignalEvent,
  WaitEvent,
  UpdateFence,
  WaitFence,
  PushDebugGroup,
  PopDebugGroup,
};

struct Command {
  CommandKind kind;
  uint16_t flags = 0;
  uint32_t size; ///< Bytes from this command to the next, a multiple of 8.
};

enum class EncoderKind : uint8_t { Compute, Blit };
struct BeginEncoderCommand : Command {
  static constexpr CommandKind kKind = CommandKind::BeginEncoder;
  EncoderKind encoder;
  bool concurrent;
  const char *label; ///< NUL-terminated, in this stream; never null.
};
struct EndEncoderCommand : Command {
  static constexpr CommandKind kKind = CommandKind::EndEncoder;
};

struct DispatchCommand : Command {
  static constexpr CommandKind kKind = CommandKind::Dispatch;
  Pipeline *pipeline;
  /// Threads per grid when `exactThreads` (dispatchThreads), else threadgroups per grid.
  Size3 grid;
  Size3 threadsPerThreadgroup;
  bool exactThreads;
  /// dispatchThreadgroups(indirectBuffer): device address of three uint32 threadgroup counts that
  /// are read when the command runs; 0 for a direct dispatch.
  uint64_t indirectAddress;
  uint32_t argumentCount; ///< ArgumentBinding[argumentCount] follows this struct.
  const ArgumentBinding *arguments() const {
    return reinterpret_cast<const ArgumentBinding *>(this + 1);
  }
};

/// Everything recorded before is visible to everything after. A device may ignore the resource list
/// and treat each barrier as one over all memory; the list is kept for devices that do better and for
/// tests that look at the recording.
struct BarrierCommand : Command {
  static constexpr CommandKind kKind = CommandKind::Barrier;
  uint32_t scope;         ///< MTL::BarrierScope bits; 0 when resources are listed.
  uint32_t resourceCount; ///< uint64_t device addresses that follow.
};

struct CopyBufferCommand : Command {
  static constexpr CommandKind kKind = CommandKind::CopyBuffer;
  Memory *source;
  uint64_t sourceOffset;
  Memory *destination;
  uint64_t destinationOffset;
  uint64_t length;
};
struct FillBufferCommand : Command {
  static constexpr CommandKind kKind = CommandKind::FillBuffer;
  Memory *destination;
  uint64_t offset;
  uint64_t length;
  uint8_t value;
};
struct EventCommand : Command { ///< SignalEvent, WaitEvent.
  Event *event;
  uint64_t value;
};
struct FenceCommand : Command { ///< UpdateFence, WaitFence; `fence` is the identity of the MTL::Fence.
  uint64_t fence;
};
struct DebugGroupCommand : Command { ///< PushDebugGroup.
  const char *label;
};

/// See the head of this file. Commands grow upwards and data downwards in one block; when they meet,
/// a jump record leads to the next block.
class CommandStream {
public:
  CommandStream() = default;
  ~CommandStream();
  CommandStream(const CommandStream &) = delete;
  CommandStream &operator=(const CommandStream &) = delete;

  /// Appends a command with `extra` bytes behind it; `kind` and `size` are set, the rest is not.
  template <class T> T *append(CommandKind kind, size_t extra = 0) {
    size_t size = (sizeof(T) + extra + 7) & ~size_t(7);
    if (size_t(dataCursor_ - commandCursor_) < size + kReserve) [[unlikely]]
      addBlock(size);
    T *command = reinterpret_cast<T *>(commandCursor_);
    commandCursor_ += size;
    ++commandCount_;
    command->kind = kind;
    command->flags = 0;
    command->size = static_cast<uint32_t>(size);
    return command;
  }
  /// Memory with the stream's lifetime, 16-byte aligned: inline constants, labels.
  void *allocateData(size_t size) {
    size = (size + 15) & ~size_t(15);
    if (size_t(dataCursor_ - commandCursor_) < size + kReserve) [[unlikely]]
      return allocateDataSlowly(size);
    return dataCursor_ -= size;
  }
  const char *copyText(const char *text);
  /// Keeps an object alive until the stream is destroyed.
  void keep(std::shared_ptr<const void> object) {
    kept_ = new (allocateData(sizeof(Kept))) Kept{kept_, std::move(object)};
  }

  /// Walks the commands in order: `for (const Command *c = first(); c; c = next(c))`.
  const Command *first() const { return settle(firstCommand_); }
  const Command *next(const Command *command) const {
    return settle(reinterpret_cast<const std::byte *>(command) + command->size);
  }
  size_t commandCount() const { return commandCount_; }

  std::string label; ///< The command buffer's, for messages.
  std::shared_ptr<const LogSink> log; ///< Null: messages of kernels go to stderr.

  /// How many blocks the process ever took from the system; constant once recording is warm.
  static uint64_t blocksAllocated();

  static void *operator new(size_t size);
  static void operator delete(void *address);

private:
  struct Block;
  struct Kept {
    Kept *previous;
    std::shared_ptr<const void> object;
  };
  struct Jump : Command { ///< Stands where a block's commands end; `kind` is kJump.
    const std::byte *target;
  };
  static constexpr CommandKind kJump = CommandKind(0xffff);
  static constexpr size_t kReserve = sizeof(Jump) + 8; ///< Room for a jump at any time.

  void addBlock(size_t size);
  void *allocateDataSlowly(size_t size);
  const Command *settle(const std::byte *position) const {
    while (position != commandCursor_) {
      auto *command = reinterpret_cast<const Command *>(position);
      if (command->kind != kJump) [[likely]]
        return command;
      position = static_cast<const Jump *>(command)->target;
    }
    return nullptr;
  }

  std::byte *commandCursor_ = nullptr, *dataCursor_ = nullptr;
  const std::byte *firstCommand_ = nullptr;
  Block *blocks_ = nullptr; ///< All blocks of this stream, newest first.
  Kept *kept_ = nullptr;
  size_t commandCount_ = 0;
};

} // namespace pewter::device
