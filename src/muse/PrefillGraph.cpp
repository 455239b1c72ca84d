// SPDX-License-Identifier: Apache-2.0
// Tested by tests/engine/Goldens.cpp and tests/engine/Sequences.cpp.
#include "muse/PrefillGraph.h"
#include "muse/KernelArguments.h"
#include <algorithm>

namespace pewter::muse {
namespace {

/// The window of a layer that sees everything.
constexpr uint32_t kNoWindow = 0x7fffffff;

View at(const NS::SharedPtr<MTL::Buffer> &buffer) { return {buffer.get(), 0}; }

} // namespace

void PrefillGraph::quantize(std::initializer_list<const Matrix *> matrices,
                            const NS::SharedPtr<MTL::Buffer> &x) {
  auto isInt8 = [&](const Matrix *m) { return k_.matmulInt8.contains(m->type); };
  if (std::ranges::none_of(matrices, isInt8))
    return;
  const uint32_t width = (*matrices.begin())->inputs;
  e_.dispatch(*k_.quantizeTiles, {at(x), at(b_.quantized)}, QuantizeArguments{width},
              MTL::Size(b_.stride / 32, width / 32, 1), 32);
  e_.barrier({b_.quantized.get()});
}

void PrefillGraph::matmul(const Matrix &m, const NS::SharedPtr<MTL::Buffer> &x,
                          const NS::SharedPtr<MTL::Buffer> &y) {
  if (k_.hasGemm && &m != &w_.head) {
    if (halved_ != x.get()) {
      e_.barrier({b_.rows.get()});
      e_.dispatch(*k_.halfRows, {at(x), at(b_.rows)}, m.inputs, MTL::Size(b_.stride / 32, m.inputs / 32, 1), 256);
      halved_ = x.get();
    }
    e_.barrier({b_.weights.get()}); // the product before reads what is overwritten
    e_.dispatch(*k_.dequantize.at(m.type), {m.data, at(b_.weights)},
                MatrixArguments{m.inputs, m.outputs, m.rowBytes, b_.stride, m.scale},
                MTL::Size((m.inputs + 255) / 256, (m.outputs + 7) / 8, 1), 256);
    e_.barrier({b_.rows.get(), b_.weights.get()});
    e_.dispatch(*k_.gemm, {at(b_.rows), at(b_.weights), at(y)}, GemmTilesArguments{m.inputs, m.outputs, b_.stride},
                MTL::Size((b_.stride + 127) / 128, m.outputs / 128, 1), 128);
    return;
  }
  MatrixArguments args{m.inputs, m.outputs, m.rowBytes, b_.stride, m.scale};
  auto int8 = k_.matmulInt8.find(m.type);
  const bool isInt8 = int8 != k_.matmulInt8.end();
  const uint32_t tiles = b_.stride / 32, most = isInt8 ? k_.matmulInt8Tiles : k_.matmulTiles;
  MTL::Size grid((m.outputs + kMatmulOutputs - 1) / kMatmulOutputs, std::max(1u, (tiles + most - 1) / most), 1);
  if (isInt8) {
    e_.dispatch(*int8->second, {m.data, at(b_.quantized), at(y)}, args, grid, 32);
    return;
  }
  const Kernel &kernel = *k_.matmul.at(m.type);
  if (m.scales.buffer)
    e_.dispatchWithTail(kernel, {m.data, at(x), at(y)}, args, m.scales, grid, 32);
  else
    e_.dispatch(kernel, {m.data, at(x), at(y)}, args, grid, 32);
}

void PrefillGraph::elementwise(const Kernel &kernel, const NS::SharedPtr<MTL::Buffer> &a,
                               const NS::SharedPtr<MTL::Buffer> &b, uint32_t width) {
  e_.dispatch1d(kernel, {at(a), at(b)}, width * b_.stride, width * b_.stride);
}

Result<void> PrefillGraph::encodeChunk(uint32_t position, uint32_t rows, bool allLogits) {
  position_ = position;
  allLogits_ = allLogits;
  rows_ = rows;
  const uint32_t stride = b_.stride, tiles = stride / 32;
  e_.group("embedding");
  e_.dispatch(*k_.embedding, {w_.embedding.data, at(b_.tokens), at(b_.embedded)},
              EmbeddingArguments{c_.hidden, c_.vocab, w_.embedding.rowBytes, c_.hidden},
              MTL::Size(c_.hidden / 32, stride, 1), 32);
  e_.group("to_tiles");
  e_.dispatch(*k_.toTiles, {at(b_.embedded), at(b_.hidden)}, ToTilesArguments{rows, c_.hidden}, MTL::Size(tiles, c_.hidden, 1), 32);
  e_.group("entry_norm");
  TileNormArguments norm{c_.hidden, c_.rmsEps, 0};
  e_.dispatch(*k_.rmsNormTiles, {at(b_.hidden), w_.ones, at(b_.normed)}, norm, MTL::Size(tiles, 1, 1), k_.tileNormThreads);
  e_.group("attn_norm", 0);
  e_.dispatch(*k_.rmsNormTiles, {at(b_.normed), w_.layers[0].attnNorm, at(b_.postNorm)}, norm,
              MTL::Size(tiles, 1, 1), k_.tileNormThreads);
  for (uint32_t layer = 0; layer < c_.layers; ++layer)
    PEWTER_TRY_VOID(encodeLayer(layer));

  Activations &a = s_.a_;
  e_.group("last_row");
  e_.dispatch1d(*k_.takeRow, {at(b_.hidden), at(a.hidden)}, TakeArguments{rows - 1, c_.hidden},
                c_.hidden);
  if (allLogits_) {
    quantize({&w_.head}, b_.hidden);
    matmul(w_.head, b_.hidden, b_.logits);
  }
  e_.group("lm_head");
  const MatvecKernel &kernel = k_.matvec.at(w_.head.type);
  MatrixArguments args{w_.head.inputs, w_.head.outputs, w_.head.rowBytes, 1, w_.head.scale};
  MTL::Size grid(1, (args.outputs + kernel.rowsPerGroup - 1) / kernel.rowsPerGroup, 1);
  if (w_.head.scales.buffer)
    e_.dispatchWithTail(*kernel.kernel, {w_.head.data, at(a.hidden), at(a.logits)}, args, w_.head.scales,
                        grid, kernel.threads);
  else
    e_.dispatch(*kernel.kernel, {w_.head.data, at(a.hidden), at(a.logits)}, args, grid, kernel.threads);
  e_.group("softcap");
  SoftcapArguments cap{c_.vocab, c_.logitScale, c_.softcap};
  e_.dispatch1d(*k_.softcap, {at(a.logits)}, cap, c_.vocab);
  if (allLogits_) {
    cap.count = c_.vocab * stride;
    e_.dispatch1d(*k_.softcap, {at(b_.logits)}, cap, cap.count);
  }
  return {};
}

Result<void> PrefillGraph::encodeLayer(uint32_t layer) {
  const LayerWeights &w = w_.layers[layer];
  const int l = static_cast<int>(layer);
  const bool last = layer + 1 == c_.layers;
  const uint32_t tiles = b_.stride / 32;

  e_.group("qkvg", l);
  quantize({&w.q, &w.gate, &w.k, &w.v}, b_.postNorm);
  halved_ = nullptr;
  matmul(w.q, b_.postNorm, b_.q);
  matmul(w.gate, b_.postNorm, b_.gate);
  matmul(w.k, b_.postNorm, b_.k);
  matmul(w.v, b_.postNorm, b_.v);
  PEWTER_TRY_VOID(encodeAttention(layer));
  e_.group("sigmoid_gate", l);
  elementwise(*k_.gate, b_.attention, b_.gate, c_.attentionDim());
  e_.group("o_proj", l);
  quantize({&w.output}, b_.attention);
  halved_ = nullptr;
  matmul(w.output, b_.attention, b_.projected);
  TileNormArguments tail{c_.hidden, c_.postNormEps, c_.rmsEps};
  e_.group("post_attn_ffn_norm", l);
  e_.dispatch(*k_.normAddNormTiles,
              {at(b_.projected), w.postAttnNorm, at(b_.normed), w.ffnNorm, at(b_.postNorm)}, tail,
              MTL::Size(tiles, 1, 1), k_.tileNormThreads);
  e_.group("ffn_gate_up", l);
  quantize({&w.ffnGate, &w.ffnUp}, b_.postNorm);
  halved_ = nullptr;
  matmul(w.ffnGate, b_.postNorm, b_.ffnGate);
  matmul(w.ffnUp, b_.postNorm, b_.ffnUp);
  e_.group("swiglu", l);
  elementwise(*k_.siluMul, b_.ffnGate, b_.ffnUp, c_.ffn);
  e_.group("ffn_down", l);
  quantize({&w.ffnDown}, b_.ffnGate);
  halved_ = nullptr;
  matmul(w.ffnDown, b_.ffnGate, b_.projected);
  e_.group("post_ffn_next_norm", l);
  e_.dispatch(*k_.normAddNormTiles,
              {at(b_.projected), w.postFfnNorm, at(b_.normed),
               last ? w_.outputNorm : w_.layers[layer + 1].attnNorm, at(last ? b_.hidden : b_.postNorm)},
              tail, MTL::Size(tiles, 1, 1), k_.tileNormThreads);
  return {};
}

Result<void> PrefillGraph::encodeAttention(uint32_t layer) {
  const LayerWeights &w = w_.layers[layer];
  LayerCache &cache = s_.caches_[layer];
  const int l = static_cast<int>(layer);
  const uint32_t tiles = b_.stride / 32;
  TileHeadArguments heads{c_.headDim, c_.heads, c_.kvHeads, c_.sliding[layer] ? c_.ropeDim / 2 : 0,
                          position_,  s_.engine_->maxContext() - 1, c_.rmsEps};
  e_.group("qk_norm", l);
  e_.dispatch(*k_.headNormTiles, {at(b_.q), at(b_.k), w.qNorm, w.kNorm}, heads,
              MTL::Size(tiles, c_.heads + c_.kvHeads, 1), 32);
  if (c_.sliding[layer]) {
    e_.group("rope", l);
    e_.dispatch(*k_.rotateTiles, {at(b_.q), at(b_.k), s_.engine_->rotations()}, heads,
                MTL::Size(tiles, c_.heads + c_.kvHeads, 1), 32);
  }
  e_.group("kv_stage_attention", l);
  e_.dispatch(*k_.kvStage, {at(b_.k), at(b_.v), at(b_.kStage), at(b_.vStage)},
              TileStoreArguments{tiles, rows_, c_.headDim, c_.kvHeads, tiles, 0, 0, 1},
              MTL::Size(tiles, c_.kvDim(), 1), 32);
  e_.barrier({b_.kStage.get(), b_.vStage.get()});
  const KvPlane &plane = cache.plane;
  TileAttentionArguments args{tiles,
                              rows_,
                              c_.headDim,
                              c_.headsPerKvHead(),
                              c_.heads,
                              cache.blocks,
                              plane.length,
                              plane.capacity,
                              plane.originLogical,
                              plane.originPhysical,
                              position_,
                              c_.sliding[layer] ? std::min(c_.window, kNoWindow) : kNoWindow,
                              c_.attentionScale()};
  if (k_.attendUnits) {
    e_.dispatch(*k_.halfRows, {at(b_.q), at(b_.rows)}, c_.attentionDim(), MTL::Size(tiles, c_.attentionDim() / 32, 1), 256);
    e_.barrier({b_.rows.get()});
    e_.dispatch(*k_.attendUnits,
                {at(b_.rows), at(cache.k), at(cache.v), at(b_.kStage), at(b_.vStage), at(b_.attention)}, args,
                MTL::Size(tiles, c_.heads, 1), 64);
  } else {
    e_.dispatchWithMemory(*k_.attendTiles,
                          {at(b_.q), at(cache.k), at(cache.v), at(b_.kStage), at(b_.vStage), at(b_.attention)},
                          args, 2 * kAttentionKeys * c_.headDim * 4, MTL::Size(tiles, c_.heads, 1), 32);
  }
  e_.group("kv_publish", l);
  PEWTER_TRY(uint32_t survivor, cache.plane.appendBatch(position_, rows_));
  e_.dispatch(*k_.kvPublish, {at(b_.kStage), at(b_.vStage), at(cache.k), at(cache.v)},
              TileStoreArguments{tiles, rows_, c_.headDim, c_.kvHeads, cache.blocks, survivor - position_,
                                 cache.plane.physicalRow(survivor), cache.plane.capacity},
              MTL::Size(tiles, c_.kvDim(), 1), 32);
  return {};
}

} // namespace pewter::muse
