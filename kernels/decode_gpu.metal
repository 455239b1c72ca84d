// SPDX-License-Identifier: Apache-2.0
//
// What lies between the matrices of a decoded token, for a GPU: few launches, each with work for many cores. Planes
// of keys and values as in kv_cache.metal.
#include "kv_cache.metal"
#include "matvec_held.metal"

struct HeadsArguments {
  uint headDim;
  uint queryHeads, keyHeads;
  uint pairs;    ///< Rotated, per head; 0: none.
  uint position;
  uint blocks;   ///< Of a plane.
  uint row;      ///< Physical.
  float epsilon;
};
/// Query heads are normalised and rotated in place; key heads are, and go into the cache as values do. Grid: query
/// heads + twice the key heads threadgroups of 32 threads.
template <typename Element>
static inline void finishHead(device float *q, device const float *k, device const float *v,
                              device const float *qWeight, device const float *kWeight, device const float2 *turns,
                              device Element *kPlane, device Element *vPlane, constant HeadsArguments &args,
                              uint group, uint lane) {
  const uint dim = args.headDim;
  if (group >= args.queryHeads + args.keyHeads) {
    const uint head = group - args.queryHeads - args.keyHeads;
    for (uint d = lane; d < dim; d += 32u)
      vPlane[(head * args.blocks * 32u + args.row) * dim + d] = Element(v[head * dim + d]);
    return;
  }
  const bool isQuery = group < args.queryHeads;
  const uint head = isQuery ? group : group - args.queryHeads;
  device const float *x = isQuery ? q + head * dim : k + head * dim;
  device const float *w = isQuery ? qWeight : kWeight;
  float sum = 0.0f;
  for (uint d = lane; d < dim; d += 32u)
    sum = fma(x[d], x[d], sum);
  const float inverse = 1.0f / sqrt(simd_sum(sum) / float(dim) + args.epsilon);
  for (uint d = lane; d < dim; d += 32u) {
    float value = x[d] * inverse * w[d];
    const float other = simd_shuffle_xor(value, 1);
    if (d / 2u < args.pairs) {
      const float2 turn = turns[args.position * args.pairs + d / 2u];
      value = d & 1u ? other * turn.y + value * turn.x : value * turn.x - other * turn.y;
    }
    if (isQuery)
      q[head * dim + d] = value;
    else
      kPlane[((head * args.blocks + args.row / 32u) * dim + d) * 32u + args.row % 32u] = Element(value);
  }
}

/// As AttentionArguments; `splits` may be up to 256.
constant constexpr uint kMostSplits = 256;

/// Four elements of a cache, which begin at a multiple of four.
static inline float4 fourOf(device const half *at) {
  return float4(*(device const half4 *)((ulong)at & ~7ul));
}
static inline float4 fourOf(device const float *at) { return *(device const float4 *)((ulong)at & ~15ul); }
static inline float2 twoOf(device const half *at) { return float2(*(device const half2 *)((ulong)at & ~3ul)); }
static inline float2 twoOf(device const float *at) { return *(device const float2 *)((ulong)at & ~7ul); }

