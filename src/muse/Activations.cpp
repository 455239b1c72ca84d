// SPDX-License-Identifier: Apache-2.0
// Tested by tests/engine/Sequences.cpp and tests/engine/PackedDecode.cpp.
#include "muse/Activations.h"
#include "muse/KernelArguments.h"

namespace pewter::muse {

Result<Activations> Activations::create(const Context &context, const ModelConfig &c, uint32_t rows,
                                          bool fused) {
  Activations a;
  auto make = [&](NS::SharedPtr<MTL::Buffer> &buffer, uint64_t count, const char *label) -> Result<void> {
    PEWTER_TRY(buffer, context.allocateForDevice(count * 4, label));
    return {};
  };
  a.splits = fused ? kMostSplits : 32;
  // What the host writes or reads between commands.
  PEWTER_TRY(a.tokens, context.allocate(kMaxAhead * 4, "tokens"));
  PEWTER_TRY(a.best, context.allocate(4, "best"));
  uint32_t parts = (c.vocab + kArgmaxSpan - 1) / kArgmaxSpan;
  PEWTER_TRY_VOID(make(a.hidden, uint64_t(rows) * c.hidden, "hidden"));
  PEWTER_TRY_VOID(make(a.normed, uint64_t(rows) * c.hidden, "normed"));
  PEWTER_TRY_VOID(make(a.postNorm, uint64_t(rows) * c.hidden, "post_norm"));
  PEWTER_TRY_VOID(make(a.projected, uint64_t(rows) * c.hidden, "projected"));
  PEWTER_TRY_VOID(make(a.q, uint64_t(rows) * c.attentionDim(), "q"));
  PEWTER_TRY_VOID(make(a.gate, uint64_t(rows) * c.attentionDim(), "gate"));
  PEWTER_TRY_VOID(make(a.attention, uint64_t(rows) * c.attentionDim(), "attention"));
  PEWTER_TRY_VOID(make(a.k, uint64_t(rows) * c.kvDim(), "k"));
  PEWTER_TRY_VOID(make(a.v, uint64_t(rows) * c.kvDim(), "v"));
  PEWTER_TRY_VOID(make(a.partials, uint64_t(rows) * c.heads * a.splits * (c.headDim + 2), "attention_partials"));
  PEWTER_TRY_VOID(make(a.ffnGate, uint64_t(rows) * c.ffn, "ffn_gate"));
  PEWTER_TRY_VOID(make(a.ffnUp, uint64_t(rows) * c.ffn, "ffn_up"));
  if (a.splits == kMostSplits) {
    auto words = [&](uint64_t width) { return rows * ((width * 9 / 4 + 15) / 16 * 4); };
    PEWTER_TRY_VOID(make(a.fixedHidden, words(c.hidden), "fixed_hidden"));
    PEWTER_TRY_VOID(make(a.fixedAttention, words(c.attentionDim()), "fixed_attention"));
    PEWTER_TRY_VOID(make(a.fixedFfn, words(c.ffn), "fixed_ffn"));
  }
  PEWTER_TRY_VOID(make(a.logits, uint64_t(rows) * c.vocab, "logits"));
  PEWTER_TRY_VOID(make(a.bestValues, parts, "best_values"));
  PEWTER_TRY_VOID(make(a.bestIndices, parts, "best_indices"));
  return a;
}

} // namespace pewter::muse
