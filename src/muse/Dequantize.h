// SPDX-License-Identifier: Apache-2.0
//
// Turns rows of a stored tensor into float32, one plain loop per format: what a format means. The
// engine's kernels read the blocks themselves; this is for tools, for the CPU side (norms), and for
// checking the kernels. Any thread.
#pragma once
#include "base/Bytes.h"
#include "muse/GgufModel.h"
#include <span>

namespace pewter::muse {

/// Decodes `out.size()` elements from the beginning of `blocks`. Both must be whole blocks, and the
/// type must not need a companion tensor (NVFP4 does).
void dequantizeBlocks(TensorType type, ByteView blocks, std::span<float> out);

/// The values of rows [row, row + count) of a tensor, companions of an NVFP4 tensor applied.
Result<std::vector<float>> dequantizeRows(const GgufModel &model, const GgufTensor &tensor, uint64_t row,
                                          uint64_t count);

/// Sub-block scale and minimum `j` (0 to 7) of the 12 packed bytes of Q4_K and Q5_K.
struct ScaleMin {
  uint8_t scale, min;
};
ScaleMin unpackScaleMin(const uint8_t packed[12], int j);

/// The sixteen values of an IQ4_NL code.
extern const int8_t kIq4nlValues[16];

} // namespace pewter::muse
