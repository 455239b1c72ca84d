// SPDX-License-Identifier: Apache-2.0
//
// Attention of a batch of queries: a lane owns a query, so scores, maxima and sums need nothing of other
// lanes. Keys come from the cache as it was before the batch, then from the batch's own stage; the cache
// is updated afterwards, so a ring may be overwritten without hurting earlier queries. Sixteen keys at a
// time are decoded to threadgroup memory and then read as uniform values. The unnormalised result is
// kept in the output itself.
//
// Grid (stride / 32, query heads) threadgroups of 32 threads; 2 * 16 * headDim floats of threadgroup
// memory at index 0.

struct ColumnAttentionArguments {
  uint stride;
  uint rows;           ///< Of the batch.
  uint headDim;
  uint headsPerKv;
  uint blocks;         ///< Of the cache, per key-value head.
  uint cached;         ///< Rows of the cache that hold something.
  uint capacity;       ///< Of the ring.
  uint originLogical;  ///< Position of the oldest cached row,
  uint originPhysical; ///< and its place.
  uint position;       ///< Of the batch's first row.
  uint window;         ///< A key is visible when query - key < window.
  float scale;
};

constant constexpr uint kKeys = 16;

template <typename Element>
static inline void attendColumns(device const float *q, device const Element *kPlane,
                                 device const Element *vPlane, device const Element *kStage,
                                 device const Element *vStage, device float *out,
                                 constant ColumnAttentionArguments &args, threadgroup float *shared,
                                 uint2 group, uint lane) {
  const uint row = group.x * 32u + lane, kvHead = group.y / args.headsPerKv, dim = args.headDim;
  const uint query = args.position + row, stride = args.stride;
  threadgroup float *keys = shared, *values = shared + kKeys * dim;
  q += ulong(group.y * dim) * stride + row;
  out += ulong(group.y * dim) * stride + row;
  for (uint d = 0; d < dim; ++d)
    out[ulong(d) * stride] = 0.0f;
  float most = kNothing, sum = 0.0f;
  // Tiles of the cache, then tiles of the stage up to the last query of this group.
  const uint cacheTiles = (args.cached + kKeys - 1u) / kKeys;
  const uint stageRows = min(args.rows, (group.x + 1u) * 32u);
  const uint tiles = cacheTiles + (stageRows + kKeys - 1u) / kKeys;
  for (uint t = 0; t < tiles; ++t) {
    const bool cache = t < cacheTiles;
    const uint first = (cache ? t : t - cacheTiles) * kKeys;
    const uint blocks = cache ? args.blocks : stride / 32u;
    device const Element *kFrom =
        (cache ? kPlane : kStage) + (ulong(kvHead * blocks + first / 32u) * dim) * 32u + first % 32u;
    device const Element *vFrom = (cache ? vPlane : vStage) + (ulong(kvHead) * blocks * 32u + first) * dim;

    // Position of key j of the tile, and whether anybody sees the tile.
    float scores[kKeys];
    bool any = false;
    for (uint j = 0; j < kKeys; ++j) {
      uint place = first + j;
      uint key = args.position + place;
      bool holds = cache ? place < args.cached : place < args.rows;
      if (cache)
        key = args.originLogical + (place + args.capacity - args.originPhysical) % args.capacity;
      bool visible = holds && key <= query && query - key < args.window;
      scores[j] = visible ? 1.0f : 0.0f;
      any = any || visible;
    }
    if (!simd_any(any))
      continue;
    for (uint i = lane; i < kKeys * dim; i += 32u) {
      keys[i % kKeys * dim + i / kKeys] = float(kFrom[i / kKeys * 32u + i % kKeys]);
      values[i] = float(vFrom[i]);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    float newMost = most;
    for (uint j = 0; j < kKeys; j += 2u) {
      float dot0 = 0.0f, dot1 = 0.0f;
      threadgroup const float *key = keys + j * dim;
      for (uint d = 0; d < dim; ++d) {
        float value = q[ulong(d) * stride];
        dot0 = fma(key[d], value, dot0);
        dot1 = fma(key[dim + d], value, dot1);
      }
      scores[j] = scores[j] > 0.0f ? dot0 * args.scale : kNothing;
      scores[j + 1u] = scores[j + 1u] > 0.0f ? dot1 * args.scale : kNothing;
      newMost = max(newMost, max(scores[j], scores[j + 1u]));
    }
    float shrink = most == kNothing ? 0.0f : exp(most - newMost);
    sum *= shrink;
    for (uint j = 0; j < kKeys; ++j) {
      scores[j] = scores[j] == kNothing ? 0.0f : exp(scores[j] - newMost);
      sum += scores[j];
    }
    most = newMost;
    for (uint d = 0; d < dim; d += 2u) {
      float a = out[ulong(d) * stride] * shrink, b = out[ulong(d + 1u) * stride] * shrink;
      for (uint j = 0; j < kKeys; ++j) {
        a = fma(scores[j], values[j * dim + d], a);
        b = fma(scores[j], values[j * dim + d + 1u], b);
      }
      out[ulong(d) * stride] = a;
      out[ulong(d + 1u) * stride] = b;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
  for (uint d = 0; d < dim; ++d)
    out[ulong(d) * stride] *= inverse;
}

#define ATTEND_COLUMNS(suffix, Element)                                                              \
  kernel void attention_columns_##suffix(                                                            \
      device const float *q [[buffer(0)]], device const Element *kPlane [[buffer(1)]],               \
      device const Element *vPlane [[buffer(2)]], device const Element *kStage [[buffer(3)]],        \
      device const Element *vStage [[buffer(4)]], device float *out [[buffer(5)]],                   \
      constant ColumnAttentionArguments &args [[buffer(6)]], threadgroup float *shared [[threadgroup(0)]], \
      uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {       \
    attendColumns<Element>(q, kPlane, vPlane, kStage, vStage, out, args, shared, group, lane);       \
  }
ATTEND_COLUMNS(f16, half)
ATTEND_COLUMNS(f32, float)
