// SPDX-License-Identifier: Apache-2.0
//
// The handler runs on a signal stack, because the thread's may be what is exhausted; it reads one
// thread-local pointer, which needs no allocation (initial-exec). Signals are not masked while it
// runs (SA_NODEFER), so the jump leaves no mask behind.
//
// Tested by FaultTrap_test.cpp and, through kernels, by cpu/CpuQueue_test.cpp.
#include "base/FaultTrap.h"
#include <array>
#include <cstdlib>
#include <mutex>
#include <sys/mman.h>

namespace pewter {
namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr size_t kSignalStackBytes = size_t(64) << 10;

[[gnu::tls_model("initial-exec")]] thread_local FaultTrap *armed = nullptr;
struct sigaction previous[kSignals.size()];

struct SignalStack {
  void *memory = nullptr;
  ~SignalStack() {
    if (!memory)
      return;
    stack_t off{};
    off.ss_flags = SS_DISABLE;
    ::sigaltstack(&off, nullptr);
    ::munmap(memory, kSignalStackBytes);
  }
};

void onFault(int signal, siginfo_t *info, void *context) {
  if (FaultTrap *trap = armed; trap && (signal != SIGABRT || trap->catchesAbort)) {
    armed = nullptr;
    trap->signal = signal;
    trap->address = info->si_addr;
    // A general protection fault (an address that no pointer can have) comes as SI_KERNEL with 0.
    trap->hasAddress = signal != SIGABRT && info->si_code > 0 && info->si_code != SI_KERNEL;
    ::siglongjmp(trap->resume, 1);
  }
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] != signal)
      continue;
    const struct sigaction &before = previous[i];
    if (before.sa_flags & SA_SIGINFO) {
      before.sa_sigaction(signal, info, context);
      return;
    }
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
      before.sa_handler(signal);
      return;
    }
    // Back to the default; the instruction faults again and ends the process as it would have.
    ::sigaction(signal, &before, nullptr);
    return;
  }
}

} // namespace

void installFaultHandlers() {
  static std::once_flag &once = *new std::once_flag;
  std::call_once(once, [] {
    struct sigaction action{};
    action.sa_sigaction = onFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    ::sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < kSignals.size(); ++i)
      ::sigaction(kSignals[i], &action, &previous[i]);
  });
}

void ensureSignalStack() {
  static thread_local bool done = false;
  if (done)
    return;
  done = true;
  stack_t now{};
  if (::sigaltstack(nullptr, &now) == 0 && !(now.ss_flags & SS_DISABLE))
    return;
  void *memory = ::mmap(nullptr, kSignalStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return;
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = kSignalStackBytes;
  if (::sigaltstack(&stack, nullptr) != 0) {
    ::munmap(memory, kSignalStackBytes);
    return;
  }
  static thread_local SignalStack owner;
  owner.memory = memory;
}

FaultTrap *armFaultTrap(FaultTrap *trap) {
  FaultTrap *before = armed;
  armed = trap;
  return before;
}

void springFaultTrap(int signal) {
  FaultTrap *trap = armed;
  if (!trap)
    return;
  armed = nullptr;
  trap->signal = signal;
  trap->address = nullptr;
  trap->hasAddress = false;
  ::siglongjmp(trap->resume, 1);
}

} // namespace pewter
