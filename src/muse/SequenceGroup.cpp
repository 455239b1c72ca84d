// SPDX-License-Identifier: Apache-2.0
//
// Packed decode: weights are read once for all rows. The rows share the engine's packed buffers; what
// stays of a row, its logits and its cache, is its sequence's own.
//
// Tested by tests/engine/PackedDecode.cpp.
#include "muse/DecodeGraph.h"
#include <cstring>

namespace pewter::muse {

Result<void> Sequence::decodeTogether(std::span<Sequence *const> sequences, std::span<const uint32_t> tokens,
                                      GraphRecord *record) {
  if (sequences.size() != tokens.size())
    return fail(ErrorKind::Validation, "A packed decode of {} sequences was given [{}] tokens.",
                sequences.size(), tokens.size());
  std::vector<uint32_t> ids;
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (sequences[i]->engine_ != sequences[0]->engine_)
      return fail(ErrorKind::Validation, "Sequence [{}] of a packed decode belongs to another engine.",
                  sequences[i]->options_.id);
    PEWTER_TRY_VOID(sequences[i]->checkRoom(1));
    PEWTER_TRY_VOID(sequences[i]->checkToken(tokens[i]));
    ids.push_back(sequences[i]->options_.id);
  }
  if (sequences.empty() || sequences.size() > kMaxTogether)
    return fail(ErrorKind::Validation, "A packed decode has [{}] sequences; 1 to {} are expected.",
                sequences.size(), kMaxTogether);
  Engine &engine = *sequences[0]->engine_;
  PEWTER_TRY(auto permit, engine.scheduler().acquireGroup(ids));
  PEWTER_TRY(Activations * a, engine.packedActivations());

  std::vector<std::vector<KvPlane>> before;
  std::vector<DecodeRow> rows;
  for (Sequence *sequence : sequences)
    before.push_back(sequence->planes());
  auto restore = [&] {
    for (size_t i = 0; i < sequences.size(); ++i)
      sequences[i]->setPlanes(before[i]);
  };
  for (Sequence *sequence : sequences) {
    if (auto appended = sequence->appendRows(1); !appended) {
      restore();
      return appended;
    }
    rows.push_back({sequence, sequence->position_});
  }
  std::memcpy(a->tokens->contents(), tokens.data(), tokens.size_bytes());
  GraphEncoder encoder(engine.context(), {.label = "packed decode", .record = record});
  DecodeGraph(engine, *a, encoder, std::move(rows)).encodeToken(0);
  if (auto ran = encoder.finish(); !ran) {
    restore();
    return std::unexpected(std::move(ran).error().whileDoing(
        fmt::format("decoding {} sequences together", sequences.size())));
  }
  const uint64_t bytes = uint64_t(engine.config().vocab) * 4;
  std::vector<Copy> copies;
  for (size_t i = 0; i < sequences.size(); ++i)
    copies.push_back({a->logits.get(), i * bytes, sequences[i]->a_.logits.get(), 0, bytes});
  if (auto copied = engine.context().copy(copies); !copied) {
    restore();
    return copied;
  }
  for (size_t i = 0; i < sequences.size(); ++i) {
    Sequence &sequence = *sequences[i];
    sequence.hasHostLogits_ = false;
    ++sequence.position_;
    sequence.history_.push_back(tokens[i]);
  }
  return {};
}

} // namespace pewter::muse
