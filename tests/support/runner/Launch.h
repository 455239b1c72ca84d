// SPDX-License-Identifier: Apache-2.0
//
// Launch: one dispatch as tests describe it, and LoadedImage: a compiled kernel in executable
// memory.
#pragma once
#include "cpu/abi/KernelAbi.h"
#include "cpu/abi/KernelImage.h"
#include <array>
#include <map>

namespace pewter::testing {

using Size = std::array<uint32_t, 3>;

struct Launch {
  Size threadsPerGrid{1, 1, 1};
  Size threadsPerThreadgroup{32, 1, 1};
  std::map<uint32_t, void *> buffers;             ///< By [[buffer(n)]]; absent: null.
  std::map<uint32_t, uint32_t> threadgroupMemory; ///< Bytes by [[threadgroup(n)]].

  Size threadgroupsPerGrid() const;
  /// The size of the threadgroup at `position`: smaller at an edge that does not divide.
  Size sizeAt(const Size &position) const;
  uint64_t threadgroups() const;
  Size positionOf(uint64_t threadgroup) const;
};

inline uint32_t product(const Size &size) { return size[0] * size[1] * size[2]; }

class LoadedImage {
public:
  static Result<std::unique_ptr<LoadedImage>> load(cpu::KernelImage image);
  ~LoadedImage();
  LoadedImage(const LoadedImage &) = delete;
  LoadedImage &operator=(const LoadedImage &) = delete;

  const cpu::KernelImage &image() const { return image_; }
  std::byte *at(uint64_t offset) const { return code_ + offset; }

private:
  explicit LoadedImage(cpu::KernelImage image) : image_(std::move(image)) {}
  cpu::KernelImage image_;
  std::byte *code_ = nullptr;
};

/// The `arguments` array of the calling convention and the size of the threadgroup's block.
struct BoundArguments {
  std::vector<void *> values;
  uint32_t threadgroupBytes = 0;
};
BoundArguments bindArguments(const cpu::KernelImage &image, const Launch &launch);

/// What every KernelContext of the launch has in common.
cpu::KernelContext contextOf(const Launch &launch, const cpu::RuntimeTable *runtime,
                             void *threadgroupMemory);

/// A threadgroup's block, filled with a pattern that is a NaN in every float format.
class ThreadgroupBlock {
public:
  explicit ThreadgroupBlock(uint32_t bytes);
  void poison();
  void *data() { return storage_.get(); }

private:
  struct Free {
    void operator()(void *p) const;
  };
  uint32_t bytes_;
  std::unique_ptr<void, Free> storage_;
};

/// Runs the launch on vector code, one threadgroup after the other on this thread.
Result<void> runVectorImage(const LoadedImage &image, const Launch &launch);
/// The same on oracle code.
Result<void> runOracleImage(const LoadedImage &image, const Launch &launch);

} // namespace pewter::testing
