// SPDX-License-Identifier: Apache-2.0
//
// Blocks of 64 KiB come from a process-wide free list (one lock per block, not per command) and go
// back to it when a stream dies; what does not fit a block gets one of its own, which is freed. The
// free list keeps at most kKeptBlocks, so a burst of large command buffers does not hold its memory
// for ever. Stream objects are recycled the same way.
//
// Tested by CommandStream_test.cpp.
#include "device/CommandStream.h"
#include "base/Check.h"
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace pewter::device {

struct CommandStream::Block {
  Block *next;
  size_t size; ///< Of the whole block, this header included.
};

namespace {

constexpr size_t kBlockSize = size_t(64) << 10;
constexpr size_t kAlignment = 64;
constexpr size_t kKeptBlocks = 1024; // 64 MiB.
constexpr size_t kKeptStreams = 256;

/// Free memory pieces of one size, linked through their first word.
class FreeList {
public:
  explicit FreeList(size_t keep) : keep_(keep) {}
  void *take() {
    std::lock_guard lock(mutex_);
    void *piece = first_;
    if (piece) {
      std::memcpy(&first_, piece, sizeof(first_));
      --count_;
    }
    return piece;
  }
  bool give(void *piece) {
    std::lock_guard lock(mutex_);
    if (count_ == keep_)
      return false;
    std::memcpy(piece, &first_, sizeof(first_));
    first_ = piece;
    ++count_;
    return true;
  }

private:
  std::mutex mutex_;
  void *first_ = nullptr;
  size_t count_ = 0;
  const size_t keep_;
};

// Never destroyed: a device thread may free a stream while the process exits.
FreeList &freeBlocks() {
  static FreeList &list = *new FreeList(kKeptBlocks);
  return list;
}
FreeList &freeStreams() {
  static FreeList &list = *new FreeList(kKeptStreams);
  return list;
}
std::atomic<uint64_t> blockCount{0};

void *allocateBlock(size_t size) {
  if (size == kBlockSize)
    if (void *block = freeBlocks().take())
      return block;
  void *block = std::aligned_alloc(kAlignment, (size + kAlignment - 1) & ~(kAlignment - 1));
  PEWTER_CHECK(block && "memory for recording commands");
  blockCount.fetch_add(1, std::memory_order_relaxed);
  return block;
}

} // namespace

CommandStream::~CommandStream() {
  for (Kept *kept = kept_; kept;) {
    Kept *previous = kept->previous;
    kept->~Kept();
    kept = previous;
  }
  while (blocks_) {
    Block *next = blocks_->next;
    if (blocks_->size != kBlockSize || !freeBlocks().give(blocks_))
      std::free(blocks_);
    blocks_ = next;
  }
}

void CommandStream::addBlock(size_t size) {
  static_assert(sizeof(Block) % 16 == 0 && kBlockSize % 16 == 0);
  size_t total = std::max(kBlockSize, (sizeof(Block) + size + kReserve + 15) & ~size_t(15));
  auto *block = static_cast<Block *>(allocateBlock(total));
  block->next = blocks_;
  block->size = total;
  blocks_ = block;
  auto *start = reinterpret_cast<std::byte *>(block + 1);
  if (commandCursor_) {
    auto *jump = new (commandCursor_) Jump;
    jump->kind = kJump;
    jump->size = sizeof(Jump);
    jump->target = start;
  } else {
    firstCommand_ = start;
  }
  commandCursor_ = start;
  dataCursor_ = reinterpret_cast<std::byte *>(block) + total;
}

void *CommandStream::allocateDataSlowly(size_t size) {
  if (size <= kBlockSize / 4) {
    addBlock(0);
    return dataCursor_ -= size;
  }
  size_t total = sizeof(Block) + size;
  PEWTER_CHECK(total > size);
  auto *block = static_cast<Block *>(allocateBlock(total == kBlockSize ? total + 16 : total));
  block->size = total == kBlockSize ? total + 16 : total;
  block->next = blocks_;
  blocks_ = block;
  return block + 1;
}

const char *CommandStream::copyText(const char *text) {
  if (!text || !*text)
    return "";
  size_t size = std::strlen(text) + 1;
  return static_cast<const char *>(std::memcpy(allocateData(size), text, size));
}

uint64_t CommandStream::blocksAllocated() { return blockCount.load(std::memory_order_relaxed); }

void *CommandStream::operator new(size_t size) {
  PEWTER_CHECK(size == sizeof(CommandStream));
  void *stream = freeStreams().take();
  return stream ? stream : ::operator new(size);
}

void CommandStream::operator delete(void *address) {
  if (address && !freeStreams().give(address))
    ::operator delete(address);
}

} // namespace pewter::device
