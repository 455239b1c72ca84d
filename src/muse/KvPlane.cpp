// SPDX-License-Identifier: Apache-2.0
// Tested by KvPlane_test.cpp.
#include "muse/KvPlane.h"

namespace pewter::muse {

Result<uint32_t> KvPlane::append(uint32_t position) {
  PEWTER_TRY_VOID(appendBatch(position, 1));
  return physicalRow(position);
}

Result<uint32_t> KvPlane::appendBatch(uint32_t position, uint32_t count) {
  if (position != end())
    return fail(ErrorKind::Internal,
                "Layer {} of the key-value cache expects position {} next; it was given [{}].", layer,
                end(), position);
  uint64_t total = uint64_t(length) + count;
  if (total <= capacity) {
    length = static_cast<uint32_t>(total);
    return position;
  }
  auto overflow = static_cast<uint32_t>(total - capacity);
  originLogical += overflow;
  originPhysical = static_cast<uint32_t>((uint64_t(originPhysical) + overflow) % capacity);
  length = capacity;
  return std::max(position, originLogical);
}

Result<void> KvPlane::truncate(uint32_t position) {
  if (position > end())
    return fail(ErrorKind::Internal, "Layer {} holds rows up to {}; it cannot be cut at [{}].", layer,
                end(), position);
  if (position == 0) {
    clear();
    return {};
  }
  if (wrapped() && position != end())
    return fail(ErrorKind::Unsupported,
                "Layer {} has dropped rows before {}, so the cache cannot be cut back to [{}].", layer,
                originLogical, position);
  length = position - originLogical;
  return {};
}

SplitK splitK(uint32_t rows) {
  uint32_t blocks = (rows + 31) / 32;
  SplitK split{std::max(1u, std::min(blocks, 32u)), 1};
  while (split.simdgroups < 4 && 2 * split.threadgroups * split.simdgroups * 32 < rows)
    split.simdgroups *= 2;
  return split;
}

} // namespace pewter::muse
