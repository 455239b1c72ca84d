// SPDX-License-Identifier: Apache-2.0
//
// Tested by HostArena_test.cpp.
#include "cpu/HostArena.h"
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace pewter::cpu {
namespace {

constexpr uint64_t kHugePage = uint64_t(2) << 20;
constexpr uint64_t kPage = 4096;

uint64_t roundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

size_t classOf(uint64_t length) {
  uint64_t size = std::bit_ceil(std::max(length, HostArena::kSmallest));
  return static_cast<size_t>(std::countr_zero(size) - std::countr_zero(HostArena::kSmallest));
}

/// Maps `bytes` at a multiple of the huge page size.
void *mapAligned(uint64_t bytes) {
  uint64_t total = bytes + kHugePage;
  void *raw = ::mmap(nullptr, total, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED)
    return nullptr;
  auto *begin = static_cast<std::byte *>(raw);
  auto *aligned = reinterpret_cast<std::byte *>(
      roundUp(reinterpret_cast<uint64_t>(begin), kHugePage));
  if (aligned != begin)
    ::munmap(begin, static_cast<size_t>(aligned - begin));
  uint64_t tail = static_cast<uint64_t>(begin + total - (aligned + bytes));
  if (tail)
    ::munmap(aligned + bytes, tail);
  ::madvise(aligned, bytes, MADV_HUGEPAGE);
  return aligned;
}

} // namespace

HostArena::~HostArena() {
  for (void *chunk : chunks_)
    ::munmap(chunk, kChunkBytes);
}

Result<void *> HostArena::allocate(uint64_t length) {
  uint64_t before = bytesOut_.fetch_add(length, std::memory_order_relaxed);
  if (length > maxBytes_ || before > maxBytes_ - length) {
    bytesOut_.fetch_sub(length, std::memory_order_relaxed);
    return fail(ErrorKind::OutOfMemory,
                "A buffer of {} bytes does not fit: {} of {} bytes are in use.", length, before,
                maxBytes_);
  }
  Result<void *> address = nullptr;
  if (length <= kLargestClass) {
    address = allocateSmall(length);
  } else {
    address = mapAligned(roundUp(length, kPage));
    if (!*address)
      address = fail(ErrorKind::OutOfMemory, "Cannot map a buffer of {} bytes: {}.", length,
                     std::strerror(errno));
  }
  if (!address)
    bytesOut_.fetch_sub(length, std::memory_order_relaxed);
  return address;
}

Result<void *> HostArena::allocateSmall(uint64_t length) {
  size_t index = classOf(length);
  uint64_t size = kSmallest << index;
  std::unique_lock lock(mutex_);
  if (!free_[index].empty()) {
    void *piece = free_[index].back();
    free_[index].pop_back();
    lock.unlock();
    return std::memset(piece, 0, size);
  }
  uint64_t alignment = std::min(size, kPage);
  auto *next = reinterpret_cast<std::byte *>(
      roundUp(reinterpret_cast<uint64_t>(chunkNext_), alignment));
  if (!chunkNext_ || next + size > chunkEnd_) {
    void *chunk = mapAligned(kChunkBytes);
    if (!chunk)
      return fail(ErrorKind::OutOfMemory, "Cannot map {} bytes for small buffers: {}.", kChunkBytes,
                  std::strerror(errno));
    chunks_.push_back(chunk);
    next = static_cast<std::byte *>(chunk);
    chunkEnd_ = next + kChunkBytes;
  }
  chunkNext_ = next + size;
  return next;
}

void HostArena::release(void *address, uint64_t length) {
  bytesOut_.fetch_sub(length, std::memory_order_relaxed);
  if (length > kLargestClass) {
    ::munmap(address, roundUp(length, kPage));
    return;
  }
  std::lock_guard lock(mutex_);
  free_[classOf(length)].push_back(address);
}

} // namespace pewter::cpu
