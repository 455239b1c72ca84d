// SPDX-License-Identifier: Apache-2.0
//
// A snapshot is: "PWKV", version, model identity (layers, key-value width, element bytes), position,
// tokens, then per layer the first kept position, the number of rows, and the rows in logical order,
// K before V, each row as plain kvDim elements. Restoring puts rows where a sequence that was fed the
// tokens would have them (row = position mod capacity), so the next token has the same bits.
//
// Tested by tests/engine/Sequences.cpp.
#include "muse/Sequence.h"
#include <cstring>

namespace pewter::muse {
namespace {

constexpr uint32_t kMagic = 0x564b5750, kVersion = 1;

struct Header {
  uint32_t magic, version, layers, kvDim, elementBytes, position;
};

/// Copies one row between a plane and plain elements, which lie the same way in both directions.
template <class Plain, class Move>
void forRow(const LayerCache &cache, const ModelConfig &c, uint32_t bytes, uint32_t row, Plain *plain, Move move) {
  auto *k = static_cast<std::byte *>(cache.k->contents());
  auto *v = static_cast<std::byte *>(cache.v->contents());
  Plain *plainV = plain + uint64_t(c.kvDim()) * bytes;
  for (uint32_t h = 0; h < c.kvHeads; ++h) {
    for (uint32_t d = 0; d < c.headDim; ++d) {
      uint64_t at = ((uint64_t(h) * cache.blocks + row / 32) * c.headDim + d) * 32 + row % 32;
      move(k + at * bytes, plain + (h * c.headDim + d) * bytes, bytes);
    }
    uint64_t at = (uint64_t(h) * cache.blocks * 32 + row) * c.headDim;
    move(v + at * bytes, plainV + h * c.headDim * bytes, c.headDim * bytes);
  }
}

} // namespace

void LayerCache::readRow(const ModelConfig &config, uint32_t bytes, uint32_t row, std::byte *plain) const {
  forRow(*this, config, bytes, row, plain,
         [](const std::byte *plane, std::byte *to, size_t count) { std::memcpy(to, plane, count); });
}
void LayerCache::writeRow(const ModelConfig &config, uint32_t bytes, uint32_t row, const std::byte *plain) {
  forRow(*this, config, bytes, row, plain,
         [](std::byte *plane, const std::byte *from, size_t count) { std::memcpy(plane, from, count); });
}

Result<LayerCache> Sequence::onHost(const LayerCache &cache) const {
  LayerCache host = cache;
  const Context &context = engine_->context();
  if (context.unifiedMemory())
    return host;
  PEWTER_TRY(host.k, context.allocate(cache.k->length(), "k_cache on the host"));
  PEWTER_TRY(host.v, context.allocate(cache.v->length(), "v_cache on the host"));
  PEWTER_TRY_VOID(context.copy({{cache.k.get(), 0, host.k.get(), 0, cache.k->length()},
                                {cache.v.get(), 0, host.v.get(), 0, cache.v->length()}}));
  return host;
}

Result<void> Sequence::toDevice(const LayerCache &host, LayerCache &cache) {
  if (host.k.get() == cache.k.get())
    return {};
  return engine_->context().copy({{host.k.get(), 0, cache.k.get(), 0, cache.k->length()},
                                  {host.v.get(), 0, cache.v.get(), 0, cache.v->length()}});
}

Bytes Sequence::save() const {
  const ModelConfig &c = engine_->config();
  uint32_t element = engine_->kvElementBytes(), rowBytes = c.kvDim() * element;
  Bytes out;
  auto put = [&](const void *data, size_t size) {
    const auto *bytes = static_cast<const std::byte *>(data);
    out.insert(out.end(), bytes, bytes + size);
  };
  Header header{kMagic, kVersion, c.layers, c.kvDim(), element, position_};
  put(&header, sizeof header);
  put(history_.data(), history_.size() * 4);
  Bytes row(2ull * rowBytes);
  for (const LayerCache &own : caches_) {
    const Result<LayerCache> cache = onHost(own);
    if (!cache)
      return {};
    const KvPlane &plane = own.plane;
    put(&plane.originLogical, 4);
    put(&plane.length, 4);
    for (uint32_t p = plane.originLogical; p < plane.end(); ++p) {
      cache->readRow(c, element, plane.physicalRow(p), row.data());
      put(row.data(), row.size());
    }
  }
  return out;
}

Result<void> Sequence::restore(ByteView bytes) {
  const ModelConfig &c = engine_->config();
  uint32_t element = engine_->kvElementBytes(), rowBytes = c.kvDim() * element;
  size_t at = 0;
  auto take = [&](void *data, size_t size) -> Result<void> {
    if (bytes.size() - at < size)
      return fail(ErrorKind::Validation, "The snapshot ends at byte {}; {} more are expected.",
                  bytes.size(), size - (bytes.size() - at));
    std::memcpy(data, bytes.data() + at, size);
    at += size;
    return {};
  };
  Header header{};
  PEWTER_TRY_VOID(take(&header, sizeof header));
  if (header.magic != kMagic || header.version != kVersion)
    return fail(ErrorKind::Validation, "The bytes are not a snapshot of version {}.", kVersion);
  if (header.layers != c.layers || header.kvDim != c.kvDim() || header.elementBytes != element)
    return fail(ErrorKind::Validation,
                "The snapshot is of another model or cache type: [{} layers, {} wide, {} bytes]; {} layers, "
                "{} wide, {} bytes are expected.",
                header.layers, header.kvDim, header.elementBytes, c.layers, c.kvDim(), element);
  if (header.position > maxContext_)
    return fail(ErrorKind::Validation, "The snapshot has [{}] tokens; the context has room for {}.",
                header.position, maxContext_);
  std::vector<uint32_t> history(header.position);
  PEWTER_TRY_VOID(take(history.data(), history.size() * 4));
  for (uint32_t token : history)
    PEWTER_TRY_VOID(checkToken(token));
  // First look at everything, then write.
  size_t planesAt = at;
  for (const LayerCache &cache : caches_) {
    uint32_t origin = 0, length = 0;
    PEWTER_TRY_VOID(take(&origin, 4));
    PEWTER_TRY_VOID(take(&length, 4));
    uint32_t expected = std::min(header.position, cache.plane.capacity);
    if (length != expected || origin != header.position - expected)
      return fail(ErrorKind::Validation,
                  "Layer {} of the snapshot holds rows [{}, {}); [{}, {}) are expected.",
                  cache.plane.layer, origin, uint64_t(origin) + length, header.position - expected,
                  header.position);
    if ((bytes.size() - at) / (2ull * rowBytes) < length)
      return fail(ErrorKind::Validation, "The snapshot ends inside layer {}.", cache.plane.layer);
    at += 2ull * rowBytes * length;
  }
  if (at != bytes.size())
    return fail(ErrorKind::Validation, "The snapshot has [{}] bytes behind its end.", bytes.size() - at);
  at = planesAt;
  Bytes row(2ull * rowBytes);
  for (LayerCache &cache : caches_) {
    KvPlane &plane = cache.plane;
    std::memcpy(&plane.originLogical, bytes.data() + at, 4);
    std::memcpy(&plane.length, bytes.data() + at + 4, 4);
    at += 8;
    plane.originPhysical = plane.originLogical % plane.capacity;
    PEWTER_TRY(LayerCache host, onHost(cache));
    for (uint32_t p = plane.originLogical; p < plane.end(); ++p) {
      std::memcpy(row.data(), bytes.data() + at, row.size());
      host.writeRow(c, element, plane.physicalRow(p), row.data());
      at += row.size();
    }
    PEWTER_TRY_VOID(toDevice(host, cache));
  }
  position_ = header.position;
  history_ = std::move(history);
  return {};
}

} // namespace pewter::muse
