// SPDX-License-Identifier: Apache-2.0
//
// Places of one size in blocks that are never given back: a program's textures come and go in about
// the same number.
#include "metal/DescriptorPool.h"
#include "base/Check.h"

namespace pewter::metal {

namespace {
constexpr size_t kPlacesPerBlock = 64;
} // namespace

struct DescriptorPool::State {
  struct Place {
    std::byte *contents;
    uint64_t address;
  };
  std::mutex mutex;
  std::vector<std::shared_ptr<device::Memory>> blocks;
  std::vector<Place> free;
};

DescriptorPool::DescriptorPool(device::Device &device)
    : device_(device), state_(std::make_shared<State>()) {}
DescriptorPool::~DescriptorPool() = default;

Result<Descriptor> DescriptorPool::take(size_t size) {
  PEWTER_CHECK(size <= kPlaceBytes);
  std::lock_guard lock(state_->mutex);
  if (state_->free.empty()) {
    PEWTER_TRY(std::shared_ptr<device::Memory> block,
               device_.allocate(kPlaceBytes * kPlacesPerBlock, device::StorageMode::Shared));
    for (size_t i = kPlacesPerBlock; i-- > 0;)
      state_->free.push_back({static_cast<std::byte *>(block->contents()) + i * kPlaceBytes,
                              block->deviceAddress() + i * kPlaceBytes});
    state_->blocks.push_back(std::move(block));
  }
  State::Place place = state_->free.back();
  state_->free.pop_back();
  std::shared_ptr<void> owner(place.contents, [state = state_, place](void *) {
    std::lock_guard guard(state->mutex);
    state->free.push_back(place);
  });
  return Descriptor(std::move(owner), place.address);
}

} // namespace pewter::metal
