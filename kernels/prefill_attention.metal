// SPDX-License-Identifier: Apache-2.0
//
// Attention of a batch of queries: a lane owns a query, so scores, maxima and sums need nothing of other
// lanes. Keys come from the cache as it was before the batch, then from the batch's own stage; the cache
// is updated afterwards, so a ring may be overwritten without hurting earlier queries. Sixteen keys at a
// time are decoded to threadgroup memory and then read as uniform values. The unnormalised result is
// kept in the output itself.
//
// Scores of eight keys, and results of eight dimensions, are summed at once: sixteen 512-bit registers.
//
// Grid (tiles, query heads) threadgroups of 32 threads; 2 * 16 * headDim floats of threadgroup memory at
// index 0. headDim is a multiple of 8.
#include "kv_cache.metal"

struct TileAttentionArguments {
  uint tiles;
  uint rows;           ///< Of the batch.
  uint headDim;
  uint headsPerKv;
  uint heads;          ///< Query heads.
  uint blocks;         ///< Of the cache, per key-value head.
  uint cached;         ///< Rows of the cache that hold something.
  uint capacity;       ///< Of the ring.
  uint originLogical;  ///< Position of the oldest cached row,
  uint originPhysical; ///< and its place.
  uint position;       ///< Of the batch's first row.
  uint window;         ///< A key is visible when query - key < window; less than 2^31.
  float scale;
};

constant constexpr uint kKeys = 16, kAtOnce = 8;

template <typename Element>
static inline void attendTile(device const float *q, device const Element *kPlane,
                              device const Element *vPlane, device const Element *kStage,
                              device const Element *vStage, device float *out,
                              constant TileAttentionArguments &args, threadgroup float *shared,
                              uint2 group, uint lane) {
  const uint kvHead = group.y / args.headsPerKv, dim = args.headDim;
  const uint query = args.position + group.x * 32u + lane;
  threadgroup float *keys = shared, *values = shared + kKeys * dim; // [dim][kKeys], [kKeys][dim]
  q += (ulong(group.x) * args.heads + group.y) * dim * 32u + lane;
  out += (ulong(group.x) * args.heads + group.y) * dim * 32u + lane;
  for (uint d = 0; d < dim; ++d)
    out[d * 32u] = 0.0f;
  float most = kNothing, sum = 0.0f;
  // Tiles of the cache, then tiles of the stage up to the last query of this group.
  const uint cacheTiles = (args.cached + kKeys - 1u) / kKeys;
  const uint stageRows = min(args.rows, (group.x + 1u) * 32u);
  const uint tiles = cacheTiles + (stageRows + kKeys - 1u) / kKeys;
  for (uint t = 0; t < tiles; ++t) {
    const bool cache = t < cacheTiles;
    const uint first = (cache ? t : t - cacheTiles) * kKeys;
    const uint blocks = cache ? args.blocks : args.tiles;
    device const Element *kFrom =
        (cache ? kPlane : kStage) + (ulong(kvHead * blocks + first / 32u) * dim) * 32u + first % 32u;
    device const Element *vFrom = (cache ? vPlane : vStage) + (ulong(kvHead) * blocks * 32u + first) * dim;

    // The position of key j is the same for all lanes; one that holds nothing lies far behind every query.
    const uint holding = cache ? args.cached : args.rows;
    bool visible[kKeys];
    bool any = false;
    for (uint j = 0; j < kKeys; ++j) {
      uint place = first + j;
      uint turned = place - args.originPhysical + (place < args.originPhysical ? args.capacity : 0u);
      uint key = cache ? args.originLogical + turned : args.position + place;
      key = place < holding ? key : args.position + 0x40000000u;
      visible[j] = query - key < args.window; // wraps to a large number when the key is behind the query
      any = any || visible[j];
    }
    if (!simd_any(any))
      continue;
    // Two rows of sixteen keys at a time.
    kFrom += lane / kKeys * 32u + lane % kKeys;
    for (uint d = 0; d < dim; d += 2u)
      keys[d * kKeys + lane] = float(kFrom[d * 32u]);
    vFrom += lane;
    for (uint i = 0; i < kKeys * dim; i += 32u)
      values[i + lane] = float(vFrom[i]);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    float scores[kKeys];
    float newMost = most;
    for (uint part = 0; part < kKeys; part += kAtOnce) {
      float dots[kAtOnce];
      for (uint j = 0; j < kAtOnce; ++j)
        dots[j] = 0.0f;
      threadgroup const float *key = keys + part;
      for (uint d = 0; d < dim; ++d) {
        float value = q[d * 32u];
        for (uint j = 0; j < kAtOnce; ++j)
          dots[j] = fma(key[d * kKeys + j], value, dots[j]);
      }
      for (uint j = 0; j < kAtOnce; ++j) {
        scores[part + j] = visible[part + j] ? dots[j] * args.scale : kNothing;
        newMost = max(newMost, scores[part + j]);
      }
    }
    float shrink = most == kNothing ? 0.0f : exp(most - newMost);
    sum *= shrink;
    for (uint j = 0; j < kKeys; ++j) {
      scores[j] = visible[j] ? exp(scores[j] - newMost) : 0.0f;
      sum += scores[j];
    }
    most = newMost;
    for (uint d = 0; d < dim; d += kAtOnce) {
      float results[kAtOnce];
      for (uint e = 0; e < kAtOnce; ++e)
        results[e] = out[(d + e) * 32u] * shrink;
      for (uint j = 0; j < kKeys; ++j)
        for (uint e = 0; e < kAtOnce; ++e)
          results[e] = fma(scores[j], values[j * dim + d + e], results[e]);
      for (uint e = 0; e < kAtOnce; ++e)
        out[(d + e) * 32u] = results[e];
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
  for (uint d = 0; d < dim; ++d)
    out[d * 32u] *= inverse;
}

#define ATTEND_TILES(suffix, Element)                                                              \
  kernel void attention_tiles_##suffix(                                                            \
      device const float *q [[buffer(0)]], device const Element *kPlane [[buffer(1)]],               \
      device const Element *vPlane [[buffer(2)]], device const Element *kStage [[buffer(3)]],        \
      device const Element *vStage [[buffer(4)]], device float *out [[buffer(5)]],                   \
      constant TileAttentionArguments &args [[buffer(6)]], threadgroup float *shared [[threadgroup(0)]], \
      uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {       \
    attendTile<Element>(q, kPlane, vPlane, kStage, vStage, out, args, shared, group, lane);       \
  }
ATTEND_TILES(f16, half)
ATTEND_TILES(f32, float)
