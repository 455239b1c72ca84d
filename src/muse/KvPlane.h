// SPDX-License-Identifier: Apache-2.0
//
// KvPlane: where the rows of one layer's key-value cache are. A sliding layer's plane is a ring of as
// many rows as its window; a full layer's has a row per position. This is bookkeeping only: buffers
// and kernels are elsewhere. Rows have a logical number (the position in the sequence) and a physical
// one (the place in the buffer).
//
// A ring that was filled in order always has origin_physical == origin_logical mod capacity; a restore
// must reproduce that rotation, because the order in which rows are summed decides the last bits.
//
// Plain value; owned by one sequence.
#pragma once
#include "base/Error.h"
#include <algorithm>
#include <cstdint>

namespace pewter::muse {

struct KvPlane {
  uint32_t layer = 0;
  uint32_t capacity = 0;
  uint32_t length = 0;
  uint32_t originLogical = 0;  ///< The position of the oldest row that is kept.
  uint32_t originPhysical = 0; ///< Its place in the buffer.

  /// Never more rows than the window, so that every row of a full ring is visible.
  static uint32_t slidingCapacity(uint32_t maxContext, uint32_t window) {
    return std::min(window, std::max(32u, maxContext));
  }
  static uint32_t fullCapacity(uint32_t maxContext) { return std::max(32u, maxContext); }

  uint32_t end() const { return originLogical + length; } ///< The next position.
  bool wrapped() const { return originLogical != 0; }
  /// The place of the row of `position`, which must be kept or be the next.
  uint32_t physicalRow(uint32_t position) const {
    return static_cast<uint32_t>((uint64_t(originPhysical) + (position - originLogical)) % capacity);
  }

  /// Adds one row at `position`; the result is where it goes. An error when positions are not
  /// consecutive.
  Result<uint32_t> append(uint32_t position);
  /// Adds `count` rows from `position` on; the result is the first of them that survives (rows before
  /// it are overwritten by later ones of the same batch).
  Result<uint32_t> appendBatch(uint32_t position, uint32_t count);
  /// Forgets everything.
  void clear() { length = originLogical = originPhysical = 0; }
  /// Forgets the last rows so that `end()` is `position`; an error when a row that would be needed has
  /// been overwritten.
  Result<void> truncate(uint32_t position);
};

/// How one query's attention over `rows` visible rows is cut: `threadgroups` x `simdgroups` workers,
/// each taking every (threadgroups * simdgroups)-th block of 32 rows.
struct SplitK {
  uint32_t threadgroups = 1, simdgroups = 1;
  bool operator==(const SplitK &) const = default;
};
SplitK splitK(uint32_t rows);

} // namespace pewter::muse
