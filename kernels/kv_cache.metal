// SPDX-License-Identifier: Apache-2.0
//
// Rotation, the key-value cache, and attention of one query over it.
//
// Layout of a plane, in elements (half, or float where the kernel's name says so):
//   K  ((kvHead * blocks + row / 32) * headDim + d) * 32 + row % 32   rows of a block side by side
//   V  (kvHead * blocks * 32 + row) * headDim + d
// With K so, a lane that owns a row finds its dot product without adding across lanes.
#ifndef PEWTER_KV_CACHE
#define PEWTER_KV_CACHE
#include <metal_stdlib>
using namespace metal;

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

/// One worker's share of `kHeads` query heads of a group: blocks split, split + splits, ... Each row of K
/// and V is loaded and widened once for all heads. Unfinished results stand in the records.
template <typename Element, uint kHeads>
static inline void attendHeads(device const float *q, device const Element *kPlane,
                               device const Element *vPlane, device float *records,
                               constant AttentionArguments &args, threadgroup float *weights, uint split,
                               uint lane) {
  const uint dim = args.headDim, step = args.splits * (dim + 2u); // between the records of two heads
  device float *unfinished = records + 2u + lane;
  float most[kHeads], sum[kHeads];
  for (uint h = 0; h < kHeads; ++h) {
    most[h] = kNothing;
    sum[h] = 0.0f;
    for (uint i = 0; i < dim; i += 32u)
      unfinished[h * step + i] = 0.0f;
  }
  for (uint b = split; b * 32u < args.rows; b += args.splits) {
    device const Element *keys = kPlane + ulong(b) * dim * 32u + lane;
    float scores[kHeads];
    for (uint h = 0; h < kHeads; ++h)
      scores[h] = 0.0f;
    for (uint d = 0; d < dim; ++d) {
      float key = float(keys[d * 32u]);
      for (uint h = 0; h < kHeads; ++h)
        scores[h] = fma(q[h * dim + d], key, scores[h]);
    }
    const bool visible = b * 32u + lane < args.rows;
    float shrink[kHeads];
    for (uint h = 0; h < kHeads; ++h) {
      float score = visible ? scores[h] * args.scale : kNothing;
      float newMost = max(most[h], simd_max(score));
      shrink[h] = most[h] == kNothing ? 0.0f : exp(most[h] - newMost);
      float weight = visible ? exp(score - newMost) : 0.0f;
      most[h] = newMost;
      sum[h] = sum[h] * shrink[h] + simd_sum(weight);
      weights[h * 32u + lane] = weight;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    const uint count = min(32u, args.rows - b * 32u);
    for (uint i = 0; i < dim; i += 32u) {
      device const Element *rows = vPlane + ulong(b) * 32u * dim + i + lane;
      float values[kHeads];
      for (uint h = 0; h < kHeads; ++h)
        values[h] = unfinished[h * step + i] * shrink[h];
      for (uint r = 0; r < count; ++r) {
        float value = float(rows[r * dim]);
        for (uint h = 0; h < kHeads; ++h)
          values[h] = fma(weights[h * 32u + r], value, values[h]);
      }
      for (uint h = 0; h < kHeads; ++h)
        unfinished[h * step + i] = values[h];
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (uint h = 0; h < kHeads; ++h)
    if (lane == 0u) {
      records[h * step] = most[h];
      records[h * step + 1u] = sum[h];
    }
}

/// Split-K: worker `group.y` of key-value head `group.x` takes every `splits`-th block of 32 rows, for all
/// query heads of the group, four at a time. Partial record per (query head, split): maximum, sum, headDim
/// values. Grid (kv heads, splits) threadgroups of 32 threads.
template <typename Element>
static inline void attendSplit(device const float *q, device const Element *kPlane,
                               device const Element *vPlane, device float *partials,
                               constant AttentionArguments &args, threadgroup float *weights, uint2 group,
                               uint lane) {
  const uint dim = args.headDim, first = group.x * args.headsPerKv;
  const ulong plane = ulong(group.x) * args.blocks * 32u * dim;
  uint h = 0;
  for (; h + 4u <= args.headsPerKv; h += 4u)
    attendHeads<Element, 4>(q + (first + h) * dim, kPlane + plane, vPlane + plane,
                            partials + ((first + h) * args.splits + group.y) * (dim + 2u), args, weights,
                            group.y, lane);
  for (; h < args.headsPerKv; ++h)
    attendHeads<Element, 1>(q + (first + h) * dim, kPlane + plane, vPlane + plane,
                            partials + ((first + h) * args.splits + group.y) * (dim + 2u), args, weights,
                            group.y, lane);
}

#define ATTEND(name, Element)                                                                        \
  kernel void name(device const float *q [[buffer(0)]], device const Element *kPlane [[buffer(1)]],  \
                   device const Element *vPlane [[buffer(2)]], device float *partials [[buffer(3)]], \
                   constant AttentionArguments &args [[buffer(4)]],                                  \
                   uint2 group [[threadgroup_position_in_grid]],                                     \
                   uint lane [[thread_index_in_simdgroup]]) {                                        \
    threadgroup float weights[4 * 32];                                                               \
    attendSplit<Element>(q, kPlane, vPlane, partials, args, weights, group, lane);                   \
  }
ATTEND(attention_splitk_f16_1sg, half)
ATTEND(attention_splitk_f32_1sg, float)

/// Joins the partial records of one query head, of which there are at most 32. Grid: query heads
/// threadgroups of 32 threads.
kernel void attention_reduce_1sg(device const float *partials [[buffer(0)]], device float *out [[buffer(1)]],
                                 constant AttentionArguments &args [[buffer(2)]],
                                 uint head [[threadgroup_position_in_grid]],
                                 uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float weights[32];
  const uint stride = args.headDim + 2u;
  device const float *records = partials + head * args.splits * stride;
  const bool real = lane < args.splits;
  float most = real ? records[lane * stride] : kNothing, sum = real ? records[lane * stride + 1u] : 0.0f;
  float highest = simd_max(sum > 0.0f ? most : kNothing);
  float weight = sum > 0.0f ? exp(most - highest) : 0.0f;
  float inverse = 1.0f / simd_sum(weight * sum);
  weights[lane] = weight;
  simdgroup_barrier(mem_flags::mem_threadgroup);
  records += 2u + lane;
  out += head * args.headDim + lane;
  for (uint i = 0; i < args.headDim; i += 32u) {
    float value = 0.0f;
    for (uint s = 0; s < args.splits; ++s)
      value = fma(weights[s], records[s * stride + i], value);
    out[i] = value * inverse;
  }
}
#endif
