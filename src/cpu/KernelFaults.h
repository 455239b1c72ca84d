// SPDX-License-Identifier: Apache-2.0
//
// What a hardware fault inside a kernel means, for the error of its command buffer.
#pragma once
#include "base/FaultTrap.h"
#include <string>

namespace pewter::cpu {

/// "accesses memory at 0x10 that no buffer holds (SIGSEGV)", to follow the kernel's name.
std::string describeFault(const FaultTrap &trap);

} // namespace pewter::cpu
