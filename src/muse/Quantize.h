// SPDX-License-Identifier: Apache-2.0
//
// Turns float32 rows into stored blocks, and whole files into files of another type. Round to
// nearest everywhere; the K formats and IQ4_NL search for the scale that leaves the least squared
// error (weights favour large values). No importance matrix. Any thread.
#pragma once
#include "base/Bytes.h"
#include "muse/GgufModel.h"
#include <functional>
#include <span>

namespace pewter::muse {

/// Encodes whole blocks. NVFP4 is not here: it needs a scale of the whole tensor.
Bytes quantizeBlocks(TensorType type, std::span<const float> values);

/// An NVFP4 tensor: two codes a byte, one E4M3 scale per 16 values, one scale for all.
struct Nvfp4 {
  Bytes codes, scales;
  float scale = 0;
};
Nvfp4 quantizeNvfp4(std::span<const float> values);

/// Packs eight 6-bit scales and eight 6-bit minima into the 12 bytes of Q4_K and Q5_K.
void packScaleMin(const uint8_t scales[8], const uint8_t mins[8], uint8_t packed[12]);

/// Writes `model` again with every matrix in the format `recipe`, which is a type name or "Q4_K_M"
/// (Q4_K, with Q6_K for attn_v, ffn_down and output). Vectors stay as they are. Rows that do not end
/// on a block of the wanted type become Q8_0, or F16 when they do not suit that either.
/// `progress` (may be empty) is told the fraction done.
Result<void> quantizeModel(const GgufModel &model, const std::filesystem::path &output,
                           std::string_view recipe, const std::function<void(double)> &progress);

} // namespace pewter::muse
