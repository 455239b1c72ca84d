// SPDX-License-Identifier: Apache-2.0
//
// Makes a pipeline of every kernel of a library, on all cores.
#pragma once
#include "air/Metallib.h"
#include "compiler/Compiler.h"
#include <atomic>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
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

/// What came of one function of a library.
struct Compiled {
  std::string problem; ///< "" when it compiled at every setting.
  double seconds = 0;  ///< Of the settings together.
};

/// One entry per function of the library.
inline std::vector<Compiled> compileLibrary(const compiler::EntryPoints &points,
                                            const air::Metallib &library,
                                            compiler::TargetKind target) {
  std::vector<Compiled> results(library.functions.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < results.size(); i = next++) {
      const auto start = std::chrono::steady_clock::now();
      for (const ConstantSetting &setting : kConstantSettings)
        if (results[i].problem.empty())
          results[i].problem = compileForTest(points, library.functions[i], target, setting);
      results[i].seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
  };
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    workers.emplace_back(work);
  workers.clear();
  return results;
}

/// "354 of 354 kernels compiled, 0.4 s each, longest 9.1 s (kernel_x)"
inline std::string summaryOf(const std::vector<Compiled> &results, const air::Metallib &library) {
  size_t done = 0, longest = 0;
  double sum = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    done += results[i].problem.empty();
    sum += results[i].seconds;
    if (results[i].seconds > results[longest].seconds)
      longest = i;
  }
  return results.empty()
             ? "no kernels"
             : fmt::format("{} of {} kernels compiled, {:.1f} s each, longest {:.1f} s ({})", done,
                           results.size(), sum / double(results.size()), results[longest].seconds,
                           library.functions[longest].name);
}

} // namespace pewter::testing
