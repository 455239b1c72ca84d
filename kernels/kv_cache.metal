// SPDX-License-Identifier: Apache-2.0
//
// Rotation, the key-value cache, and attention of one query over it.
//
// Layout of a plane, in elements (half, or float where the kernel's name says so):
//   K  ((kvHead * blocks + row / 32) * headDim + d) * 32 + row % 32   rows of a block side by side
//   V  (kvHead * blocks * 32 + row) * headDim + d
// With K so, a lane that owns a row finds its dot product without adding across lanes.

struct RotateArguments {
  uint headDim;
  uint pairs;      ///< Per head: rotated dimensions / 2.
  uint queryHeads;
  uint heads;      ///< Query and key heads together.
  uint position;
};
/// Turns adjacent pairs (2i, 2i + 1) of q and k by the angles of `table`: (cos, sin) per position and
/// pair. One thread per head and pair.
kernel void rotate_adjacent(device float *q [[buffer(0)]], device float *k [[buffer(1)]],
                            device const float2 *table [[buffer(2)]],
                            constant RotateArguments &args [[buffer(3)]],
                            uint i [[thread_position_in_grid]]) {
  uint head = i / args.pairs, pair = i % args.pairs;
  if (head >= args.heads)
    return;
  device float *x = head < args.queryHeads ? q + head * args.headDim
                                           : k + (head - args.queryHeads) * args.headDim;
  float2 turn = table[args.position * args.pairs + pair];
  float a = x[2u * pair], b = x[2u * pair + 1u];
  x[2u * pair] = a * turn.x - b * turn.y;
  x[2u * pair + 1u] = a * turn.y + b * turn.x;
}

struct StoreArguments {
  uint headDim;
  uint kvHeads;
  uint blocks; ///< Of 32 rows, per key-value head.
  uint row;    ///< Physical.
};
template <typename Element>
static inline void storeRow(device const float *k, device const float *v, device Element *kPlane,
                            device Element *vPlane, constant StoreArguments &args, uint i) {
  if (i >= args.headDim * args.kvHeads)
    return;
  uint head = i / args.headDim, d = i % args.headDim;
  kPlane[((head * args.blocks + args.row / 32u) * args.headDim + d) * 32u + args.row % 32u] = Element(k[i]);
  vPlane[(head * args.blocks * 32u + args.row) * args.headDim + d] = Element(v[i]);
}
kernel void kv_store_f16(device const float *k [[buffer(0)]], device const float *v [[buffer(1)]],
                         device half *kPlane [[buffer(2)]], device half *vPlane [[buffer(3)]],
                         constant StoreArguments &args [[buffer(4)]], uint i [[thread_position_in_grid]]) {
  storeRow<half>(k, v, kPlane, vPlane, args, i);
}
kernel void kv_store_f32(device const float *k [[buffer(0)]], device const float *v [[buffer(1)]],
                         device float *kPlane [[buffer(2)]], device float *vPlane [[buffer(3)]],
                         constant StoreArguments &args [[buffer(4)]], uint i [[thread_position_in_grid]]) {
  storeRow<float>(k, v, kPlane, vPlane, args, i);
}

struct AttentionArguments {
  uint headDim;
  uint headsPerKv;
  uint blocks;  ///< Of a plane.
  uint rows;    ///< Visible: all rows of the plane that hold something, from physical row 0 on.
  uint splits;  ///< Workers per key-value head.
  float scale;
};

/// Stands for the maximum of nothing: finite, because fast math may assume that everything is.
constant float kNothing = -1e30f;

