// SPDX-License-Identifier: Apache-2.0
//
// DecodeGraph: one token, from the embedding to the softcapped logits, as groups of dispatches in the
// order in which a paper would tell it. The caller has already added the token's row to the planes'
// books; `encode` records and does not run.
#pragma once
#include "muse/Sequence.h"

namespace pewter::muse {

class DecodeGraph {
public:
  DecodeGraph(Sequence &sequence, GraphEncoder &encoder)
      : s_(sequence), e_(encoder), c_(sequence.engine_->config()), w_(sequence.engine_->weights()),
        k_(sequence.engine_->kernels()) {}

  /// The token id is element `tokenSlot` of the sequence's token buffer.
  void encodeToken(uint32_t position, uint32_t tokenSlot);
  void encodeArgmax();

private:
  void encodeLayer(uint32_t layer, uint32_t position);
  void encodeAttention(uint32_t layer, uint32_t position);
  void matvec(const Matrix &matrix, const NS::SharedPtr<MTL::Buffer> &x,
              const NS::SharedPtr<MTL::Buffer> &y);

  Sequence &s_;
  GraphEncoder &e_;
  const ModelConfig &c_;
  const Weights &w_;
  const Kernels &k_;
};

} // namespace pewter::muse
