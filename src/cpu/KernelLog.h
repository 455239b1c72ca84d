// SPDX-License-Identifier: Apache-2.0
//
// formatKernelLog: the text of one os_log call inside a kernel: a printf-like format whose arguments
// were packed into 8-byte values (integers extended, floating-point numbers as double). Never reads
// more arguments than there are; %s and %n have no meaning in a kernel and are shown as they stand.
#pragma once
#include <cstdint>
#include <string>

namespace pewter::cpu {

std::string formatKernelLog(const char *format, const uint64_t *arguments, uint32_t count);

} // namespace pewter::cpu
