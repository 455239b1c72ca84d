// SPDX-License-Identifier: Apache-2.0
#include "runner/Executors.h"
#include "base/Toggles.h"
#include "device/CompilerLibrary.h"
#include "runner/CarriedResults.h"
#include <cstring>
#include <sys/mman.h>

namespace pewter::testing {
namespace {

/// Bytes that end at a page which faults; the page before the first faults too.
class GuardedBytes {
public:
  explicit GuardedBytes(const Bytes &contents) : size_(contents.size()) {
    // Buffers keep an alignment of 16 (the largest of any type); the rest of the gap to the end
    // page is checked after the run.
    inner_ = (size_ + 4095) / 4096 * 4096;
    base_ = static_cast<std::byte *>(
        mmap(nullptr, inner_ + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_, 4096, PROT_NONE);
    mprotect(base_ + 4096 + inner_, 4096, PROT_NONE);
    std::memset(base_ + 4096, kGap, inner_);
    data_ = base_ + 4096 + (inner_ - size_) / 16 * 16;
    if (size_)
      std::memcpy(data_, contents.data(), size_);
  }
  GuardedBytes(const GuardedBytes &) = delete;
  ~GuardedBytes() { munmap(base_, inner_ + 8192); }

  std::byte *data() const { return data_; }
  Bytes contents() const { return Bytes(data_, data_ + size_); }
  bool gapsAreIntact() const {
    for (const std::byte *at = base_ + 4096; at != base_ + 4096 + inner_; ++at)
      if ((at < data_ || at >= data_ + size_) && *at != std::byte(kGap))
        return false;
    return true;
  }

private:
  static constexpr int kGap = 0x6d;
  size_t size_, inner_;
  std::byte *base_, *data_;
};

std::string describe(const compiler::ThreadgroupShape &shape) {
  switch (shape.kind) {
  case compiler::ThreadgroupShape::Kind::RowMultiple:
    return "row multiple";
  case compiler::ThreadgroupShape::Kind::Any:
    return "any shape";
  case compiler::ThreadgroupShape::Kind::Exact:
    return fmt::format("exactly {}x{}x{}", shape.size[0], shape.size[1], shape.size[2]);
  }
  return "";
}

} // namespace

const char *nameOf(Executor executor) {
  switch (executor) {
  case Executor::Oracle:
    return "Oracle";
  case Executor::CpuBaseline:
    return "CpuBaseline";
  case Executor::CpuAvx2:
    return "CpuAvx2";
  case Executor::CpuAvx512:
    return "CpuAvx512";
  case Executor::CpuAvx512Vnni:
    return "CpuAvx512Vnni";
  case Executor::Cuda:
    return "Cuda";
  }
  return "";
}

compiler::TargetKind targetOf(Executor executor) {
  switch (executor) {
  case Executor::Oracle:
    return compiler::TargetKind::CpuOracle;
  case Executor::CpuBaseline:
    return compiler::TargetKind::CpuBaseline;
  case Executor::CpuAvx2:
    return compiler::TargetKind::CpuAvx2;
  case Executor::CpuAvx512:
    return compiler::TargetKind::CpuAvx512;
  case Executor::CpuAvx512Vnni:
    return compiler::TargetKind::CpuAvx512Vnni;
  case Executor::Cuda:
    return compiler::TargetKind::Ptx;
  }
  return compiler::TargetKind::CpuOracle;
}

bool isAvailable(Executor executor) {
  if (auto chosen = environment("PEWTER_EXECUTORS");
      chosen && ("," + *chosen + ",").find(fmt::format(",{},", nameOf(executor))) == std::string::npos)
    return false;
  if (executor == Executor::Cuda)
    return cudaIsAvailable();
#if defined(__x86_64__)
  switch (executor) {
  case Executor::Oracle:
  case Executor::CpuAvx2:
    return __builtin_cpu_supports("x86-64-v3");
  case Executor::CpuBaseline:
    return __builtin_cpu_supports("x86-64-v2");
  case Executor::CpuAvx512:
    return __builtin_cpu_supports("x86-64-v4");
  case Executor::CpuAvx512Vnni:
    return __builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512vnni");
  default:
    return false;
  }
#endif
  return executor == Executor::Oracle;
}

std::vector<compiler::ThreadgroupShape> shapesOf(const Launch &launch) {
  using Kind = compiler::ThreadgroupShape::Kind;
  std::vector<compiler::ThreadgroupShape> shapes{{Kind::Any, {0, 0, 0}}};
  bool rowsAreFull =
      launch.threadsPerGrid[0] % 32 == 0 && launch.threadsPerThreadgroup[0] % 32 == 0;
  bool isExact = true;
  for (int i = 0; i < 3; ++i)
    isExact = isExact && launch.threadsPerGrid[i] % launch.threadsPerThreadgroup[i] == 0;
  if (rowsAreFull)
    shapes.push_back({Kind::RowMultiple, {0, 0, 0}});
  if (isExact)
    shapes.push_back({Kind::Exact, launch.threadsPerThreadgroup});
  return shapes;
}

Result<std::shared_ptr<const LoadedImage>> compiled(const KernelCase &test, Executor executor,
                                                    const compiler::ThreadgroupShape &shape) {
  compiler::KernelRequest request;
  request.module = *test.module;
  request.function = test.function;
  request.constants = test.constants;
  request.target = targetOf(executor);
  request.shape = shape;
  std::string key = fmt::format("{} {} {} {}", hashOf(request.module).hex(), request.function,
                                nameOf(executor), describe(shape));
  for (const compiler::ConstantValue &constant : request.constants)
    key += fmt::format(" {}:{}:{}", constant.index, unsigned(constant.type),
                       hashOf(std::span(constant.bytes)).hex());
  static std::map<std::string, std::shared_ptr<const LoadedImage>> cache;
  if (auto known = cache.find(key); known != cache.end())
    return known->second;

  PEWTER_TRY(const compiler::EntryPoints *points, device::compilerLibrary());
  PEWTER_TRY(compiler::KernelImage bytes, points->compileKernel(request));
  PEWTER_TRY(cpu::KernelImage image, cpu::parseKernelImage(bytes.image));
  PEWTER_TRY(std::unique_ptr<LoadedImage> loaded, LoadedImage::load(std::move(image)));
  if (cache.size() > 256)
    cache.clear();
  return cache[key] = std::move(loaded);
}

Result<Buffers> runOn(const KernelCase &test, Executor executor,
                      const compiler::ThreadgroupShape &shape) {
  if (executor == Executor::Cuda)
    return runOnCuda(test);
  if (executor == Executor::Oracle)
    if (auto carried = carriedResult(test))
      return std::move(*carried);
  PEWTER_TRY(std::shared_ptr<const LoadedImage> image, compiled(test, executor, shape));
  std::map<uint32_t, GuardedBytes> memory;
  Launch launch = test.launch;
  for (const auto &[slot, contents] : test.buffers)
    launch.buffers[slot] = memory.try_emplace(slot, contents).first->second.data();
  for (auto [slot, other] : test.sameAs)
    launch.buffers[slot] = launch.buffers.at(other);

  if (executor == Executor::Oracle)
    PEWTER_TRY_VOID(runOracleImage(*image, launch));
  else
    PEWTER_TRY_VOID(runVectorImage(*image, launch));

  Buffers results;
  for (const auto &[slot, bytes] : memory) {
    if (!bytes.gapsAreIntact())
      return fail(ErrorKind::DeviceLost, "Kernel \"{}\" wrote outside buffer [{}].", test.function,
                  slot);
    results[slot] = bytes.contents();
  }
  if (executor == Executor::Oracle)
    carryResult(test, results);
  return results;
}

std::string firstDifference(const Buffers &expected, const Buffers &actual) {
  for (const auto &[slot, bytes] : expected) {
    const Bytes &other = actual.at(slot);
    if (bytes == other)
      continue;
    size_t at = 0, differing = 0;
    for (size_t i = bytes.size(); i-- > 0;)
      if (bytes[i] != other[i]) {
        at = i;
        ++differing;
      }
    size_t word = at / 4 * 4;
    auto text = [&](const Bytes &from) {
      uint32_t bits = 0;
      std::memcpy(&bits, from.data() + word, std::min<size_t>(4, from.size() - word));
      return fmt::format("{:#010x} ({})", bits, std::bit_cast<float>(bits));
    };
    return fmt::format(
        "buffer {}: {} bytes differ, first at byte {} (word {}): expected {}, got {}", slot,
        differing, at, word / 4, text(bytes), text(other));
  }
  return "";
}

std::string disagreement(const KernelCase &test) {
  auto shapes = shapesOf(test.launch);
  auto expected = runOn(test, Executor::Oracle, shapes[0]);
  if (!expected)
    return "Oracle: " + expected.error().describe();
  for (Executor executor : kAllExecutors) {
    if (executor == Executor::Oracle || !isAvailable(executor))
      continue;
    for (const compiler::ThreadgroupShape &shape : shapes) {
      // Shapes are the same work for every ISA: the baseline shows its arithmetic with one of them.
      // A GPU has one form for all.
      if ((executor == Executor::CpuBaseline || executor == Executor::Cuda) && &shape != &shapes[0])
        break;
      auto actual = runOn(test, executor, shape);
      std::string difference =
          actual ? firstDifference(*expected, *actual) : actual.error().describe();
      if (!difference.empty())
        return fmt::format("{}, {}: {}", nameOf(executor), describe(shape), difference);
    }
  }
  return "";
}

} // namespace pewter::testing
