// SPDX-License-Identifier: Apache-2.0
//
// Tested by HostQueue_test.cpp.
#include "device/HostQueue.h"
#include "device/Spin.h"
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <vector>

namespace pewter::device {
namespace {

constexpr auto kNap = std::chrono::microseconds(150);
constexpr auto kNapping = std::chrono::milliseconds(40); ///< How long after the last use.
constexpr int kHelpsUntilTrusted = 4; ///< Streams in a row that helpers took before we rely on it.
constexpr int kHandOffSpins = 400;    ///< Looks at `done` before a helper gives up (about 10 us).

struct Submission {
  std::unique_ptr<CommandStream> stream;
  std::function<void()> scheduled;
  std::function<void(const Completion &)> completed;
};

} // namespace

double hostSeconds() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

struct HostQueue::State {
  std::shared_ptr<StreamPlayer> player;
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Submission> ring = std::vector<Submission>(16); ///< Waiting streams, first at `front`.
  size_t front = 0, count = 0;
  bool playing = false;
  bool threadStarted = false;
  bool threadNaps = false; ///< It sleeps at most kNap; else only `wake` ends its sleep.
  bool closing = false;
  int helpsInARow = 0;     ///< Streams that helpers took since the thread took one.
  uint64_t played = 0;

  void push(Submission submission) {
    if (count == ring.size()) {
      std::vector<Submission> larger(ring.size() * 2);
      for (size_t i = 0; i < count; ++i)
        larger[i] = std::move(ring[(front + i) % ring.size()]);
      ring = std::move(larger);
      front = 0;
    }
    ring[(front + count++) % ring.size()] = std::move(submission);
  }

  bool canPlay() const { return count && !playing; }

  /// Takes the first stream and plays it; `lock` is released meanwhile. The stream is gone, with all
  /// that it kept alive, when `completed` is called.
  void playOne(std::unique_lock<std::mutex> &lock) {
    Submission submission = std::move(ring[front]);
    front = (front + 1) % ring.size();
    --count;
    playing = true;
    lock.unlock();
    Completion completion;
    completion.kernelStart = hostSeconds();
    if (submission.scheduled)
      submission.scheduled();
    completion.kernelEnd = completion.gpuStart = completion.gpuEnd = hostSeconds();
    player->play(*submission.stream, completion);
    submission.stream.reset();
    if (submission.completed)
      submission.completed(completion);
    submission = {};
    lock.lock();
    playing = false;
    ++played;
  }

  static void threadMain(std::shared_ptr<State> state) {
    ::pthread_setname_np(::pthread_self(), "pewter-queue");
    std::unique_lock lock(state->mutex);
    auto lastUse = std::chrono::steady_clock::now();
    uint64_t lastPlayed = 0;
    bool leftTime = false; ///< For a helper that is expected.
    while (true) {
      if (state->canPlay() && state->helpsInARow >= kHelpsUntilTrusted && !leftTime) {
        leftTime = true;
        state->threadNaps = true;
        state->wake.wait_for(lock, kNap);
        continue;
      }
      leftTime = false;
      if (state->canPlay()) {
        state->helpsInARow = 0;
        state->playOne(lock);
        continue;
      }
      if (state->closing && !state->count && !state->playing)
        return;
      auto now = std::chrono::steady_clock::now();
      if (state->played != lastPlayed)
        lastUse = now;
      lastPlayed = state->played;
      // A helper that plays a long stream looks for the next one itself, or wakes us.
      state->threadNaps = !state->playing && now - lastUse < kNapping;
      if (state->threadNaps)
        state->wake.wait_for(lock, kNap);
      else
        state->wake.wait(lock);
    }
  }
};

HostQueue::HostQueue(std::shared_ptr<StreamPlayer> player) : state_(std::make_shared<State>()) {
  state_->player = std::move(player);
}

HostQueue::~HostQueue() {
  std::lock_guard lock(state_->mutex);
  state_->closing = true;
  state_->wake.notify_all();
}

void HostQueue::submit(std::unique_ptr<CommandStream> stream, std::function<void()> scheduled,
                       std::function<void(const Completion &)> completed) {
  State &state = *state_;
  std::unique_lock lock(state.mutex);
  state.push({std::move(stream), std::move(scheduled), std::move(completed)});
  if (!state.threadStarted) {
    state.threadStarted = true;
    std::thread(State::threadMain, state_).detach();
    return;
  }
  if (state.threadNaps && state.helpsInARow >= kHelpsUntilTrusted)
    return;
  lock.unlock();
  state.wake.notify_one();
}

void HostQueue::help(const std::function<bool()> &done) {
  State &state = *state_;
  std::unique_lock lock(state.mutex, std::defer_lock);
  while (!done()) {
    lock.lock();
    bool plays = state.canPlay();
    if (plays) {
      ++state.helpsInARow;
      state.playOne(lock);
    }
    lock.unlock();
    if (plays)
      continue;
    // Somebody else plays. A short stream ends before a sleep would have begun.
    for (int i = 0; i < kHandOffSpins; ++i) {
      if (done())
        break;
      spinPause();
    }
    break;
  }
  // What is left was perhaps submitted in the trust that we would take it.
  lock.lock();
  bool left = state.canPlay() || (state.closing && !state.count);
  lock.unlock();
  if (left)
    state.wake.notify_one();
}

} // namespace pewter::device
