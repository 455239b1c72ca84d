// SPDX-License-Identifier: Apache-2.0
//
// Fiber: a stack and a place to go on, switched to by name in about 3 ns.
// A fiber belongs to one thread at a time and holds no objects whose destructors matter: it may be
// dropped at any point. The sanitizers are told of every switch.
//
//   FiberStacks stacks = FiberStacks::create(1, 64 << 10).value();
//   Fiber main, other;
//   main.adopt();
//   other.user = &main;
//   other.start(stacks.bottom(0), stacks.bytesEach(), [](Fiber &self) {
//     for (;;)
//       Fiber::change(self, *static_cast<Fiber *>(self.user));
//   });
//   Fiber::change(main, other);
#pragma once
#include "base/Error.h"
#include <cstddef>

namespace pewter::cpu {

/// Memory for one or more stacks, each with a page below it that traps.
class FiberStacks {
public:
  FiberStacks() = default;
  static Result<FiberStacks> create(size_t count, size_t bytesEach);
  ~FiberStacks();
  FiberStacks(FiberStacks &&other) noexcept { swap(other); }
  FiberStacks &operator=(FiberStacks &&other) noexcept {
    swap(other);
    return *this;
  }

  size_t count() const { return count_; }
  size_t bytesEach() const { return bytesEach_; } ///< As asked or more; without the trap page.
  std::byte *bottom(size_t index) const; ///< Lowest usable address.
  /// Whether an address lies in one of the trap pages: a stack ran over.
  bool isTrap(const void *address) const;

private:
  void swap(FiberStacks &other);
  std::byte *memory_ = nullptr;
  size_t count_ = 0, bytesEach_ = 0;
};

class Fiber {
public:
  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  /// Makes the fiber begin `body` at the next change to it; forgets where it was. `body` never
  /// returns.
  void start(std::byte *stackBottom, size_t stackBytes, void (*body)(Fiber &self));
  /// For the fiber that stands for the thread's own stack: call on that thread before a change.
  void adopt();
  /// Leaves `from`, which must be running, and goes on in `to`.
  static void change(Fiber &from, Fiber &to);
  /// After a long jump out of `from` onto the stack of `to`: tells the sanitizers.
  static void abandoned(Fiber &from, Fiber &to);

  void *user = nullptr; ///< The owner's.

private:
  static void enter(Fiber &from);
  void arrived(Fiber &from);

  void *context_ = nullptr; ///< While it waits: the top of its stack.
  void (*body_)(Fiber &) = nullptr;
  Fiber *target_ = nullptr;          ///< Where a running change goes to.
  const void *stackBottom_ = nullptr;
  size_t stackBytes_ = 0;
  void *fakeStack_ = nullptr;        ///< AddressSanitizer's.
  [[maybe_unused]] void *threadFiber_ = nullptr;      ///< ThreadSanitizer's.
  [[maybe_unused]] bool ownsThreadFiber_ = false;
};

} // namespace pewter::cpu
