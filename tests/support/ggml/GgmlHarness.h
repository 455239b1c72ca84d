// SPDX-License-Identifier: Apache-2.0
//
// Runs kernels of the Apple-built library in llama.rn and compares them with double-precision
// references, and with the same source compiled by us on the same inputs. A test describes a
// dispatch by names: the kernel, its function constants, the fields of its argument struct (found
// through reflection, so no struct is repeated here), its buffers and its geometry. Every output
// element is compared. The program prints tables by family (Families.h) at its end.
//
//   Dispatch d("kernel_scale_f32");
//   d.field("scale", 2.0).field("bias", 1.0);
//   d.buffer(1, floats(x)).output(2, n * 4).threads({n, 1, 1}, {1, 1, 1});
//   checkFloats(d, 2, reference, 1e-6);
#pragma once
#include "runner/Executors.h"
#include <functional>
#include <random>
#include <variant>

namespace pewter::testing {

/// A tensor's shape as the library sees it: elements and byte strides of four dimensions, the first
/// innermost.
struct Tensor {
  std::array<int64_t, 4> ne{1, 1, 1, 1};
  std::array<int64_t, 4> nb{};
  /// Contiguous, of blocks of `blockElements` elements in `blockBytes` bytes.
  static Tensor of(std::array<int64_t, 4> ne, int64_t blockBytes = 4, int64_t blockElements = 1);
  int64_t elements() const { return ne[0] * ne[1] * ne[2] * ne[3]; }
  int64_t rows() const { return ne[1] * ne[2] * ne[3]; }
  int64_t bytes() const { return nb[3] * ne[3]; }
};

/// Which library a kernel is taken from.
enum class Library { Apple, Ours };
/// One way to run a kernel.
struct Subject {
  Executor executor;
  Library library = Library::Apple;
  /// Kernels that prefer code for exactly their threadgroup get it, as they would from the device.
  bool exactShapes = false;
};
std::string nameOf(const Subject &subject); ///< "CpuAvx2, compiled by us, exact shapes"

class Dispatch {
public:
  explicit Dispatch(std::string kernel);

  /// A field of the argument struct at buffer `structSlot` (0).
  Dispatch &field(const std::string &name, double value);
  Dispatch &field(const std::string &name, const std::vector<double> &values);
  /// ne0x and nb0x for prefix "0", ne1x for "1", ne0..ne3 for "".
  Dispatch &tensor(const std::string &prefix, const Tensor &tensor);
  Dispatch &constant(uint32_t index, bool value);
  Dispatch &constant16(uint32_t index, int16_t value);
  Dispatch &constant32(uint32_t index, int32_t value);
  /// Input; `slack` bytes may be read behind it, as hosts of this library allow for its row
  /// kernels.
  Dispatch &buffer(uint32_t slot, Bytes contents, size_t slack = 0);
  Dispatch &output(uint32_t slot, size_t bytes);
  /// Slot `slot` is the same memory as slot `other`.
  Dispatch &alias(uint32_t slot, uint32_t other);
  Dispatch &threadgroupMemory(uint32_t bytes);
  Dispatch &groups(Size groups, Size threads);

  const std::string &kernel() const { return kernel_; }
  Result<Buffers> run(const Subject &subject);

private:
  std::string kernel_;
  std::map<std::string, std::vector<double>> fields_;
  std::map<uint32_t, size_t> slack_;
  KernelCase case_;
};

/// The executors that the families run on: PEWTER_GGML_EXECUTORS=Oracle,CpuAvx2,... or the best
/// one. PEWTER_GGML_LIBRARIES=apple leaves out the comparison with our build of the source.
std::vector<Executor> familyExecutors();

bool libraryIsPresent();
/// The constant array `name` of the module that holds `kernel`, as bytes: the code books of the
/// smallest quantised types are data of the library, not of this test.
Bytes constantArray(const std::string &kernel, const std::string &name);

/// Notes that a kernel of the library compiled at every setting that was tried.
void recordCompiled(const std::string &kernel);

/// Runs and compares: error relative to the largest reference magnitude must not pass `tolerance`.
enum class ElementType { F32, F16, BF16, I32 };
void checkOutput(Dispatch &dispatch, uint32_t slot, const std::vector<double> &reference,
                 double tolerance, ElementType type = ElementType::F32);
/// For what no plain comparison fits: `error` gives the error of a result's bytes.
void checkWith(Dispatch &dispatch, uint32_t slot, const std::function<double(const Bytes &)> &error,
               double tolerance);
/// Runs a dispatch whose result feeds another; fails the test when it cannot.
Bytes runFor(Dispatch &dispatch, uint32_t slot, const Subject &subject);
/// A chain of dispatches checked at its end: `make` runs it and gives the output.
void checkChain(const std::vector<std::string> &kernels,
                const std::function<Bytes(const Subject &)> &make,
                const std::vector<double> &reference, double tolerance,
                ElementType type = ElementType::F32);

/// Random numbers, new in every run; PEWTER_GGML_SEED repeats one that the program printed.
class Numbers {
public:
  explicit Numbers(uint64_t stream = 1);
  std::vector<double> uniform(size_t n, double low = -1, double high = 1);
  uint32_t below(uint32_t n) { return uint32_t(random_() % n); }
  uint64_t bits() { return random_(); }

private:
  std::mt19937_64 random_;
};

/// Values rounded to a type, and their bytes. `rounded` changes the values to what is stored.
Bytes storeAs(std::vector<double> &values, ElementType type);
std::vector<double> loadAs(const Bytes &bytes, ElementType type);
uint32_t elementBytes(ElementType type);
const char *suffixOf(ElementType type); ///< "f32"

} // namespace pewter::testing
