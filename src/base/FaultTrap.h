// SPDX-License-Identifier: Apache-2.0
//
// FaultTrap: turns a hardware fault inside work that must not end the process (a kernel, the
// compiler on a damaged module) into an error of that work. A thread that runs such work arms a
// trap; the signal handler jumps out to it. A fault anywhere else goes to the handler that was there
// before.
//
//   FaultTrap trap;
//   if (sigsetjmp(trap.resume, 0) == 0) { armFaultTrap(&trap); work(); armFaultTrap(nullptr); }
//   else report(trap.signal, trap.address);
#pragma once
#include <csetjmp>
#include <csignal>

namespace pewter {

struct FaultTrap {
  sigjmp_buf resume;
  bool catchesAbort = false;        ///< Also springs at abort(), by which libraries give up.
  volatile int signal = 0;          ///< What happened, after the jump.
  void *volatile address = nullptr; ///< The address that faulted, where the processor told one.
  volatile bool hasAddress = false; ///< Not after a non-canonical address or a signal of software.
};

/// Installs the handlers; cheap after the first call.
void installFaultHandlers();
/// Gives the calling thread a stack of its own for signal handlers, unless it has one.
void ensureSignalStack();

/// Arms a trap on this thread, or disarms with null; returns the one before.
FaultTrap *armFaultTrap(FaultTrap *trap);

/// Jumps to this thread's trap as if `signal` had come; returns where none is armed. For libraries
/// that report a fatal error by a call and would end the process behind it.
void springFaultTrap(int signal);

} // namespace pewter
