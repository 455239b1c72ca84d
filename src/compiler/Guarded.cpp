// SPDX-License-Identifier: Apache-2.0
#include "compiler/Guarded.h"
#include "base/FaultTrap.h"
#include <cstdio>
#include <cstring>
#include <llvm/Support/ErrorHandling.h>
#include <mutex>
#include <new>
#include <pthread.h>

namespace pewter::compiler {
namespace {

constexpr size_t kStackBytes = size_t(64) << 20;

struct Call {
  const std::function<void()> *work = nullptr;
  FaultTrap trap;
  bool outOfMemory = false;   ///< By an exception.
  bool missedMemory = false; ///< At some time; what became of it is another question.
  char reason[256] = "";     ///< What LLVM said, cut where it is long.
};
thread_local Call *currentCall = nullptr;
std::new_handler nextHandler = nullptr;

/// LLVM calls this before it would end the process.
void onFatalError(void *, const char *reason, bool) {
  if (currentCall && reason)
    std::snprintf(currentCall->reason, sizeof(currentCall->reason), "%s", reason);
  springFaultTrap(SIGABRT);
}

void onBadAllocation(void *, const char *, bool) {
  if (currentCall)
    currentCall->missedMemory = true;
  springFaultTrap(SIGABRT);
}

/// Much of LLVM lets no exception through, so that a std::bad_alloc ends as an abort that says nothing.
void onNoMemory() {
  if (currentCall)
    currentCall->missedMemory = true;
  if (!nextHandler)
    throw std::bad_alloc();
  nextHandler();
}

void *threadMain(void *argument) {
  Call &call = *static_cast<Call *>(argument);
  ensureSignalStack();
  if (::sigsetjmp(call.trap.resume, 0) == 0) {
    armFaultTrap(&call.trap);
    currentCall = &call;
    try {
      (*call.work)();
    } catch (const std::bad_alloc &) {
      call.outOfMemory = true;
    }
  }
  armFaultTrap(nullptr);
  currentCall = nullptr;
  return nullptr;
}

} // namespace

Result<void> runGuarded(const std::function<void()> &work, std::string_view doing) {
  installFaultHandlers();
  static std::once_flag once;
  std::call_once(once, [] {
    // Fails, in effect, only where the program has a handler of its own: then its rule holds.
    llvm::install_fatal_error_handler(onFatalError);
    llvm::install_bad_alloc_error_handler(onBadAllocation);
    nextHandler = std::set_new_handler(onNoMemory);
  });
  Call call;
  call.work = &work;
  call.trap.catchesAbort = true;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  const int status = ::pthread_create(&thread, &attributes, threadMain, &call);
  ::pthread_attr_destroy(&attributes);
  if (status != 0)
    return fail(ErrorKind::OutOfMemory, "A thread with a stack of {} bytes for {} cannot be made: {}.",
                kStackBytes, doing, std::strerror(status));
  ::pthread_join(thread, nullptr);
  if (call.outOfMemory || (call.trap.signal == SIGABRT && call.missedMemory))
    return fail(ErrorKind::OutOfMemory, "The compiler ran out of memory while {}.", doing);
  if (call.trap.signal != 0)
    return fail(ErrorKind::Compile,
                "The compiler ended with signal {} ({}) while {}: the input is damaged, or it meets a "
                "fault in the compiler{}{}.",
                int(call.trap.signal), ::strsignal(call.trap.signal), doing,
                call.reason[0] ? ": " : "", call.reason);
  return {};
}

} // namespace pewter::compiler
