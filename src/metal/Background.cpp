// SPDX-License-Identifier: Apache-2.0
// Tested by tests/api/Library_test.cpp.
#include "metal/Background.h"
#include <Foundation/NSAutoreleasePool.hpp>
#include <Foundation/NSSharedPtr.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace pewter::metal {

struct Executor::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  bool started = false, ending = false;

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return !queue.empty() || ending; });
      if (queue.empty())
        return;
      std::function<void()> function = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      {
        auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        function();
        function = nullptr;
      }
      lock.lock();
    }
  }
};

Executor::Executor() : state_(std::make_shared<State>()) {}

Executor::~Executor() {
  std::lock_guard lock(state_->mutex);
  state_->ending = true;
  state_->changed.notify_all();
}

void Executor::run(std::function<void()> function) {
  std::lock_guard lock(state_->mutex);
  state_->queue.push_back(std::move(function));
  if (!state_->started) {
    state_->started = true;
    std::thread([state = state_] { state->work(); }).detach();
  }
  state_->changed.notify_one();
}

Executor &background() {
  static auto *executor = new Executor();
  return *executor;
}

} // namespace pewter::metal
