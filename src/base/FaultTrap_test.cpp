// SPDX-License-Identifier: Apache-2.0
#include "base/FaultTrap.h"
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <thread>

namespace pewter {
namespace {

/// The signal that `work` ended with on a thread of its own; 0 when it came to its end.
template <typename Work> int signalOf(Work work, void **address = nullptr) {
  installFaultHandlers();
  FaultTrap trap;
  trap.catchesAbort = true;
  std::thread([&] {
    ensureSignalStack();
    if (::sigsetjmp(trap.resume, 0) == 0) {
      armFaultTrap(&trap);
      work();
      armFaultTrap(nullptr);
    }
  }).join();
  if (address)
    *address = trap.address;
  return trap.signal;
}

TEST(FaultTrap, IsSprungByAFatalCallWhereItIsArmed) {
  EXPECT_EQ(signalOf([] { springFaultTrap(SIGABRT); }), SIGABRT);
  EXPECT_EQ(signalOf([] {}), 0);
  springFaultTrap(SIGABRT); // Nothing is armed here.
}

#ifndef PEWTER_NO_FAULT_TESTS
TEST(FaultTrap, CatchesAnAbortWhereAsked) {
  EXPECT_EQ(signalOf([] { std::abort(); }), SIGABRT);
  EXPECT_EQ(signalOf([] { std::abort(); }), SIGABRT) << "a second time";
}

TEST(FaultTrap, CatchesABadAddressAndSaysWhich) {
  void *page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void *address = nullptr;
  EXPECT_EQ(signalOf([&] { *static_cast<volatile int *>(page) = 1; }, &address), SIGSEGV);
  EXPECT_EQ(address, page);
  EXPECT_EQ(signalOf([&] { *static_cast<volatile int *>(page) = 1; }), SIGSEGV) << "a second time";
  ::munmap(page, 4096);
}

TEST(FaultTrap, SaysWhereAFaultHasNoAddress) {
  auto trapOf = [](auto work) {
    FaultTrap trap;
    std::thread([&] {
      ensureSignalStack();
      if (sigsetjmp(trap.resume, 0) == 0) {
        armFaultTrap(&trap);
        work();
        armFaultTrap(nullptr);
      }
    }).join();
    return std::pair(int(trap.signal), bool(trap.hasAddress));
  };
  installFaultHandlers();
  EXPECT_EQ(trapOf([] { *reinterpret_cast<volatile int *>(16) = 1; }), std::pair(SIGSEGV, true));
#ifdef __x86_64__
  // No pointer has these upper bits, and the processor does not tell which was used.
  EXPECT_EQ(trapOf([] { *reinterpret_cast<volatile int *>(0x0123456789abcdef) = 1; }),
            std::pair(SIGSEGV, false));
#endif
  EXPECT_EQ(trapOf([] { springFaultTrap(SIGABRT); }), std::pair(SIGABRT, false));
}

[[gnu::noinline]] int endless(volatile int *depth) {
  *depth = *depth + 1;
  if (*depth < 0)
    return 0;
  volatile char room[4096];
  room[*depth % 4096] = 1;
  return endless(depth) + room[0];
}

TEST(FaultTrap, CatchesAStackThatRanOver) {
  volatile int depth = 0;
  EXPECT_EQ(signalOf([&] { endless(&depth); }), SIGSEGV);
  EXPECT_GT(depth, 100);
}
#endif

} // namespace
} // namespace pewter
