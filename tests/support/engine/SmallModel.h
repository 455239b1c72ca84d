// SPDX-License-Identifier: Apache-2.0
//
// SmallModel: writes muse-glimmer files of any small shape with pseudo-random weights, for tests that
// need another shape than the shipped model's, or a file with one thing wrong. The weights are a
// function of the seed and the tensor's name alone.
#pragma once
#include "muse/GgufWriter.h"
#include <functional>
#include <map>

namespace pewter::testing {

struct SmallModel {
  uint32_t layers = 2, hidden = 64, heads = 4, kvHeads = 2, headDim = 32, ffn = 96, context = 256;
  uint32_t window = 32, period = 2, vocabMerges = 3;
  float logitScale = 0.5f, softcap = 20.0f, ropeBase = 10000.0f, qNorm = 2.0f;
  muse::TensorType type = muse::TensorType::F32;
  bool tied = false;
  uint64_t seed = 1;

  /// Called for each metadata key; returning false leaves it out. May add others to the writer.
  std::function<bool(const std::string &key, muse::GgufWriter &writer)> onKey = {};
  /// Called for each tensor before it is added; returning false leaves it out.
  std::function<bool(std::string &name, muse::TensorType &type, std::vector<uint64_t> &dims, Bytes &bytes)>
      onTensor = {};

  uint32_t vocab() const { return 256 + vocabMerges + 6; }
  Bytes build() const;
};

/// The file that SmallModel writes starts with a fixed prologue: offsets of its header fields.
inline constexpr size_t kVersionAt = 4, kTensorCountAt = 8, kMetadataCountAt = 16;

} // namespace pewter::testing
