// SPDX-License-Identifier: Apache-2.0
#include "cpu/KernelFaults.h"
#include <fmt/format.h>

namespace pewter::cpu {

std::string describeFault(const FaultTrap &trap) {
  const void *address = trap.address;
  switch (trap.signal) {
  case SIGSEGV:
    if (!trap.hasAddress)
      return "accesses memory at an address that no pointer can have (SIGSEGV)";
    return fmt::format("accesses memory at {} that no buffer holds (SIGSEGV)", address);
  case SIGBUS:
    return fmt::format("accesses memory at {} that is not there (SIGBUS)", address);
  case SIGFPE:
    return "divides by zero or overflows a division (SIGFPE)";
  case SIGILL:
    return "reaches code that cannot be executed (SIGILL)";
  }
  return fmt::format("ends with signal {}", int(trap.signal));
}

} // namespace pewter::cpu
