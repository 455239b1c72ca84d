// SPDX-License-Identifier: Apache-2.0
// Tested by AcceleratorScheduler_test.cpp.
#include "muse/AcceleratorScheduler.h"
#include <algorithm>
#include <vector>

namespace pewter::muse {

uint32_t AcceleratorScheduler::selected() const {
  auto next = lastServed_ ? waitingDecodes_.upper_bound(*lastServed_) : waitingDecodes_.begin();
  return next == waitingDecodes_.end() ? *waitingDecodes_.begin() : *next;
}

Result<AcceleratorScheduler::Permit> AcceleratorScheduler::acquire(uint32_t sequence, WorkKind kind) {
  if (kind == WorkKind::Decode)
    return acquireGroup(std::span(&sequence, 1));
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !active_ && waitingDecodes_.empty(); });
  active_ = true;
  return Permit(this);
}

Result<AcceleratorScheduler::Permit>
AcceleratorScheduler::acquireGroup(std::span<const uint32_t> sequences) {
  if (sequences.empty() || sequences.size() > 4)
    return fail(ErrorKind::Validation, "A decode group has [{}] sequences; 1 to 4 are expected.",
                sequences.size());
  std::unique_lock lock(mutex_);
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (waitingDecodes_.insert(sequences[i]).second)
      continue;
    for (size_t j = 0; j < i; ++j)
      waitingDecodes_.erase(sequences[j]);
    return fail(ErrorKind::Validation, "Sequence [{}] already waits to decode.", sequences[i]);
  }
  changed_.wait(lock, [&] {
    return !active_ && std::ranges::find(sequences, selected()) != sequences.end();
  });
  active_ = true;
  // The last in rotation order, seen from the one that was chosen.
  std::vector<uint32_t> order(sequences.begin(), sequences.end());
  std::ranges::sort(order);
  std::ranges::rotate(order, std::ranges::find(order, selected()));
  for (uint32_t sequence : order)
    waitingDecodes_.erase(sequence);
  lastServed_ = order.back();
  return Permit(this);
}

bool AcceleratorScheduler::hasWaitingDecode() const {
  std::lock_guard lock(mutex_);
  return !waitingDecodes_.empty();
}

void AcceleratorScheduler::release() {
  {
    std::lock_guard lock(mutex_);
    active_ = false;
  }
  changed_.notify_all();
}

} // namespace pewter::muse
