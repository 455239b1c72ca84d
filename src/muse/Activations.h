// SPDX-License-Identifier: Apache-2.0
//
// Activations: the buffers that a decoded token passes through, for one row or for several that decode
// together. Buffers with a row dimension hold rows one behind the other.
#pragma once
#include "muse/Context.h"
#include "muse/ModelConfig.h"

namespace pewter::muse {

struct Activations {
  NS::SharedPtr<MTL::Buffer> tokens;     ///< u32 [kMaxAhead]
  NS::SharedPtr<MTL::Buffer> hidden;     ///< f32 [rows][hidden]
  NS::SharedPtr<MTL::Buffer> normed;     ///< f32 [rows][hidden], the residual stream
  NS::SharedPtr<MTL::Buffer> postNorm;   ///< f32 [rows][hidden]
  NS::SharedPtr<MTL::Buffer> projected;  ///< f32 [rows][hidden]
  NS::SharedPtr<MTL::Buffer> q, gate, attention; ///< f32 [rows][heads * headDim]
  NS::SharedPtr<MTL::Buffer> k, v;       ///< f32 [rows][kvHeads * headDim]
  NS::SharedPtr<MTL::Buffer> partials;   ///< f32 [rows][heads][splits][headDim + 2]
  NS::SharedPtr<MTL::Buffer> ffnGate, ffnUp; ///< f32 [rows][ffn]
  /// What matrices read on a GPU (kernels/matvec_held.metal, storeFixed): [rows][fixedRowBytes(hidden, ...)].
  NS::SharedPtr<MTL::Buffer> fixedHidden, fixedAttention, fixedFfn;
  NS::SharedPtr<MTL::Buffer> logits;     ///< f32 [rows][vocab]
  NS::SharedPtr<MTL::Buffer> bestValues, bestIndices, best; ///< argmax: f32, u32 [parts]; u32 [1]

  static constexpr uint32_t kMostSplits = 128; ///< Of the attention on a GPU; 32 elsewhere.
  uint32_t splits = 32;                        ///< For which there is room in `partials`.
  static constexpr uint32_t kMaxAhead = 64; ///< Known tokens that may be in flight.
  static Result<Activations> create(const Context &context, const ModelConfig &config, uint32_t rows,
                                    bool fused = false);
};

} // namespace pewter::muse
