// SPDX-License-Identifier: Apache-2.0
//
// The calling convention between compiled CPU kernels and the CPU device. Plain data shared by
// cpu/ (which calls) and cpu/codegen/ (which makes the code); every change raises kAbiVersion,
// which is part of each image and of each cache key.
//
// An image has two entries; which of them exist is said in its header (KernelImage.h):
//
//   range entry      runs whole threadgroups [begin, end), in order of their linear index
//                    x + groups.x * (y + groups.y * z), every SIMD group of each. It exists when no
//                    SIMD group has to wait for another: kernels without a threadgroup barrier,
//                    and kernels whose whole threadgroup is one call.
//   SIMD-group entry runs one call of `lanesPerCall` lanes of the threadgroup in `position`; a
//                    threadgroup barrier calls `runtime->barrier`, which switches to another fiber.
//
// Code is position independent and has no relocations: all calls out go through `runtime`.
#pragma once
#include <cstdint>

namespace pewter::cpu {

inline constexpr uint32_t kAbiVersion = 2;

struct KernelContext;

/// Why a kernel gave up; passed to RuntimeTable::fault.
enum class KernelFault : uint32_t { None, Unreachable, StackOverflow };

struct RuntimeTable {
  /// Waits for all SIMD groups of the threadgroup. Never called by range entries.
  void (*barrier)(KernelContext *context);
  /// os_log: `format` is a NUL-terminated printf-like format, `arguments` are values of eight bytes:
  /// integers, pointers, the bits of floats. `subsystem` and `category` may be null.
  void (*log)(KernelContext *context, uint32_t level, const char *subsystem, const char *category,
              const char *format, const uint64_t *arguments, uint32_t count);
  /// Records a fault; the command buffer ends in error. Returns, and the kernel goes on harmlessly.
  void (*fault)(KernelContext *context, KernelFault fault);
};

struct KernelContext {
  const RuntimeTable *runtime;
  void *threadgroupMemory; ///< Base of this worker's threadgroup block, 128-byte aligned:
                           ///< static variables first, then the host-sized blocks.
  uint32_t threadgroupsPerGrid[3];
  uint32_t threadsPerGrid[3];
  uint32_t
      threadsPerThreadgroup[3]; ///< As given at dispatch. At a non-uniform edge the code derives
                                ///< the actual size from threadsPerGrid and the position.
  uint32_t simdgroupsPerThreadgroup; ///< From the dispatch size.
  uint32_t position[3];    ///< SIMD-group entry only: the threadgroup's position in the grid.
  uint32_t simdgroupIndex; ///< SIMD-group entry only: index of the first SIMD group of the call.
  void *scheduler;         ///< The device's own; code passes it through.
};

/// `arguments[i]` belongs to LLVM parameter i of the kernel:
///   buffer              the address (null when unbound)
///   threadgroup memory  a byte offset from KernelContext::threadgroupMemory, as an integer
///   texture, sampler    the address of a descriptor (air/TextureAbi.h)
///   built-in            unused; code computes it from the context
using SimdgroupEntry = void (*)(void *const *arguments, KernelContext *context);
using RangeEntry = void (*)(void *const *arguments, KernelContext *context, uint64_t begin,
                            uint64_t end);

} // namespace pewter::cpu
