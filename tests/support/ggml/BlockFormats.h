// SPDX-License-Identifier: Apache-2.0
//
// The block formats of quantised tensors, decoded in plain loops: what a block of bytes means. For
// checking kernels, so nothing here is shared with them or with the engine. The code books of the
// smallest types are read out of the library under test (they are its data).
#pragma once
#include "ggml/GgmlHarness.h"

namespace pewter::testing {

struct BlockFormat {
  const char *name; ///< As in kernel names: "q4_0".
  int64_t elements; ///< Of one block.
  int64_t bytes;
  void (*decode)(const uint8_t *block, double *out);
  /// Offsets of half-precision scales in a block; -1: none.
  int scaleAt, secondScaleAt;
  /// As the library's dequantisers do it, where they lose digits that the format has; or null.
  void (*asLibrary)(const uint8_t *block, double *out) = nullptr;
};

/// f32, f16, bf16 and every quantised type.
const std::vector<BlockFormat> &blockFormats();
const BlockFormat &blockFormat(const std::string &name);

/// Random blocks whose scales are moderate.
Bytes randomBlocks(const BlockFormat &format, int64_t elements, Numbers &numbers);
std::vector<double> decodeBlocks(const BlockFormat &format, const Bytes &bytes);
/// What get_rows, cpy and the matrix kernels, which dequantise whole blocks, make of them.
std::vector<double> decodeAsLibrary(const BlockFormat &format, const Bytes &bytes);

} // namespace pewter::testing
