// SPDX-License-Identifier: Apache-2.0
//
// Executor: everything that can run a kernel in this test tree, in one enum. A kernel test states a
// case once and runs it on all of them; an executor added here is in every test.
//
//   KernelCase test{.module = bitcode, .function = "saxpy", .launch = {{1000,1,1}, {64,1,1}}};
//   test.buffers[0] = bytesOf(input);
//   test.buffers[1] = poison(4000);
//   expectSameEverywhere(test);
#pragma once
#include "compiler/Compiler.h"
#include "runner/Launch.h"
#include <algorithm>
#include <memory>
#include <optional>

namespace pewter::testing {

enum class Executor { Oracle, CpuBaseline, CpuAvx2, CpuAvx512, CpuAvx512Vnni, Cuda };
inline constexpr Executor kAllExecutors[] = {Executor::Oracle, Executor::CpuBaseline,
                                             Executor::CpuAvx2, Executor::CpuAvx512,
                                             Executor::CpuAvx512Vnni, Executor::Cuda};

const char *nameOf(Executor executor);
compiler::TargetKind targetOf(Executor executor);
/// Whether this machine has the instructions, or the GPU; only those that PEWTER_EXECUTORS names, if set.
bool isAvailable(Executor executor);
bool cudaIsAvailable();

using Buffers = std::map<uint32_t, Bytes>; ///< Contents by [[buffer(n)]].

struct KernelCase {
  std::shared_ptr<const Bytes> module; ///< Bitcode.
  std::string function;
  std::vector<compiler::ConstantValue> constants;
  Launch launch; ///< Its buffers are filled in by the runner.
  Buffers buffers;
  /// Slots that get the contents of another slot's memory: [[buffer(a)]] is the same as
  /// [[buffer(b)]].
  std::map<uint32_t, uint32_t> sameAs;
};

/// Shapes that the kernel can be compiled for and still run this launch.
std::vector<compiler::ThreadgroupShape> shapesOf(const Launch &launch);

/// Compiles (once per request and process) and loads; for processors.
Result<std::shared_ptr<const LoadedImage>> compiled(const KernelCase &test, Executor executor,
                                                    const compiler::ThreadgroupShape &shape);

/// Runs and gives back every buffer's contents. Buffers stand between pages that fault, so that an
/// access past either end is a crash here and not a wrong number elsewhere. On a GPU (runOnCuda) only
/// what is written past an end is found, and the shape is not used.
Result<Buffers> runOnCuda(const KernelCase &test);
Result<Buffers> runOn(const KernelCase &test, Executor executor,
                      const compiler::ThreadgroupShape &shape);

/// The first difference between two results, as text; "" when there is none.
std::string firstDifference(const Buffers &expected, const Buffers &actual);

/// Runs on the oracle, then on every other available executor and for every shape; the first
/// disagreement or failure as text, or "".
std::string disagreement(const KernelCase &test);

template <class T> Bytes bytesOf(const std::vector<T> &values) {
  auto view = std::as_bytes(std::span(values));
  return Bytes(view.begin(), view.end());
}
template <class T> std::vector<T> valuesOf(const Bytes &bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::copy_n(bytes.data(), values.size() * sizeof(T),
              reinterpret_cast<std::byte *>(values.data()));
  return values;
}
/// Output memory that has not been written.
inline Bytes poison(size_t size) { return Bytes(size, std::byte(0xdb)); }

} // namespace pewter::testing
