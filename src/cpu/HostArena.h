// SPDX-License-Identifier: Apache-2.0
//
// HostArena: zeroed memory for buffers. Large pieces are mappings of their own, aligned so that the
// kernel can back them with huge pages; small ones are cut from large mappings by size class and
// recycled. Counts what is out, and refuses what the machine cannot hold: a mapping by itself would
// succeed and the process be killed later. Any thread.
#pragma once
#include "base/Error.h"
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace pewter::cpu {

class HostArena {
public:
  /// `maxBytes` bounds the sum of everything that is out.
  explicit HostArena(uint64_t maxBytes) : maxBytes_(maxBytes) {}
  ~HostArena();
  HostArena(const HostArena &) = delete;
  HostArena &operator=(const HostArena &) = delete;

  /// At least 256-byte aligned, page aligned from a page on; `length` 0 gives a piece of its own too.
  Result<void *> allocate(uint64_t length);
  void release(void *address, uint64_t length);

  uint64_t maxBytes() const { return maxBytes_; }
  /// Sum of the lengths that were asked for and not released.
  uint64_t bytesOut() const { return bytesOut_.load(std::memory_order_relaxed); }

  static constexpr uint64_t kSmallest = 256;
  static constexpr uint64_t kLargestClass = uint64_t(1) << 20; ///< Beyond: a mapping of its own.

private:
  static constexpr uint64_t kChunkBytes = uint64_t(8) << 20;
  static constexpr size_t kClasses = 13; ///< 256 bytes, 512, ... 1 MiB.

  Result<void *> allocateSmall(uint64_t length);

  const uint64_t maxBytes_;
  std::atomic<uint64_t> bytesOut_{0};
  std::mutex mutex_;
  std::array<std::vector<void *>, kClasses> free_; ///< Released pieces; not zero.
  std::vector<void *> chunks_;
  std::byte *chunkNext_ = nullptr, *chunkEnd_ = nullptr;
};

} // namespace pewter::cpu
