// SPDX-License-Identifier: Apache-2.0
//
// ModelConfig: the numbers of one muse-glimmer model, read from a file's metadata and checked
// against its tensors. Everything later (buffers, dispatch sizes, the KV cache) is derived from this
// struct and from nothing else. ModelTensors names the tensors by their role.
//
//   PEWTER_TRY(ModelConfig config, ModelConfig::read(*model));
//   PEWTER_TRY(ModelTensors tensors, ModelTensors::find(*model, config));
//
// Plain values; any thread.
#pragma once
#include "muse/GgufModel.h"

namespace pewter::muse {

struct ModelConfig {
  std::string name;           ///< general.name, or the file's label.
  uint32_t layers = 0;
  uint32_t hidden = 0;        ///< Width of the residual stream.
  uint32_t heads = 0;
  uint32_t kvHeads = 0;
  uint32_t headDim = 0;
  uint32_t ffn = 0;
  uint32_t context = 0;       ///< The longest sequence the model was trained for.
  uint32_t vocab = 0;
  uint32_t window = 0;        ///< A sliding layer sees the query itself and window - 1 rows before it.
  uint32_t ropeDim = 0;
  float ropeBase = 0;         ///< Of the sliding layers; full layers do not rotate.
  float rmsEps = 0;
  float postNormEps = 1e-8f;  ///< Of the two post norms; not in the file.
  float logitScale = 0;
  float softcap = 0;          ///< Not applied when it is not positive.
  std::vector<bool> sliding;  ///< [layers]

  uint32_t attentionDim() const { return heads * headDim; }
  uint32_t kvDim() const { return kvHeads * headDim; }
  uint32_t headsPerKvHead() const { return heads / kvHeads; }
  uint32_t slidingLayers() const;
  uint32_t fullLayers() const { return layers - slidingLayers(); }
  float attentionScale() const; ///< 1 / sqrt(headDim)

  /// Reads the metadata; the geometry is checked, tensors are not looked at.
  static Result<ModelConfig> read(const GgufModel &model);
};

/// A matrix and, when it is NVFP4, its companions.
struct WeightTensor {
  const GgufTensor *tensor = nullptr;
  const GgufTensor *scale = nullptr;  ///< E4M3, [inputs / 16, outputs].
  float scale2 = 1;
  uint64_t inputs() const { return tensor->dims[0]; }
  uint64_t outputs() const { return tensor->dims[1]; }
  TensorType type() const { return tensor->format->type(); }
};

struct LayerTensors {
  const GgufTensor *attnNorm, *qNorm, *kNorm, *postAttnNorm, *ffnNorm, *postFfnNorm;
  WeightTensor q, k, v, gate, output, ffnGate, ffnUp, ffnDown;
};

struct ModelTensors {
  WeightTensor embedding, head; ///< The same tensor when the file ties them.
  const GgufTensor *outputNorm = nullptr;
  std::vector<LayerTensors> layers;
  float qNormValue = 0; ///< The one value of every attn_q_norm.

  /// Finds every tensor and refuses what is missing, has another shape or type, is learned where a
  /// constant is expected, or is not part of the model. Content checks of a small file are included.
  static Result<ModelTensors> find(const GgufModel &model, const ModelConfig &config);
};

} // namespace pewter::muse