/// Worker `group.y` of key-value head `group.x` takes every `splits`-th block of 32 rows; each of its SIMD groups
/// does four query heads at a time. Records as in kv_cache.metal. kDim is 64 or 128.
template <typename Element, uint kDim>
static inline void attendGpu(device const float *q, device const Element *kPlane, device const Element *vPlane,
                             device float *partials, constant AttentionArguments &args, threadgroup float4 *queries,
                             threadgroup float4 *weights, uint2 group, uint simds, uint simd, uint lane) {
  constexpr uint kOwn = kDim / 32u; // Elements of a row of values that a lane sums.
  const ulong plane = ulong(group.x) * args.blocks * 32u * kDim;
  threadgroup float4 *query = queries + simd * kDim;
  threadgroup float4 *weight = weights + simd * 32u;
  // A lane has two rows of keys and every second dimension.
  const uint pair = lane & 15u, odd = lane >> 4, row = pair * 2u + odd;
  for (uint first = simd * 4u; first < args.headsPerKv; first += simds * 4u) {
    uint heads[4];
    for (uint h = 0; h < 4u; ++h)
      heads[h] = group.x * args.headsPerKv + min(first + h, args.headsPerKv - 1u);
    for (uint d = lane; d < kDim; d += 32u)
      query[d] = args.scale * float4(q[heads[0] * kDim + d], q[heads[1] * kDim + d], q[heads[2] * kDim + d],
                                     q[heads[3] * kDim + d]);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    float4 most = kNothing, sum = 0.0f, values[kOwn];
    for (uint i = 0; i < kOwn; ++i)
      values[i] = 0.0f;
    for (uint b = group.y; b * 32u < args.rows; b += args.splits) {
      device const Element *keys = kPlane + plane + ulong(b) * kDim * 32u + odd * 32u + pair * 2u;
      float4 left = 0.0f, right = 0.0f;
#pragma unroll(16)
      for (uint d = 0; d < kDim; d += 2u) {
        const float2 key = twoOf(keys + d * 32u);
        const float4 of = query[d + odd];
        left = fma(key.x, of, left);
        right = fma(key.y, of, right);
      }
      left += simd_shuffle_xor(left, 16);
      right += simd_shuffle_xor(right, 16);
      const bool visible = b * 32u + row < args.rows;
      const float4 score = visible ? (odd ? right : left) : float4(kNothing);
      const float4 newMost = max(most, simd_max(score));
      const float4 shrink = exp(most - newMost);
      const float4 own = visible ? exp(score - newMost) : float4(0.0f);
      most = newMost;
      sum = sum * shrink + simd_sum(own);
      weight[row] = own;
      simdgroup_barrier(mem_flags::mem_threadgroup);
      for (uint i = 0; i < kOwn; ++i)
        values[i] *= shrink;
      device const Element *rows = vPlane + plane + ulong(b) * 32u * kDim + lane * kOwn;
      // Rows that are not visible hold zeros or what was there before, and weigh nothing.
#pragma unroll(16)
      for (uint r = 0; r < 32u; ++r) {
        const float4 w = weight[r];
        if (kOwn == 4u) {
          const float4 value = fourOf(rows + r * kDim);
          for (uint i = 0; i < kOwn; ++i)
            values[i] = fma(value[i], w, values[i]);
        } else {
          const float2 value = twoOf(rows + r * kDim);
          for (uint i = 0; i < kOwn; ++i)
            values[i] = fma(value[i], w, values[i]);
        }
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint h = 0; h < 4u; ++h) {
      // A head behind the last has its record written again, with the same numbers.
      device float *record = partials + (heads[h] * args.splits + group.y) * (kDim + 2u);
      if (lane == 0u) {
        record[0] = most[h];
        record[1] = sum[h];
      }
      for (uint i = 0; i < kOwn; ++i)
        record[2u + lane * kOwn + i] = values[i][h];
    }
  }
}

#define ATTEND_GPU(suffix, Element, kDim)                                                            \
  kernel void attention_split_##suffix##_d##kDim(                                                    \
      device const float *q [[buffer(0)]], device const Element *kPlane [[buffer(1)]],               \
      device const Element *vPlane [[buffer(2)]], device float *partials [[buffer(3)]],              \
      constant AttentionArguments &args [[buffer(4)]], uint2 group [[threadgroup_position_in_grid]], \
      uint2 threads [[threads_per_threadgroup]], uint simd [[simdgroup_index_in_threadgroup]],       \
      uint lane [[thread_index_in_simdgroup]]) {                                                     \
    threadgroup float4 queries[4 * kDim], weights[4 * 32];                                           \
    attendGpu<Element, kDim>(q, kPlane, vPlane, partials, args, queries, weights, group, threads.x / 32u, simd, lane); \
  }
#define GPU_DECODE(suffix, Element)                                                                  \
  kernel void finish_heads_##suffix(                                                                 \
      device float *q [[buffer(0)]], device const float *k [[buffer(1)]],                            \
      device const float *v [[buffer(2)]], device const float *qWeight [[buffer(3)]],                \
      device const float *kWeight [[buffer(4)]], device const float2 *turns [[buffer(5)]],           \
      device Element *kPlane [[buffer(6)]], device Element *vPlane [[buffer(7)]],                    \
      constant HeadsArguments &args [[buffer(8)]], uint group [[threadgroup_position_in_grid]],      \
      uint lane [[thread_index_in_simdgroup]]) {                                                     \
    finishHead<Element>(q, k, v, qWeight, kWeight, turns, kPlane, vPlane, args, group, lane);        \
  }                                                                                                  \
  ATTEND_GPU(suffix, Element, 64) ATTEND_GPU(suffix, Element, 128)
GPU_DECODE(f16, half)
GPU_DECODE(f32, float)

/// Joins the records of a query head and gates the result, out = joined / (1 + e^-gate), as storeFixed writes rows. Grid:
/// query heads threadgroups of 256 threads; 256 / headDim of them share a dimension's records.
kernel void attention_join_gate(device const float *partials [[buffer(0)]], device const float *gate [[buffer(1)]],
                                device uchar *out [[buffer(2)]], constant AttentionArguments &args [[buffer(3)]],
                                uint head [[threadgroup_position_in_grid]],
                                uint heads [[threadgroups_per_grid]],
                                uint own [[thread_index_in_threadgroup]],
                                uint simd [[simdgroup_index_in_threadgroup]],
                                uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float weights[kMostSplits], slots[16], shares[256];
  const uint dim = args.headDim, stride = dim + 2u;
  device const float *records = partials + ulong(head) * args.splits * stride;
  const bool real = own < args.splits;
  const float sum = real ? records[own * stride + 1u] : 0.0f;
  const float most = real && sum > 0.0f ? records[own * stride] : kNothing;
  const float highest = simd_max(most);
  if (lane == 0u)
    slots[simd] = highest;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float top = simd_max(slots[lane & 7u]);
  const float weight = sum > 0.0f ? exp(most - top) : 0.0f;
  weights[own] = weight;
  const float total = simd_sum(weight * sum);
  if (lane == 0u)
    slots[8u + simd] = total;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float all = simd_sum(lane < 8u ? slots[8u + lane] : 0.0f);
  const uint teams = 256u / dim, team = own / dim, d = own % dim;
  float value = 0.0f;
  if (team < teams)
    for (uint s = team; s < args.splits; s += teams)
      value = fma(weights[s], records[s * stride + 2u + d], value);
  shares[own] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (own < dim) {
    for (uint t = 1; t < teams; ++t)
      value += shares[t * dim + own];
    const uint at = head * dim + own;
    storeFixed(out, heads * dim, at / 32u, value / all / (1.0f + exp(-gate[at])), lane);
  }
}
