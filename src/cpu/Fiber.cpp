// SPDX-License-Identifier: Apache-2.0
//
// On x86-64 the switch is our own. Boost's also saves and loads the two floating-point control words, which no
// kernel changes, and on an Emerald Rapids that takes 71 of its 74 ns.
//
// Tested by Fiber_test.cpp.
#include "cpu/Fiber.h"
#include "base/Check.h"
#ifndef __x86_64__
#include <boost/context/detail/fcontext.hpp>
#endif
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define PEWTER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PEWTER_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define PEWTER_TSAN 1
#endif
#endif
#ifdef PEWTER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef PEWTER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#ifdef __x86_64__
/// Leaves the running stack, whose top goes to *from, for the one whose top is `to`. Returns, there, what
/// `message` is here; a stack that has not run yet gets it as the first argument of its function.
extern "C" void *pewter_switch_stack(void **from, void *to, void *message);
asm(R"(
  .text
  .p2align 4
  .globl pewter_switch_stack
  .hidden pewter_switch_stack
  .type pewter_switch_stack, @function
pewter_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  movq %rdx, %rax
  movq %rdx, %rdi
  ret
  .size pewter_switch_stack, . - pewter_switch_stack
)");
#endif

namespace pewter::cpu {
namespace {

size_t pageSize() {
  static const size_t size = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

} // namespace

Result<FiberStacks> FiberStacks::create(size_t count, size_t bytesEach) {
  size_t page = pageSize();
  bytesEach = (bytesEach + page - 1) / page * page;
  size_t total = count * (bytesEach + page);
  void *memory = ::mmap(nullptr, total, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED)
    return fail(ErrorKind::OutOfMemory, "Cannot map {} stacks of {} bytes: {}.", count, bytesEach,
                std::strerror(errno));
  FiberStacks stacks;
  stacks.memory_ = static_cast<std::byte *>(memory);
  stacks.count_ = count;
  stacks.bytesEach_ = bytesEach;
  for (size_t i = 0; i < count; ++i)
    if (::mprotect(stacks.memory_ + i * (bytesEach + page), page, PROT_NONE) != 0)
      return fail(ErrorKind::OutOfMemory, "Cannot protect the end of a stack: {}.",
                  std::strerror(errno));
  return stacks;
}

FiberStacks::~FiberStacks() {
  if (!memory_)
    return;
  size_t total = count_ * (bytesEach_ + pageSize());
#ifdef PEWTER_ASAN
  __asan_unpoison_memory_region(memory_, total);
#endif
  ::munmap(memory_, total);
}

void FiberStacks::swap(FiberStacks &other) {
  std::swap(memory_, other.memory_);
  std::swap(count_, other.count_);
  std::swap(bytesEach_, other.bytesEach_);
}

std::byte *FiberStacks::bottom(size_t index) const {
  PEWTER_ASSERT(index < count_);
  return memory_ + index * (bytesEach_ + pageSize()) + pageSize();
}

bool FiberStacks::isTrap(const void *address) const {
  auto *at = static_cast<const std::byte *>(address);
  size_t stride = bytesEach_ + pageSize();
  if (!memory_ || at < memory_ || at >= memory_ + count_ * stride)
    return false;
  return static_cast<size_t>(at - memory_) % stride < pageSize();
}

Fiber::~Fiber() {
#ifdef PEWTER_TSAN
  if (ownsThreadFiber_)
    __tsan_destroy_fiber(threadFiber_);
#endif
}

void Fiber::start(std::byte *stackBottom, size_t stackBytes, void (*body)(Fiber &)) {
  stackBottom_ = stackBottom;
  stackBytes_ = stackBytes;
  body_ = body;
  fakeStack_ = nullptr;
#ifdef PEWTER_ASAN
  __asan_unpoison_memory_region(stackBottom, stackBytes); // Frames of an earlier life.
#endif
#ifdef PEWTER_TSAN
  if (ownsThreadFiber_)
    __tsan_destroy_fiber(threadFiber_);
  threadFiber_ = __tsan_create_fiber(0);
  ownsThreadFiber_ = true;
#endif
#ifdef __x86_64__
  // Six registers, the function, and no address to return to; `ret` leaves the stack aligned as after a call.
  auto end = reinterpret_cast<uintptr_t>(stackBottom + stackBytes) & ~uintptr_t(15);
  auto *top = reinterpret_cast<void **>(end) - 8;
  std::fill_n(top, 8, nullptr);
  top[6] = reinterpret_cast<void *>(&enter);
  context_ = top;
#else
  context_ = boost::context::detail::make_fcontext(
      stackBottom + stackBytes, stackBytes, [](boost::context::detail::transfer_t transfer) {
        auto &from = *static_cast<Fiber *>(transfer.data);
        from.context_ = transfer.fctx;
        enter(from);
      });
#endif
}

void Fiber::adopt() {
#ifdef PEWTER_TSAN
  threadFiber_ = __tsan_get_current_fiber();
#endif
}

void Fiber::enter(Fiber &from) {
  Fiber &self = *from.target_;
  self.arrived(from);
  self.body_(self);
  PEWTER_UNREACHABLE();
}

void Fiber::arrived([[maybe_unused]] Fiber &from) {
#ifdef PEWTER_ASAN
  __sanitizer_finish_switch_fiber(fakeStack_, &from.stackBottom_, &from.stackBytes_);
#endif
}

void Fiber::change(Fiber &from, Fiber &to) {
  from.target_ = &to;
#ifdef PEWTER_ASAN
  __sanitizer_start_switch_fiber(&from.fakeStack_, to.stackBottom_, to.stackBytes_);
#endif
#ifdef PEWTER_TSAN
  __tsan_switch_to_fiber(to.threadFiber_, 0);
#endif
#ifdef __x86_64__
  auto &last = *static_cast<Fiber *>(pewter_switch_stack(&from.context_, to.context_, &from));
#else
  auto transfer = boost::context::detail::jump_fcontext(to.context_, &from);
  auto &last = *static_cast<Fiber *>(transfer.data);
  last.context_ = transfer.fctx;
#endif
  from.arrived(last); // Back again, from a third fiber perhaps.
}

void Fiber::abandoned([[maybe_unused]] Fiber &from, [[maybe_unused]] Fiber &to) {
#ifdef PEWTER_ASAN
  // No locals here: they would live on the shadow stack that the first call destroys.
  __sanitizer_start_switch_fiber(nullptr, to.stackBottom_, to.stackBytes_);
  __sanitizer_finish_switch_fiber(to.fakeStack_, nullptr, nullptr);
#endif
#ifdef PEWTER_TSAN
  __tsan_switch_to_fiber(to.threadFiber_, 0);
#endif
}

} // namespace pewter::cpu
