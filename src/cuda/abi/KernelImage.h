// SPDX-License-Identifier: Apache-2.0
//
// One kernel compiled for an NVIDIA GPU, as bytes that can be stored and checked: PTX text, what a
// launch needs to know, and the reflection. Shared by cuda/ (which loads it through the driver) and
// cuda/codegen/ (which makes it). Integers are little-endian; the checksum is verified before use.
//
// The entry's parameters, in order, each naturally aligned:
//   u64 arguments[n]     one per AIR parameter:
//                          buffer              device address, 0 when unbound
//                          threadgroup memory  byte offset in the dynamic shared memory
//                          texture, sampler    device address of a descriptor
//                          built-in            unused
//   u32 grid[12]         LaunchGrid
//
// A block is one threadgroup and has exactly its threads: a dispatch whose last threadgroups are
// smaller is launched in up to eight parts, each uniform, so that lanes are numbered as Metal has it.
// Threadgroup variables are static shared memory; the host's blocks are dynamic shared memory.
#pragma once
#include "air/Reflection.h"
#include "base/Bytes.h"
#include <string>

namespace pewter::cuda {

inline constexpr uint32_t kImageVersion = 2;

/// What a kernel cannot read from the special registers.
struct LaunchGrid {
  uint32_t firstThreadgroup[3];      ///< Position of block (0, 0, 0) of this launch.
  uint32_t threadgroupsPerGrid[3];   ///< Of the whole dispatch.
  uint32_t threadsPerGrid[3];        ///< Of the whole dispatch.
  uint32_t threadsPerThreadgroup[3]; ///< As given at dispatch; smaller in a block at the edge.
};

struct KernelImage {
  uint32_t architecture = 0; ///< Compute capability without the point: 90.
  std::string entry;              ///< Name of the .entry in `ptx`.
  air::KernelReflection reflection;
  std::string ptx;
};

Bytes encode(const KernelImage &image);
Result<KernelImage> parseKernelImage(ByteView bytes);

} // namespace pewter::cuda
