// SPDX-License-Identifier: Apache-2.0
//
// Weights: a model's tensors as the device sees them. On a device with unified memory a matrix is a
// view into the mapped file, copied nowhere; on another one it is uploaded once. Norms, which are few
// and may be stored 16 bits wide, become float buffers. Shared by all sequences.
#pragma once
#include "muse/GraphEncoder.h"
#include "muse/ModelConfig.h"
#include <functional>

namespace pewter::muse {

/// A matrix where kernels can read it.
struct Matrix {
  TensorType type = TensorType::F32;
  uint32_t inputs = 0, outputs = 0, rowBytes = 0;
  float scale = 1; ///< NVFP4: the outer scale.
  View data;
  View scales;     ///< NVFP4 only.
};

struct LayerWeights {
  View attnNorm, qNorm, kNorm, postAttnNorm, ffnNorm, postFfnNorm; ///< f32 [hidden] or [headDim]
  Matrix q, k, v, gate, output, ffnGate, ffnUp, ffnDown;
};

/// Fills `shard` with bytes in the layout of `file`.
using WeightMaker = std::function<Result<void>(const GgufFile &file, MTL::Buffer *shard)>;

class Weights {
public:
  /// With `maker` (which may be empty) matrices hold what it writes; vectors are the file's.
  static Result<std::shared_ptr<const Weights>> create(const Context &context,
                                                       std::shared_ptr<const GgufModel> model,
                                                       const ModelConfig &config, const WeightMaker &maker = {});

  Matrix embedding, head;
  View outputNorm, ones; ///< f32 [hidden]
  std::vector<LayerWeights> layers;

  /// Bytes of matrices that one decoded token reads.
  uint64_t streamedBytes() const { return streamedBytes_; }
  /// The types that matrices have, without repetition; for building kernels.
  std::vector<TensorType> matrixTypes() const;

private:
  Weights() = default;
  Result<void> mapShards(const Context &context, const WeightMaker &maker);
  Result<View> viewOf(const GgufTensor &tensor) const;
  Result<Matrix> matrixOf(const WeightTensor &weight) const;

  std::shared_ptr<const GgufModel> model_;
  std::vector<NS::SharedPtr<MTL::Buffer>> shards_;
  NS::SharedPtr<MTL::Buffer> vectors_;
  uint64_t streamedBytes_ = 0;
};

} // namespace pewter::muse
