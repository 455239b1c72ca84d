// SPDX-License-Identifier: Apache-2.0
//
// Greedy decoding without a round trip per token: the device's argmax writes the id where the next
// command reads it, so the host records and commits ahead and only looks at four bytes per token. What
// ran ahead of a stop is undone: rows of rings that it overwrote are put back from a copy, and the last
// token that counts is decoded again, because its logits have been overwritten.
//
// Tested by tests/engine/GreedyDecode.cpp.
#include "base/Check.h"
#include "muse/DecodeGraph.h"
#include <algorithm>
#include <cstring>

namespace pewter::muse {

Result<Bytes> Sequence::rowsAhead(uint32_t count) {
  const ModelConfig &c = engine_->config();
  const Context &context = engine_->context();
  const uint64_t rowBytes = 2ull * c.kvDim() * engine_->kvElementBytes();
  Bytes out;
  std::vector<Copy> copies;
  for (size_t l = 0; l < caches_.size(); ++l) {
    const LayerCache &cache = caches_[l];
    const KvPlane &plane = cache.plane;
    if (plane.length + count <= plane.capacity)
      continue; // nothing is overwritten
    if (!context.unifiedMemory()) {
      // The device keeps a copy of the plane; the host looks at it only when something is undone.
      spares_.resize(caches_.size());
      LayerCache &spare = spares_[l];
      if (!spare.k) {
        spare.blocks = cache.blocks;
        PEWTER_TRY(spare.k, context.allocateForDevice(cache.k->length(), fmt::format("k_spare.{}", l)));
        PEWTER_TRY(spare.v, context.allocateForDevice(cache.v->length(), fmt::format("v_spare.{}", l)));
      }
      copies.push_back({cache.k.get(), 0, spare.k.get(), 0, cache.k->length()});
      copies.push_back({cache.v.get(), 0, spare.v.get(), 0, cache.v->length()});
      continue;
    }
    for (uint32_t i = 0; i < std::min(count, plane.capacity); ++i) {
      out.resize(out.size() + rowBytes);
      cache.readRow(c, engine_->kvElementBytes(), plane.physicalRow(plane.end() + i),
                    out.data() + out.size() - rowBytes);
    }
  }
  if (!copies.empty())
    PEWTER_TRY_VOID(context.copy(copies));
  return out;
}

Result<void> Sequence::rollBack(const std::vector<KvPlane> &before, ByteView rows, uint32_t count,
                                uint32_t fed) {
  const ModelConfig &c = engine_->config();
  const bool unified = engine_->context().unifiedMemory();
  const uint64_t rowBytes = 2ull * c.kvDim() * engine_->kvElementBytes();
  size_t at = 0;
  Bytes row(rowBytes);
  for (size_t l = 0; l < caches_.size(); ++l) {
    const KvPlane &old = before[l];
    if (old.length + count > old.capacity) {
      PEWTER_TRY(LayerCache host, onHost(caches_[l]));
      LayerCache spare;
      if (!unified) {
        PEWTER_TRY(spare, onHost(spares_[l]));
      }
      for (uint32_t i = 0; i < std::min(count, old.capacity); ++i, at += rowBytes) {
        const uint32_t place = old.physicalRow(old.end() + i);
        if (i < fed)
          continue;
        if (!unified)
          spare.readRow(c, engine_->kvElementBytes(), place, row.data());
        host.writeRow(c, engine_->kvElementBytes(), place, unified ? rows.data() + at : row.data());
      }
      PEWTER_TRY_VOID(toDevice(host, caches_[l]));
    }
    KvPlane plane = old;
    PEWTER_CHECK(fed == 0 || plane.appendBatch(old.end(), fed));
    caches_[l].plane = plane;
  }
  return {};
}

Result<std::pair<uint32_t, bool>> Sequence::greedyBlock(uint32_t token, uint32_t ahead,
                                                        const std::function<bool(uint32_t)> &goOn,
                                                        std::vector<uint32_t> &out) {
  PEWTER_TRY(auto permit, engine_->scheduler().acquire(options_.id, WorkKind::Decode));
  auto before = planes();
  hasHostLogits_ = false;
  PEWTER_TRY(Bytes overwritten, rowsAhead(ahead));
  auto *ids = static_cast<volatile uint32_t *>(a_.tokens->contents());
  ids[0] = token;
  std::vector<NS::SharedPtr<MTL::CommandBuffer>> inFlight;
  for (uint32_t i = 0; i < ahead; ++i) {
    for (LayerCache &cache : caches_)
      PEWTER_CHECK(cache.plane.append(position_ + i)); // the caller has checked that there is room
    GraphEncoder encoder(engine_->context(), {.label = "greedy decode"});
    DecodeGraph graph(*engine_, a_, encoder, {{this, position_ + i}});
    graph.encodeToken(i);
    encoder.group("argmax");
    graph.encodeArgmax({a_.tokens.get(), (i + 1) * 4});
    inFlight.push_back(encoder.commit());
  }
  std::optional<Error> error;
  uint32_t fed = 0;
  bool more = true;
  for (uint32_t i = 0; i < ahead; ++i) {
    auto ended = engine_->context().wait(inFlight[i].get()); // also of those that do not count any more
    if (error || !more)
      continue;
    uint32_t best = ids[i + 1];
    if (!ended)
      error = std::move(ended).error();
    else if (best == 0xffffffff)
      error = fail(ErrorKind::DeviceLost, "A logit of position {} is not a finite number.", position_ + i + 1).error();
    if (error)
      continue;
    ++fed;
    history_.push_back(static_cast<uint32_t>(ids[i]));
    out.push_back(best);
    more = !goOn || goOn(best);
  }
  if (error) {
    if (auto undone = rollBack(before, overwritten, ahead, 0); !undone)
      error = std::move(undone).error();
    out.resize(out.size() - fed);
    history_.resize(position_);
    return std::unexpected(std::move(*error).whileDoing(fmt::format("decoding ahead of token {}", position_)));
  }
  if (fed < ahead) // the last one that counts is fed again by the caller, for its logits
    PEWTER_TRY_VOID(rollBack(before, overwritten, ahead, --fed));
  history_.resize(position_ + fed);
  position_ += fed;
  return std::pair{fed, more};
}

Result<std::vector<uint32_t>> Sequence::decodeGreedy(uint32_t token, uint32_t count,
                                                     const std::function<bool(uint32_t)> &goOn) {
  PEWTER_TRY_VOID(checkRoom(count));
  PEWTER_TRY_VOID(checkToken(token));
  std::vector<uint32_t> out;
  for (bool more = true; more && out.size() < count;) {
    auto ahead = std::min(kGreedyAhead, count - static_cast<uint32_t>(out.size()));
    for (const LayerCache &cache : caches_) // a ring must still hold what counts when the block has run
      ahead = std::min(ahead, cache.plane.capacity);
    size_t first = out.size();
    PEWTER_TRY(auto block, greedyBlock(token, ahead, goOn, out));
    more = block.second;
    if (block.first < ahead) {
      size_t again = out.size() - 1; // of the inputs: the token that gave the last result
      PEWTER_TRY_VOID(decode(again == first ? token : out[again - 1]));
    }
    if (!out.empty())
      token = out.back();
  }
  return out;
}

} // namespace pewter::muse
