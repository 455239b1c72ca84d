// SPDX-License-Identifier: Apache-2.0
//
// Fibers for the runners: a stack from a pool and the two switches that a lane or a SIMD group
// needs. A fiber that has not ended may be dropped: its stack is reused without unwinding, which
// compiled kernels could not take. One thread.
#pragma once
#include <boost/context/detail/fcontext.hpp>
#include <functional>
#include <new>
#include <sys/mman.h>
#include <vector>

namespace pewter::testing {

/// Stacks of one size, kept for reuse; the lowest page of each faults.
class StackPool {
public:
  explicit StackPool(size_t bytes) : bytes_((bytes + 8191) / 4096 * 4096) {}
  ~StackPool() {
    for (void *stack : all_)
      munmap(stack, bytes_);
  }
  size_t bytes() const { return bytes_; }
  void *take() {
    if (free_.empty()) {
      void *base = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (base == MAP_FAILED)
        throw std::bad_alloc();
      mprotect(base, 4096, PROT_NONE);
      all_.push_back(base);
      return base;
    }
    void *base = free_.back();
    free_.pop_back();
    return base;
  }
  void giveBack(void *base) { free_.push_back(base); }

private:
  size_t bytes_;
  std::vector<void *> all_, free_;
};

class Fiber {
public:
  Fiber() = default;
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;
  ~Fiber() {
    if (stack_)
      pool_->giveBack(stack_);
  }
  /// `body` runs from the first resume().
  void start(StackPool &pool, std::function<void()> body) {
    pool_ = &pool;
    stack_ = pool.take();
    body_ = std::move(body);
    isDone_ = false;
    context_ = boost::context::detail::make_fcontext(static_cast<char *>(stack_) + pool.bytes(),
                                                     pool.bytes(), run);
  }
  /// Runs until the body waits or ends.
  void resume() { context_ = boost::context::detail::jump_fcontext(context_, this).fctx; }
  /// Inside the body: back to resume()'s caller.
  void wait() { caller_ = boost::context::detail::jump_fcontext(caller_, nullptr).fctx; }
  bool isDone() const { return isDone_; }

private:
  static void run(boost::context::detail::transfer_t from) {
    auto *fiber = static_cast<Fiber *>(from.data);
    fiber->caller_ = from.fctx;
    fiber->body_();
    fiber->isDone_ = true;
    fiber->wait();
  }
  StackPool *pool_ = nullptr;
  void *stack_ = nullptr;
  std::function<void()> body_;
  boost::context::detail::fcontext_t context_ = nullptr, caller_ = nullptr;
  bool isDone_ = true;
};

} // namespace pewter::testing
