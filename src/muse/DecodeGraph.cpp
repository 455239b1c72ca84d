// SPDX-License-Identifier: Apache-2.0
// Tested by tests/seed/SeedTable.cpp (the order of groups) and tests/engine/Goldens.cpp.
#include "muse/DecodeGraph.h"
#include "muse/KernelArguments.h"
#include <algorithm>

namespace pewter::muse {
namespace {

View at(const NS::SharedPtr<MTL::Buffer> &buffer, uint64_t offset = 0) { return {buffer.get(), offset}; }
MTL::Size groups(uint32_t x, uint32_t y = 1) { return MTL::Size(x, y, 1); }

} // namespace

void DecodeGraph::matvec(const Matrix &m, const NS::SharedPtr<MTL::Buffer> &x,
                         const NS::SharedPtr<MTL::Buffer> &y) {
  const MatvecKernel &kernel = k_.matvec.at(m.type);
  MatrixArguments args{m.inputs, m.outputs, m.rowBytes, count_, m.scale};
  // Rows of the batch lie next to each other in the grid, so that one pass over the weights serves all.
  MTL::Size grid = groups(count_, (m.outputs + kernel.rowsPerGroup - 1) / kernel.rowsPerGroup);
  if (m.scales.buffer)
    e_.dispatchWithTail(*kernel.kernel, {m.data, at(x), at(y)}, args, m.scales, grid, kernel.threads);
  else
    e_.dispatch(*kernel.kernel, {m.data, at(x), at(y)}, args, grid, kernel.threads);
}

void DecodeGraph::encodeToken(uint32_t tokenSlot) {
  const Activations &a = a_;
  e_.group("embedding");
  e_.dispatch(*k_.embedding, {w_.embedding.data, at(a.tokens, tokenSlot * 4), at(a.hidden)},
              EmbeddingArguments{c_.hidden, c_.vocab, w_.embedding.rowBytes, c_.hidden},
              groups(c_.hidden / 32, count_), 32);
  e_.group("entry_norm");
  e_.dispatch(*k_.rmsNorm, {at(a.hidden), w_.ones, at(a.normed)}, NormArguments{c_.hidden, c_.rmsEps, 0},
              groups(count_), k_.normThreads);
  e_.group("attn_norm", 0);
  e_.dispatch(k_.isFused ? *k_.rmsNormFixed : *k_.rmsNorm,
              {at(a.normed), w_.layers[0].attnNorm, at(k_.isFused ? a.fixedHidden : a.postNorm)},
              NormArguments{c_.hidden, c_.rmsEps, 0}, groups(count_), k_.normThreads);
  for (uint32_t layer = 0; layer < c_.layers; ++layer)
    k_.isFused ? encodeFusedLayer(layer) : encodeLayer(layer);
  e_.group("lm_head");
  if (k_.isFused)
    matvecs({{&w_.head, a.logits.get()}}, a.fixedHidden);
  else
    matvec(w_.head, a.hidden, a.logits);
  e_.group("softcap");
  uint32_t logits = c_.vocab * count_;
  e_.dispatch1d(*k_.softcap, {at(a.logits)}, SoftcapArguments{logits, c_.logitScale, c_.softcap}, logits);
}

void DecodeGraph::encodeLayer(uint32_t layer) {
  const Activations &a = a_;
  const LayerWeights &w = w_.layers[layer];
  const int l = static_cast<int>(layer);
  const bool last = layer + 1 == c_.layers;

  e_.group("qkvg", l);
  matvec(w.q, a.postNorm, a.q);
  matvec(w.gate, a.postNorm, a.gate);
  matvec(w.k, a.postNorm, a.k);
  matvec(w.v, a.postNorm, a.v);
  e_.group("qk_norm", l);
  for (uint32_t row = 0; row < count_; ++row)
    e_.dispatch(*k_.headNorm, {at(a.q, row * queryBytes()), at(a.k, row * keyBytes()), w.qNorm, w.kNorm},
                HeadNormArguments{c_.headDim, c_.heads, c_.rmsEps}, groups(c_.heads + c_.kvHeads), 32);
  encodeAttention(layer);
  e_.group("sigmoid_gate", l);
  e_.dispatch1d(*k_.gate, {at(a.attention), at(a.gate)}, c_.attentionDim() * count_,
                c_.attentionDim() * count_);
  e_.group("o_proj", l);
  matvec(w.output, a.attention, a.projected);
  e_.group("post_attn_ffn_norm", l);
  NormArguments tail{c_.hidden, c_.postNormEps, c_.rmsEps};
  e_.dispatch(*k_.normAddNorm, {at(a.projected), w.postAttnNorm, at(a.normed), w.ffnNorm, at(a.postNorm)},
              tail, groups(count_), k_.normThreads);
  e_.group("ffn_gate_up", l);
  matvec(w.ffnGate, a.postNorm, a.ffnGate);
  matvec(w.ffnUp, a.postNorm, a.ffnUp);
  e_.group("swiglu", l);
  e_.dispatch1d(*k_.siluMul, {at(a.ffnGate), at(a.ffnUp)}, c_.ffn * count_, c_.ffn * count_);
  e_.group("ffn_down", l);
  matvec(w.ffnDown, a.ffnGate, a.projected);
  e_.group("post_ffn_next_norm", l);
  e_.dispatch(*k_.normAddNorm,
              {at(a.projected), w.postFfnNorm, at(a.normed),
               last ? w_.outputNorm : w_.layers[layer + 1].attnNorm, at(last ? a.hidden : a.postNorm)},
              tail, groups(count_), k_.normThreads);
}

void DecodeGraph::matvecs(std::vector<Product> products, const NS::SharedPtr<MTL::Buffer> &x) {
  while (!products.empty()) {
    // What has the format of the first, in one launch.
    const Matrix &first = *products.front().matrix;
    std::vector<Product> together, rest;
    for (const Product &p : products)
      (p.matrix->type == first.type ? together : rest).push_back(p);
    const size_t count = together.size();
    HeldArguments args{first.inputs, static_cast<uint32_t>(count), count_, engine_.options().held.prefetchBytes, {}};
    View weights[4], outputs[4];
    uint32_t quads = 0;
    for (size_t i = 0; i < 4; ++i) {
      const Product &p = together[std::min(i, count - 1)];
      weights[i] = p.matrix->data;
      outputs[i] = {p.output, 0};
      if (i < count) {
        args.parts[i] = {p.matrix->outputs, p.matrix->rowBytes, p.matrix->scale};
        quads += (p.matrix->outputs + 3) / 4;
      }
    }
    const HeldLaunch launch = heldLaunch(first, quads, count_, engine_.options().held);
    e_.dispatch(*heldOf(first.type).matvecs,
                {weights[0], weights[1], weights[2], weights[3], at(x), outputs[0], outputs[1], outputs[2], outputs[3]},
                args, groups(launch.threadgroups), launch.threads);
    products = std::move(rest);
  }
}

void DecodeGraph::encodeFusedLayer(uint32_t layer) {
  const Activations &a = a_;
  const LayerWeights &w = w_.layers[layer];
  const int l = static_cast<int>(layer);
  const bool last = layer + 1 == c_.layers;
  const uint64_t partialBytes = uint64_t(c_.heads) * a.splits * (c_.headDim + 2) * 4;

  e_.group("qkvg", l);
  matvecs({{&w.q, a.q.get()}, {&w.gate, a.gate.get()}, {&w.k, a.k.get()}, {&w.v, a.v.get()}}, a.fixedHidden);
  e_.group("heads", l);
  for (uint32_t row = 0; row < count_; ++row) {
    const LayerCache &cache = rows_[row].sequence->caches_[layer];
    const uint32_t position = rows_[row].position;
    e_.dispatch(*k_.finishHeads,
                {at(a.q, row * queryBytes()), at(a.k, row * keyBytes()), at(a.v, row * keyBytes()), w.qNorm, w.kNorm,
                 engine_.rotations(), at(cache.k), at(cache.v)},
                HeadsArguments{c_.headDim, c_.heads, c_.kvHeads, c_.sliding[layer] ? c_.ropeDim / 2 : 0, position,
                               cache.blocks, cache.plane.physicalRow(position), c_.rmsEps},
                groups(c_.heads + 2 * c_.kvHeads), 32);
  }
  auto argumentsOf = [&](const DecodeRow &row) {
    const LayerCache &cache = row.sequence->caches_[layer];
    return AttentionArguments{c_.headDim,         c_.headsPerKvHead(),
                              cache.blocks,       cache.plane.length,
                              engine_.attentionSplits(cache.plane.length), c_.attentionScale()};
  };
  e_.group("attention", l);
  for (uint32_t row = 0; row < count_; ++row) {
    const LayerCache &cache = rows_[row].sequence->caches_[layer];
    const AttentionArguments args = argumentsOf(rows_[row]);
    e_.dispatch(*k_.attendSplit,
                {at(a.q, row * queryBytes()), at(cache.k), at(cache.v), at(a.partials, row * partialBytes)}, args,
                groups(c_.kvHeads, args.splits), 32 * std::min(4u, (c_.headsPerKvHead() + 3) / 4));
  }
  e_.barrier({a.partials.get()});
  for (uint32_t row = 0; row < count_; ++row)
    e_.dispatch(*k_.joinGate,
                {at(a.partials, row * partialBytes), at(a.gate, row * queryBytes()),
                 at(a.fixedAttention, row * fixedBytes(c_.attentionDim()))},
                argumentsOf(rows_[row]), groups(c_.heads), 256);
  e_.group("o_proj", l);
  matvecs({{&w.output, a.projected.get()}}, a.fixedAttention);
  e_.group("post_attn_ffn_norm", l);
  NormArguments tail{c_.hidden, c_.postNormEps, c_.rmsEps};
  e_.dispatch(*k_.normAddNorm, {at(a.projected), w.postAttnNorm, at(a.normed), w.ffnNorm, at(a.fixedHidden)}, tail,
              groups(count_), k_.normThreads);
  e_.group("ffn_gate_up", l);
  const HeldLaunch gated = heldLaunch(w.ffnGate, w.ffnGate.outputs / 32, count_, engine_.options().held);
  HeldArguments args{w.ffnGate.inputs, 2, count_, engine_.options().held.prefetchBytes, {}};
  args.parts[0] = {w.ffnGate.outputs, w.ffnGate.rowBytes, w.ffnGate.scale};
  args.parts[1] = {w.ffnUp.outputs, w.ffnUp.rowBytes, w.ffnUp.scale};
  e_.dispatch(*heldOf(w.ffnGate.type).gated, {w.ffnGate.data, w.ffnUp.data, at(a.fixedHidden), at(a.fixedFfn)}, args,
              groups(w.ffnGate.outputs / 32), gated.threads);
  e_.group("ffn_down", l);
  matvecs({{&w.ffnDown, a.projected.get()}}, a.fixedFfn);
  e_.group("post_ffn_next_norm", l);
  e_.dispatch(*k_.normAddNorm,
              {at(a.projected), w.postFfnNorm, at(a.normed),
               last ? w_.outputNorm : w_.layers[layer + 1].attnNorm, at(a.fixedHidden)},
              tail, groups(count_), k_.normThreads);
}

void DecodeGraph::encodeAttention(uint32_t layer) {
  const Activations &a = a_;
  const int l = static_cast<int>(layer);
  if (c_.sliding[layer]) {
    uint32_t pairs = c_.ropeDim / 2, heads = c_.heads + c_.kvHeads;
    e_.group("rope", l);
    for (uint32_t row = 0; row < count_; ++row)
      e_.dispatch1d(*k_.rotate,
                    {at(a.q, row * queryBytes()), at(a.k, row * keyBytes()), engine_.rotations()},
                    RotateArguments{c_.headDim, pairs, c_.heads, heads, rows_[row].position}, heads * pairs);
  }
  e_.group("kv_store_attention", l);
  for (uint32_t row = 0; row < count_; ++row) {
    LayerCache &cache = rows_[row].sequence->caches_[layer];
    e_.dispatch1d(*k_.kvStore,
                  {at(a.k, row * keyBytes()), at(a.v, row * keyBytes()), at(cache.k), at(cache.v)},
                  StoreArguments{c_.headDim, c_.kvHeads, cache.blocks, cache.plane.physicalRow(rows_[row].position)},
                  c_.kvDim());
  }
  for (const DecodeRow &row : rows_)
    e_.barrier({row.sequence->caches_[layer].k.get(), row.sequence->caches_[layer].v.get()});
  // A ring is scanned from physical row 0: it has no more rows than the window, so all of them are
  // visible, and the order of the rows does not change the result but for rounding.
  auto argumentsOf = [&](const DecodeRow &row) {
    const LayerCache &cache = row.sequence->caches_[layer];
    return AttentionArguments{c_.headDim,
                              c_.headsPerKvHead(),
                              cache.blocks,
                              cache.plane.length,
                              engine_.attentionSplits(cache.plane.length),
                              c_.attentionScale()};
  };
  const uint64_t partialBytes = uint64_t(c_.heads) * a.splits * (c_.headDim + 2) * 4;
  for (uint32_t row = 0; row < count_; ++row) {
    const LayerCache &cache = rows_[row].sequence->caches_[layer];
    AttentionArguments args = argumentsOf(rows_[row]);
    e_.dispatch(*k_.attend,
                {at(a.q, row * queryBytes()), at(cache.k), at(cache.v), at(a.partials, row * partialBytes)},
                args, groups(c_.kvHeads, args.splits), 32);
  }
  e_.barrier({a.partials.get()});
  for (uint32_t row = 0; row < count_; ++row)
    e_.dispatch(*k_.attendReduce, {at(a.partials, row * partialBytes), at(a.attention, row * queryBytes())},
                argumentsOf(rows_[row]), groups(c_.heads), 32);
}

void DecodeGraph::encodeArgmax(View result) {
  const Activations &a = a_;
  uint32_t parts = (c_.vocab + kArgmaxSpan - 1) / kArgmaxSpan;
  e_.barrier({a.logits.get()});
  e_.dispatch(*k_.argmax1, {at(a.logits), at(a.bestValues), at(a.bestIndices)},
              ArgmaxArguments{c_.vocab, kArgmaxSpan}, groups(parts), 32);
  e_.barrier({a.bestValues.get(), a.bestIndices.get()});
  e_.dispatch(*k_.argmax2, {at(a.bestValues), at(a.bestIndices), result}, ArgmaxArguments{parts, 0},
              groups(1), 32);
}

} // namespace pewter::muse
