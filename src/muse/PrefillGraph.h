// SPDX-License-Identifier: Apache-2.0
//
// PrefillGraph: a chunk of a prompt through all layers, then the logits of its last token (or of all).
// The same groups as DecodeGraph, with a batch of rows in every dispatch. Attention reads the cache as
// it was before the chunk and the chunk's own keys from a stage; the stage is published afterwards.
// `encodeChunk` also moves the planes' books; the caller restores them when the run fails.
#pragma once
#include "muse/Sequence.h"

namespace pewter::muse {

class PrefillGraph {
public:
  PrefillGraph(Sequence &sequence, GraphEncoder &encoder, BatchWorkspace &workspace)
      : s_(sequence), e_(encoder), b_(workspace), c_(sequence.engine_->config()),
        w_(sequence.engine_->weights()), k_(sequence.engine_->kernels()) {}

  /// `allLogits`: of every row into the workspace, beside those of the last into the sequence.
  Result<void> encodeChunk(uint32_t position, uint32_t rows, bool allLogits);

private:
  Result<void> encodeLayer(uint32_t layer);
  Result<void> encodeAttention(uint32_t layer);
  /// What int8 products of the matrices that follow in this group take: `x` in blocks.
  void quantize(std::initializer_list<const Matrix *> matrices, const NS::SharedPtr<MTL::Buffer> &x);
  void matmul(const Matrix &matrix, const NS::SharedPtr<MTL::Buffer> &x, const NS::SharedPtr<MTL::Buffer> &y);
  void elementwise(const Kernel &kernel, const NS::SharedPtr<MTL::Buffer> &a,
                   const NS::SharedPtr<MTL::Buffer> &b, uint32_t width);

  Sequence &s_;
  GraphEncoder &e_;
  BatchWorkspace &b_;
  const ModelConfig &c_;
  const Weights &w_;
  const Kernels &k_;
  uint32_t position_ = 0, rows_ = 0;
  bool allLogits_ = false;
  MTL::Buffer *halved_ = nullptr; ///< What the workspace's rows of halves hold, in this group.
};

} // namespace pewter::muse
