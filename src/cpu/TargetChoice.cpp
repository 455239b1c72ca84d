// SPDX-License-Identifier: Apache-2.0
//
// Tested by CodeMemory_test.cpp.
#include "cpu/TargetChoice.h"
#include "base/Toggles.h"
#include <array>
#include <cstdio>
#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace pewter::cpu {
using compiler::TargetKind;
namespace {

constexpr std::array<std::pair<TargetKind, std::string_view>, 6> kNames{{
    {TargetKind::CpuAvx512Vnni, "avx512vnni"},
    {TargetKind::CpuAvx512, "avx512"},
    {TargetKind::CpuAvx2, "avx2"},
    {TargetKind::CpuBaseline, "baseline"},
    {TargetKind::CpuNeon, "neon"},
    {TargetKind::CpuOracle, "oracle"},
}};

} // namespace

std::string_view nameOf(TargetKind target) {
  for (auto &[kind, name] : kNames)
    if (kind == target)
      return name;
  return "unknown";
}

bool canRun(TargetKind target) {
#if defined(__x86_64__)
  switch (target) {
  case TargetKind::CpuAvx512Vnni:
    return __builtin_cpu_supports("avx512vnni") && canRun(TargetKind::CpuAvx512);
  case TargetKind::CpuAvx512:
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && canRun(TargetKind::CpuAvx2);
  case TargetKind::CpuAvx2: {
    unsigned a, b, c, d;
    bool hasHalf = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && hasHalf;
  }
  case TargetKind::CpuBaseline:
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  default:
    return false;
  }
#else
  return target == TargetKind::CpuNeon;
#endif
}

TargetKind chooseTarget() {
  TargetKind best = TargetKind::CpuBaseline;
  for (TargetKind kind : {TargetKind::CpuNeon, TargetKind::CpuAvx2, TargetKind::CpuAvx512,
                          TargetKind::CpuAvx512Vnni})
    if (canRun(kind))
      best = kind;
  auto wish = environment("PEWTER_CPU_TARGET");
  if (!wish || wish->empty())
    return best;
  for (auto &[kind, name] : kNames) {
    if (name != *wish)
      continue;
    if (canRun(kind))
      return kind;
    std::fprintf(stderr,
                 "pewter: PEWTER_CPU_TARGET is \"%s\", which this processor cannot run; %s is "
                 "used.\n",
                 wish->c_str(), std::string(nameOf(best)).c_str());
    return best;
  }
  std::fprintf(stderr,
               "pewter: PEWTER_CPU_TARGET is \"%s\"; expected avx512vnni, avx512, avx2 or baseline. "
               "%s is used.\n",
               wish->c_str(), std::string(nameOf(best)).c_str());
  return best;
}

std::string processorName() {
#if defined(__x86_64__)
  std::array<unsigned, 12> words{};
  for (unsigned i = 0; i < 3; ++i)
    if (!__get_cpuid(0x80000002 + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                     &words[4 * i + 3]))
      return "x86-64 processor";
  char text[49] = {};
  std::memcpy(text, words.data(), 48);
  std::string name(text);
  name.erase(0, name.find_first_not_of(' '));
  name.erase(name.find_last_not_of(' ') + 1);
  return name.empty() ? "x86-64 processor" : name;
#else
  return "AArch64 processor";
#endif
}

} // namespace pewter::cpu
