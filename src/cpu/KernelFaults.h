// SPDX-License-Identifier: Apache-2.0
//
// KernelFaults: turns a hardware fault inside a kernel (a bad address, an illegal instruction, a
// division trap, a stack that ran over) into an error of its command buffer, instead of the end of
// the process. A thread that runs a kernel has an armed FaultTrap; the signal handler jumps out to
// it. A fault anywhere else goes to the handler that was there before.
#pragma once
#include <csetjmp>
#include <csignal>
#include <string>

namespace pewter::cpu {

struct FaultTrap {
  sigjmp_buf resume;
  volatile int signal = 0;          ///< What happened, after the jump.
  void *volatile address = nullptr; ///< The address that faulted, where the signal has one.
};

/// Installs the handlers; cheap after the first call.
void installFaultHandlers();
/// Gives the calling thread a stack of its own for signal handlers, unless it has one.
void ensureSignalStack();

/// Arms a trap on this thread, or disarms with null; returns the one before.
FaultTrap *armFaultTrap(FaultTrap *trap);

/// "accesses memory at 0x10 that no buffer holds (SIGSEGV)", to follow the kernel's name.
std::string describeFault(int signal, const void *address);

} // namespace pewter::cpu
