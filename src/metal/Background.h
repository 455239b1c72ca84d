// SPDX-License-Identifier: Apache-2.0
//
// Executor: runs functions one at a time, in order, on a thread of its own, each with an
// autorelease pool. The thread starts with the first function. What is queued when the executor is
// destroyed still runs. Any thread.
#pragma once
#include <functional>
#include <memory>

namespace pewter::metal {

class Executor {
public:
  Executor();
  ~Executor();
  Executor(const Executor &) = delete;
  Executor &operator=(const Executor &) = delete;
  void run(std::function<void()> function);

private:
  struct State;
  std::shared_ptr<State> state_;
};

/// For calls that end in a completion handler; lives as long as the process.
Executor &background();

} // namespace pewter::metal
