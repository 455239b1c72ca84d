// SPDX-License-Identifier: Apache-2.0
//
// The objects of dispatch/dispatch.h.
// Tested by Foundation_test.cpp.
#include "foundation/Dispatch.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

namespace {

struct Counted {
  virtual ~Counted() = default;
  std::atomic<int> references{1};
};

using Clock = std::chrono::steady_clock;

uint64_t nanosecondsNow() {
  return static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now().time_since_epoch()).count());
}

} // namespace

struct dispatch_data_s final : Counted {
  const std::byte *bytes = nullptr;
  size_t size = 0;
  pewter::Bytes copy;
  dispatch_data_destructor_t destructor = nullptr;
  ~dispatch_data_s() override {
    if (destructor == DISPATCH_DATA_DESTRUCTOR_FREE)
      std::free(const_cast<std::byte *>(bytes));
    else if (destructor)
      destructor();
  }
};
struct dispatch_queue_s final : Counted {
  std::string label;
};
struct dispatch_semaphore_s final : Counted {
  std::mutex mutex;
  std::condition_variable changed;
  intptr_t value = 0;
};

pewter::ByteView pewter::foundation::bytesOf(dispatch_data_t data) {
  return data ? ByteView(data->bytes, data->size) : ByteView();
}

extern "C" {

void pewter_dispatch_data_destructor_free(void) {}

dispatch_data_t dispatch_data_create(const void *buffer, size_t size, dispatch_queue_t,
                                     dispatch_data_destructor_t destructor) {
  auto *data = new dispatch_data_s();
  data->bytes = static_cast<const std::byte *>(buffer);
  data->size = size;
  data->destructor = destructor;
  if (!destructor) {
    data->copy.assign(data->bytes, data->bytes + size);
    data->bytes = data->copy.data();
  }
  return data;
}
size_t dispatch_data_get_size(dispatch_data_t data) { return data->size; }

dispatch_queue_t dispatch_queue_create(const char *label, dispatch_queue_attr_t) {
  auto *queue = new dispatch_queue_s();
  queue->label = label ? label : "";
  return queue;
}
dispatch_queue_t dispatch_get_main_queue(void) {
  static auto *queue = dispatch_queue_create("main", DISPATCH_QUEUE_SERIAL);
  return queue;
}
dispatch_queue_t dispatch_get_global_queue(intptr_t, uintptr_t) {
  static auto *queue = dispatch_queue_create("global", DISPATCH_QUEUE_SERIAL);
  return queue;
}

dispatch_semaphore_t dispatch_semaphore_create(intptr_t value) {
  if (value < 0)
    return nullptr;
  auto *semaphore = new dispatch_semaphore_s();
  semaphore->value = value;
  return semaphore;
}
intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t timeout) {
  std::unique_lock lock(semaphore->mutex);
  auto free = [&] { return semaphore->value > 0; };
  if (timeout == DISPATCH_TIME_FOREVER) {
    semaphore->changed.wait(lock, free);
  } else {
    uint64_t now = nanosecondsNow();
    uint64_t left = timeout == DISPATCH_TIME_NOW || timeout < now ? 0 : timeout - now;
    if (!semaphore->changed.wait_for(lock, std::chrono::nanoseconds(left), free))
      return 1;
  }
  --semaphore->value;
  return 0;
}
intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore) {
  std::lock_guard lock(semaphore->mutex);
  ++semaphore->value;
  semaphore->changed.notify_one();
  return semaphore->value <= 0;
}
dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta) {
  if (when == DISPATCH_TIME_FOREVER)
    return when;
  return (when == DISPATCH_TIME_NOW ? nanosecondsNow() : when) + static_cast<uint64_t>(delta);
}

} // extern "C"

// Every object begins with its Counted part, which these find behind the erased pointer.
void pewter_dispatch_retain(void *object) {
  if (object)
    static_cast<Counted *>(object)->references.fetch_add(1, std::memory_order_relaxed);
}
void pewter_dispatch_release(void *object) {
  if (object &&
      static_cast<Counted *>(object)->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete static_cast<Counted *>(object);
}
