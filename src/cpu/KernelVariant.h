// SPDX-License-Identifier: Apache-2.0
//
// KernelVariant: one compiled form of a kernel, loaded and ready to be called. Immutable but for the
// measured cost, which any thread may read and write.
#pragma once
#include "compiler/Compiler.h"
#include "cpu/CodeMemory.h"
#include "cpu/abi/KernelAbi.h"
#include "device/CommandStream.h"
#include <atomic>
#include <string>

namespace pewter::cpu {

struct KernelVariant {
  std::string name; ///< The kernel's, for messages.
  compiler::ThreadgroupShape shape;
  RangeEntry rangeEntry = nullptr;
  SimdgroupEntry simdgroupEntry = nullptr;
  uint32_t lanesPerCall = 32;
  uint32_t stackBytes = 0;
  uint32_t staticThreadgroupBytes = 0;
  bool usesThreadgroupBarrier = false;
  CodeMemory code; ///< Empty when the entries are functions of the program.
  KernelVariant *next = nullptr; ///< In the pipeline's list.

  /// Clock ticks that one threadgroup takes, as last measured; 0 when it never ran. Rises at once
  /// and falls slowly, so that a kernel with calls of many sizes counts as an expensive one; but the
  /// first few values are just replaced: they show cold caches.
  mutable std::atomic<float> ticksPerGroup{0};
  mutable std::atomic<uint32_t> timesMeasured{0};

  bool isExactlyFor(const device::Size3 &size) const {
    return shape.kind == compiler::ThreadgroupShape::Kind::Exact && shape.size[0] == size.x &&
           shape.size[1] == size.y && shape.size[2] == size.z;
  }
};

} // namespace pewter::cpu
