// SPDX-License-Identifier: Apache-2.0
//
// Tested by KernelLog_test.cpp.
#include "cpu/KernelLog.h"
#include <bit>
#include <cstdio>
#include <cstring>

namespace pewter::cpu {
namespace {

/// Widths and precisions in a format are at most this long, so a hostile one cannot fill memory.
constexpr size_t kMaxDirective = 24;

std::string formatOne(const std::string &directive, char conversion, uint64_t value) {
  char text[512];
  const char *format = directive.c_str();
  int length = 0;
  switch (conversion) {
  case 'd':
  case 'i':
    length = std::snprintf(text, sizeof(text), format, static_cast<long long>(value));
    break;
  case 'u':
  case 'x':
  case 'X':
  case 'o':
    length = std::snprintf(text, sizeof(text), format, static_cast<unsigned long long>(value));
    break;
  case 'c':
    length = std::snprintf(text, sizeof(text), format, static_cast<int>(value & 0xff));
    break;
  case 'p':
    length = std::snprintf(text, sizeof(text), format, reinterpret_cast<void *>(value));
    break;
  default: {
    // A float's bits fill the lower half; as a double they would be next to nothing.
    const bool isFloat = value >> 32 == 0;
    const double number =
        isFloat ? double(std::bit_cast<float>(uint32_t(value))) : std::bit_cast<double>(value);
    length = std::snprintf(text, sizeof(text), format, number);
    break;
  }
  }
  if (length < 0)
    return directive;
  return std::string(text, std::min<size_t>(size_t(length), sizeof(text) - 1));
}

} // namespace

std::string formatKernelLog(const char *format, const uint64_t *arguments, uint32_t count) {
  std::string out;
  uint32_t used = 0;
  for (const char *at = format; *at;) {
    if (*at != '%') {
      out += *at++;
      continue;
    }
    if (at[1] == '%') {
      out += '%';
      at += 2;
      continue;
    }
    size_t flags = 1 + std::strspn(at + 1, "-+ #0123456789.");
    size_t modifiers = std::strspn(at + flags, "hlLqjzt");
    char conversion = at[flags + modifiers];
    bool known = conversion && std::strchr("diuxXocpfFeEgGaA", conversion) && flags < kMaxDirective;
    if (!known || used == count) {
      out += *at++;
      continue;
    }
    bool isInteger = std::strchr("diuxXo", conversion) != nullptr;
    std::string directive(at, flags);
    uint64_t value = arguments[used++];
    // A value narrower than a long was extended by its own sign; print it by its own width.
    if (isInteger && modifiers == 0 && !std::strchr("di", conversion))
      value &= 0xffffffff;
    if (isInteger)
      directive += "ll";
    out += formatOne(directive + conversion, conversion, value);
    at += flags + modifiers + 1;
  }
  return out;
}

} // namespace pewter::cpu
