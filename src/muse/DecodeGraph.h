// SPDX-License-Identifier: Apache-2.0
//
// DecodeGraph: one token of one sequence, or of up to four sequences together, from the embedding to the
// softcapped logits, as groups of dispatches in the order in which a paper would tell it. Matrices, norms
// and pointwise kernels take all rows in one dispatch; what depends on a position or a cache is dispatched
// per row, in the same group. A row has the same bits however many others there are: each threadgroup
// works for one row. The caller has already added the tokens' rows to the planes' books; this records and
// does not run.
#pragma once
#include "muse/Sequence.h"

namespace pewter::muse {

/// A sequence with the position that its token takes.
struct DecodeRow {
  Sequence *sequence;
  uint32_t position;
};

class DecodeGraph {
public:
  /// `buffers` has at least as many rows as there are.
  DecodeGraph(const Engine &engine, const Activations &buffers, GraphEncoder &encoder,
              std::vector<DecodeRow> rows)
      : engine_(engine), a_(buffers), e_(encoder), c_(engine.config()), w_(engine.weights()),
        k_(engine.kernels()), rows_(std::move(rows)), count_(static_cast<uint32_t>(rows_.size())) {}

  /// The ids of the rows are elements `tokenSlot` and following of the token buffer.
  void encodeToken(uint32_t tokenSlot);
  /// Of the first row; the id goes to `result`, u32.
  void encodeArgmax(View result);

private:
  /// Bytes of a row of queries, and of one of keys or values.
  uint64_t queryBytes() const { return uint64_t(c_.attentionDim()) * 4; }
  static uint64_t fixedBytes(uint64_t width) { return (width * 9 / 4 + 15) / 16 * 16; }
  uint64_t keyBytes() const { return uint64_t(c_.kvDim()) * 4; }
  void encodeLayer(uint32_t layer);
  void encodeAttention(uint32_t layer);
  /// The same with the fused kernels of a GPU.
  void encodeFusedLayer(uint32_t layer);
  struct Product {
    const Matrix *matrix;
    MTL::Buffer *output;
  };
  /// Up to four matrices times the same rows, in a launch for each format among them.
  void matvecs(std::vector<Product> products, const NS::SharedPtr<MTL::Buffer> &x);
  const HeldKernels &heldOf(TensorType type) const { return k_.held.at(type)[count_ > 2 ? 2 : count_ - 1]; }
  void matvec(const Matrix &matrix, const NS::SharedPtr<MTL::Buffer> &x,
              const NS::SharedPtr<MTL::Buffer> &y);

  const Engine &engine_;
  const Activations &a_;
  GraphEncoder &e_;
  const ModelConfig &c_;
  const Weights &w_;
  const Kernels &k_;
  std::vector<DecodeRow> rows_;
  uint32_t count_;
};

} // namespace pewter::muse
