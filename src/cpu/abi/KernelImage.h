// SPDX-License-Identifier: Apache-2.0
//
// KernelImage: one compiled CPU kernel as bytes that can be stored, checked and mapped: header,
// reflection, code. The code section is position independent and needs no linking. Integers are
// little-endian. parseKernelImage validates every offset and the checksum before anything is used;
// an image is never trusted because of where it came from.
#pragma once
#include "air/Reflection.h"
#include "base/Bytes.h"

namespace pewter::cpu {

struct KernelImage {
  uint32_t target = 0;        ///< compiler::TargetKind as a number.
  uint32_t lanesPerCall = 32; ///< Lanes of one SIMD-group entry call: 32, or more when merged.
  uint32_t shapeKind = 0;     ///< compiler::ThreadgroupShape::Kind as a number.
  uint32_t shapeSize[3] = {0, 0, 0};  ///< For Exact.
  uint64_t rangeEntry = kNoEntry;     ///< Offset in `code`, or kNoEntry.
  uint64_t simdgroupEntry = kNoEntry; ///< Offset in `code`, or kNoEntry.
  uint32_t stackBytes = 0;            ///< Stack needed by one call.
  uint32_t codeAlignment = 64; ///< What the first byte of `code` must be aligned to: a power of two
                               ///< from 64 to 4096. x86-64 needs 64; AArch64 addresses by page.
  bool prefersExactShape = false; ///< Compiling again for the exact size would pay.
  air::KernelReflection reflection;
  Bytes code; ///< Machine code and its read-only data, to be mapped at an address
              ///< that is a multiple of `codeAlignment`.

  static constexpr uint64_t kNoEntry = ~uint64_t(0);
};

Bytes encode(const KernelImage &image);
/// Names what is wrong: too short, foreign, of another ABI version, damaged, or inconsistent.
Result<KernelImage> parseKernelImage(ByteView bytes);

} // namespace pewter::cpu