/// Split-K: worker `split` of key-value head `kvHead` takes blocks split, split + splits, ... for every
/// query head of its group. Partial record per (query head, split): maximum, sum, headDim values.
/// Grid (kv heads, splits) threadgroups of 32 threads.
template <typename Element>
static inline void attendSplit(device const float *q, device const Element *kPlane,
                               device const Element *vPlane, device float *partials,
                               constant AttentionArguments &args, threadgroup float *weights, uint2 group,
                               uint lane) {
  const uint kvHead = group.x, split = group.y, stride = args.headDim + 2u;
  const uint used = (args.rows + 31u) / 32u, parts = args.headDim / 32u;
  for (uint h = 0; h < args.headsPerKv; ++h) {
    uint head = kvHead * args.headsPerKv + h;
    device const float *query = q + head * args.headDim;
    float most = kNothing, sum = 0.0f;
    float values[8]; // headDim / 32 of them are used
    for (uint p = 0; p < 8u; ++p)
      values[p] = 0.0f;
    for (uint b = split; b < used; b += args.splits) {
      device const Element *keys = kPlane + ulong(kvHead * args.blocks + b) * args.headDim * 32u;
      float score = 0.0f;
      for (uint d = 0; d < args.headDim; ++d)
        score = fma(query[d], float(keys[d * 32u + lane]), score);
      bool visible = b * 32u + lane < args.rows;
      score = visible ? score * args.scale : kNothing;
      float newMost = max(most, simd_max(score));
      float shrink = most == kNothing ? 0.0f : exp(most - newMost);
      float weight = visible ? exp(score - newMost) : 0.0f;
      most = newMost;
      sum = sum * shrink + simd_sum(weight);
      weights[lane] = weight;
      simdgroup_barrier(mem_flags::mem_threadgroup);
      uint count = min(32u, args.rows - b * 32u);
      device const Element *rows = vPlane + (ulong(kvHead) * args.blocks + b) * 32u * args.headDim;
      for (uint p = 0; p < parts; ++p) {
        float value = values[p] * shrink;
        for (uint r = 0; r < count; ++r)
          value = fma(weights[r], float(rows[r * args.headDim + p * 32u + lane]), value);
        values[p] = value;
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    device float *record = partials + (head * args.splits + split) * stride;
    if (lane == 0u) {
      record[0] = most;
      record[1] = sum;
    }
    for (uint p = 0; p < parts; ++p)
      record[2u + p * 32u + lane] = values[p];
  }
}

#define ATTEND(name, Element)                                                                        \
  kernel void name(device const float *q [[buffer(0)]], device const Element *kPlane [[buffer(1)]],  \
                   device const Element *vPlane [[buffer(2)]], device float *partials [[buffer(3)]], \
                   constant AttentionArguments &args [[buffer(4)]],                                  \
                   uint2 group [[threadgroup_position_in_grid]],                                     \
                   uint lane [[thread_index_in_simdgroup]]) {                                        \
    threadgroup float weights[32];                                                                   \
    attendSplit<Element>(q, kPlane, vPlane, partials, args, weights, group, lane);                   \
  }
ATTEND(attention_splitk_f16_1sg, half)
ATTEND(attention_splitk_f32_1sg, float)

/// Joins the partial records of one query head. Grid: query heads threadgroups of 32 threads.
kernel void attention_reduce_1sg(device const float *partials [[buffer(0)]], device float *out [[buffer(1)]],
                                 constant AttentionArguments &args [[buffer(2)]],
                                 uint head [[threadgroup_position_in_grid]],
                                 uint lane [[thread_index_in_simdgroup]]) {
  const uint stride = args.headDim + 2u;
  device const float *records = partials + head * args.splits * stride;
  float most = kNothing;
  for (uint s = 0; s < args.splits; ++s)
    if (records[s * stride + 1u] > 0.0f)
      most = max(most, records[s * stride]);
  float sum = 0.0f;
  for (uint s = 0; s < args.splits; ++s)
    if (records[s * stride + 1u] > 0.0f)
      sum += records[s * stride + 1u] * exp(records[s * stride] - most);
  for (uint p = 0; p < args.headDim / 32u; ++p) {
    float value = 0.0f;
    for (uint s = 0; s < args.splits; ++s)
      if (records[s * stride + 1u] > 0.0f)
        value = fma(exp(records[s * stride] - most), records[s * stride + 2u + p * 32u + lane], value);
    out[head * args.headDim + p * 32u + lane] = value / sum;
  }
}
