// SPDX-License-Identifier: Apache-2.0
//
// Makes a pipeline of every kernel of a library, on all cores.
#pragma once
#include "air/Metallib.h"
#include "compiler/Compiler.h"
#include <atomic>
#include <cstring>
#include <thread>

namespace pewter::testing {

/// Values for all function constants of a kernel.
struct ConstantSetting {
  bool flag;
  int64_t number; ///< Of every constant that is not a bool.
};
inline constexpr ConstantSetting kConstantSettings[] = {{true, 4}, {false, 1}};

/// The widest instruction set of this machine.
inline compiler::TargetKind bestCpuTarget() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("x86-64-v4")   ? compiler::TargetKind::CpuAvx512
         : __builtin_cpu_supports("x86-64-v3") ? compiler::TargetKind::CpuAvx2
                                               : compiler::TargetKind::CpuBaseline;
#else
  return compiler::TargetKind::CpuNeon;
#endif
}

/// "" or what went wrong.
inline std::string compileForTest(const compiler::EntryPoints &points,
                                  const air::MetallibFunction &function,
                                  compiler::TargetKind target, const ConstantSetting &setting) {
  compiler::KernelRequest request;
  request.module = function.module;
  request.function = function.name;
  request.target = target;
  for (const air::MetallibConstant &constant : function.constants) {
    compiler::ConstantValue value{constant.index, constant.type, {}};
    const int64_t bits = constant.type == air::DataType::Bool ? setting.flag : setting.number;
    std::memcpy(value.bytes.data(), &bits, sizeof(bits));
    request.constants.push_back(value);
  }
  auto image = points.compileKernel(request);
  return image ? "" : image.error().describe();
}

/// One text per function of the library, "" where it compiled at every setting.
inline std::vector<std::string> compileLibrary(const compiler::EntryPoints &points,
                                               const air::Metallib &library,
                                               compiler::TargetKind target) {
  std::vector<std::string> problems(library.functions.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < problems.size(); i = next++)
      for (const ConstantSetting &setting : kConstantSettings)
        if (problems[i].empty())
          problems[i] = compileForTest(points, library.functions[i], target, setting);
  };
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    workers.emplace_back(work);
  workers.clear();
  return problems;
}

} // namespace pewter::testing
