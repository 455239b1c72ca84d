// SPDX-License-Identifier: Apache-2.0
//
// Y = W X for many rows of activations on a GPU with matrix units: prefill. Weights and activations become halves
// in rows, then one product serves every format. Results are in tiles of 32 rows as in prefill_matmul.metal.
//
//   dequantize_<format>  rows of weights as halves. Grid: (ceil(inputs / 256), ceil(outputs / 8)) threadgroups of 256.
//   half_rows            tiles of activations to rows of halves. Grid: (tiles, inputs / 32) threadgroups of 256.
//   gemm_half_tiles      128 rows x 128 outputs a threadgroup of 128 threads, 64 x 64 a SIMD group. Grid:
//                        (ceil(rows / 128), outputs / 128); inputs are a multiple of 32, outputs of 128.
#include "formats.metal"
#include "prefill_attention.metal"
#include "prefill_layout.metal"

/// A SIMD group has 256 elements of a row, and a lane eight next to each other.
template <typename Format>
static inline void dequantize(device const uchar *weights, device half *out, constant MatrixArguments &args,
                              uint first, uint row, uint lane) {
  const uint at = first + lane * 8u, run = at / 32u;
  if (row >= args.outputs || at >= args.inputs)
    return;
  const auto head =
      Format::open(weights + ulong(row) * args.rowBytes + ulong(run / uint(Format::kChunks)) * Format::kBytes);
  half values[8];
  for (uint i = 0; i < 8u; ++i)
    values[i] = half(Format::at(head, run % uint(Format::kChunks), at % 32u + i));
  const uint4 packed = {as_type<uint>(half2(values[0], values[1])), as_type<uint>(half2(values[2], values[3])),
                        as_type<uint>(half2(values[4], values[5])), as_type<uint>(half2(values[6], values[7]))};
  *(device uint4 *)((ulong)(out + ulong(row) * args.inputs + at) & ~15ul) = packed;
}
#define DEQUANTIZE(format, Format)                                                                   \
  kernel void dequantize_##format(                                                                   \
      device const uchar *weights [[buffer(0)]], device half *out [[buffer(1)]],                     \
      constant MatrixArguments &args [[buffer(2)]], uint2 group [[threadgroup_position_in_grid]],    \
      uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {       \
    dequantize<Format>(weights, out, args, group.x * 256u, group.y * 8u + simd, lane);               \
  }
DEQUANTIZE(f32, FormatF32)
DEQUANTIZE(f16, FormatF16)
DEQUANTIZE(bf16, FormatBF16)
DEQUANTIZE(q8_0, FormatQ8_0)
DEQUANTIZE(q4_0, FormatQ4_0)
DEQUANTIZE(iq4_nl, FormatIQ4_NL)
DEQUANTIZE(mxfp4, FormatMXFP4)
DEQUANTIZE(q4_k, FormatQ4_K)
DEQUANTIZE(q5_k, FormatQ5_K)
DEQUANTIZE(q6_k, FormatQ6_K)

/// A half cannot be more; what is more becomes that.
static inline half2 toHalf(float2 value) { return half2(clamp(value, -65504.0f, 65504.0f)); }

kernel void half_rows(device const float *tiles [[buffer(0)]], device half2 *rows [[buffer(1)]],
                      constant uint &width [[buffer(2)]], uint2 group [[threadgroup_position_in_grid]],
                      uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float square[32 * 33];
  for (uint i = simd; i < 32u; i += 8u)
    square[i * 33u + lane] = tiles[(ulong(group.x) * width + group.y * 32u + i) * 32u + lane];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint r = simd * 2u + lane / 16u; r < 32u; r += 16u) {
    const uint i = lane % 16u * 2u;
    rows[((ulong(group.x) * 32u + r) * width + group.y * 32u + i) / 2u] =
        toHalf(float2(square[i * 33u + r], square[(i + 1u) * 33u + r]));
  }
}

struct GemmTilesArguments {
  uint inputs, outputs;
  uint rows; ///< A multiple of 32.
};

constant constexpr uint kGemmStride = 40; ///< Halves between rows of a tile: rows are in different banks.

/// Eight halves, which begin at a multiple of eight.
static inline uint4 eightAt(device const half *at) { return *(device const uint4 *)((ulong)at & ~15ul); }

kernel void gemm_half_tiles(device const half *x [[buffer(0)]], device const half *w [[buffer(1)]],
                            device float *y [[buffer(2)]], constant GemmTilesArguments &args [[buffer(3)]],
                            uint2 group [[threadgroup_position_in_grid]], uint own [[thread_index_in_threadgroup]],
                            uint simd [[simdgroup_index_in_threadgroup]]) {
  // 128 rows of activations, then of 128 of weights, 32 inputs each.
  threadgroup uint4 tile[2 * 128 * 5];
  constexpr uint kSide = 128 * 5;
  // Four threads have 32 inputs of a row, and a thread every 32nd row.
  const uint inputs = args.inputs, row = own / 4u, part = own % 4u, place = row * 5u + part;
  device const half *xRows[4];
  for (uint i = 0; i < 4u; ++i)
    xRows[i] = x + ulong(min(group.x * 128u + row + i * 32u, args.rows - 1u)) * inputs + part * 8u;
  device const half *wRow = w + ulong(group.y * 128u + row) * inputs + part * 8u;
  const ulong wStep = 32u * ulong(inputs);
  uint4 xNext[4], wNext[4];
  for (uint i = 0; i < 4u; ++i) {
    xNext[i] = eightAt(xRows[i]);
    wNext[i] = eightAt(wRow + i * wStep);
  }
  simdgroup_float8x8 sums[8][8];
  for (uint i = 0; i < 8u; ++i)
    for (uint j = 0; j < 8u; ++j)
      sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  const uint firstRow = simd / 2u * 64u, firstOutput = simd % 2u * 64u;
  for (uint k = 0; k < inputs; k += 32u) {
    for (uint i = 0; i < 4u; ++i) {
      tile[place + i * 160u] = xNext[i];
      tile[kSide + place + i * 160u] = wNext[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (k + 32u < inputs) // Under way while this step is multiplied.
      for (uint i = 0; i < 4u; ++i) {
        xNext[i] = eightAt(xRows[i] + k + 32u);
        wNext[i] = eightAt(wRow + i * wStep + k + 32u);
      }
    threadgroup const half *left = (threadgroup const half *)tile + firstRow * kGemmStride;
    threadgroup const half *right = (threadgroup const half *)(tile + kSide) + firstOutput * kGemmStride;
    for (uint d = 0; d < 32u; d += 16u) {
      simdgroup_half8x8 a[8][2], b[8][2];
      for (uint i = 0; i < 8u; ++i)
        for (uint e = 0; e < 2u; ++e)
          simdgroup_load(a[i][e], left + i * 8u * kGemmStride + d + e * 8u, kGemmStride);
      for (uint j = 0; j < 8u; ++j)
        for (uint e = 0; e < 2u; ++e)
          simdgroup_load(b[j][e], right + j * 8u * kGemmStride + d + e * 8u, kGemmStride, ulong2(0, 0), true);
      for (uint j = 0; j < 8u; ++j)
        for (uint i = 0; i < 8u; ++i)
          for (uint e = 0; e < 2u; ++e)
            simdgroup_multiply_accumulate(sums[i][j], a[i][e], b[j][e], sums[i][j]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (uint i = 0; i < 8u; ++i) {
    const uint at = group.x * 128u + firstRow + i * 8u;
    if (at < args.rows)
      for (uint j = 0; j < 8u; ++j)
        simdgroup_store(sums[i][j],
                        y + (ulong(at / 32u) * args.outputs + group.y * 128u + firstOutput + j * 8u) * 32u + at % 32u, 32,
                        ulong2(0, 0), true);
  }
}

/// norm_add_norm_tiles (prefill_layout.metal) and rms_norm_tiles for a GPU: 32 SIMD groups share the width of a tile.
/// Grid: tiles threadgroups of 1,024 threads.
struct TileNorms {
  threadgroup float *slots; ///< [32][32]
  uint simd, lane;
  /// The sum over the SIMD groups of what a lane's row has in each.
  float sum(float own) const {
    slots[simd * 32u + lane] = own;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float total = 0.0f;
    for (uint s = 0; s < 32u; ++s)
      total += slots[s * 32u + lane];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return total;
  }
};
kernel void rms_norm_tiles_32sg(device const float *x [[buffer(0)]], device const float *w [[buffer(1)]],
                                device float *out [[buffer(2)]], constant TileNormArguments &args [[buffer(3)]],
                                uint group [[threadgroup_position_in_grid]],
                                uint simd [[simdgroup_index_in_threadgroup]],
                                uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float slots[32 * 32];
  const TileNorms norms = {slots, simd, lane};
  x += ulong(group) * args.width * 32u + lane;
  out += ulong(group) * args.width * 32u + lane;
  float sum = 0.0f;
  for (uint i = simd; i < args.width; i += 32u)
    sum = fma(x[i * 32u], x[i * 32u], sum);
  const float inverse = 1.0f / sqrt(norms.sum(sum) / float(args.width) + args.epsilon);
  for (uint i = simd; i < args.width; i += 32u)
    out[i * 32u] = x[i * 32u] * inverse * w[i];
}
kernel void norm_add_norm_tiles_32sg(device const float *source [[buffer(0)]], device const float *w1 [[buffer(1)]],
                                     device float *h [[buffer(2)]], device const float *w2 [[buffer(3)]],
                                     device float *out [[buffer(4)]],
                                     constant TileNormArguments &args [[buffer(5)]],
                                     uint group [[threadgroup_position_in_grid]],
                                     uint simd [[simdgroup_index_in_threadgroup]],
                                     uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float slots[32 * 32];
  const TileNorms norms = {slots, simd, lane};
  const ulong begin = ulong(group) * args.width * 32u + lane;
  source += begin;
  h += begin;
  out += begin;
  float sum = 0.0f;
  for (uint i = simd; i < args.width; i += 32u)
    sum = fma(source[i * 32u], source[i * 32u], sum);
  const float inverse = 1.0f / sqrt(norms.sum(sum) / float(args.width) + args.epsilon);
  sum = 0.0f;
  for (uint i = simd; i < args.width; i += 32u) {
    const float value = h[i * 32u] + source[i * 32u] * inverse * w1[i];
    h[i * 32u] = value;
    sum = fma(value, value, sum);
  }
  const float inverse2 = 1.0f / sqrt(norms.sum(sum) / float(args.width) + args.epsilon2);
  for (uint i = simd; i < args.width; i += 32u)
    out[i * 32u] = h[i * 32u] * inverse2 * w2[i];
}

/// Attention of a batch of queries as in prefill_attention.metal, on matrix units. A SIMD group has 16 queries of a head
/// and goes through the keys twice: once for each query's greatest score, once for the weights, so that these are at
/// most 1 and fit a half. Keys and values are read where they are. Grid: (tiles, query heads) threadgroups of 64 threads.
/// q is rows of halves; kDim is 64 or 128.
static inline device const half *evenAt(device const half *at) { return (device const half *)((ulong)at & ~3ul); }
template <uint kDim>
static inline void attendUnits(device const half *q, device const half *kPlane, device const half *vPlane,
                               device const half *kStage, device const half *vStage, device float *out,
                               constant TileAttentionArguments &args, threadgroup float *scores,
                               threadgroup half *weights, uint2 group, uint simd, uint lane) {
  constexpr uint kStride = 36; // Of a row of scores.
  constexpr uint kWeightStride = 40;
  const uint kvHead = group.y / args.headsPerKv, width = args.heads * kDim;
  const uint first = group.x * 32u + simd * 16u; // Of the queries.
  // A lane has half of the 32 keys of one query.
  const uint row = lane / 2u, side = lane % 2u * 16u, query = args.position + first + row;
  simdgroup_half8x8 queries[2][kDim / 8];
  for (uint i = 0; i < 2u; ++i)
    for (uint d = 0; d < kDim / 8u; ++d)
      simdgroup_load(queries[i][d], evenAt(q + ulong(first + i * 8u) * width + group.y * kDim + d * 8u), width);
  simdgroup_float8x8 sums[2][kDim / 8];
  for (uint i = 0; i < 2u; ++i)
    for (uint d = 0; d < kDim / 8u; ++d)
      sums[i][d] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  const uint cacheBlocks = (args.cached + 31u) / 32u, blocks = cacheBlocks + group.x + 1u;
  float most = kNothing, total = 0.0f;
  for (uint pass = 0; pass < 2u; ++pass) {
    for (uint t = 0; t < blocks; ++t) {
      const bool cache = t < cacheBlocks;
      const uint block = cache ? t : t - cacheBlocks, planeBlocks = cache ? args.blocks : args.tiles;
      const uint holding = cache ? args.cached : args.rows;
      bool any = false;
      uint visible = 0u;
      for (uint j = 0; j < 16u; ++j) {
        const uint place = block * 32u + side + j;
        const uint turned = place - args.originPhysical + (place < args.originPhysical ? args.capacity : 0u);
        uint key = cache ? args.originLogical + turned : args.position + place;
        key = place < holding ? key : args.position + 0x40000000u;
        const bool is = query - key < args.window; // wraps to a large number when the key is behind the query
        visible |= is ? 1u << j : 0u;
        any = any || is;
      }
      if (!simd_any(any))
        continue;
      device const half *keys =
          evenAt((cache ? kPlane : kStage) + (ulong(kvHead) * planeBlocks + block) * kDim * 32u);
      simdgroup_float8x8 products[2][4];
      for (uint i = 0; i < 2u; ++i)
        for (uint n = 0; n < 4u; ++n)
          products[i][n] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
      for (uint d = 0; d < kDim / 8u; d += 2u) {
        simdgroup_half8x8 key[2][4];
        for (uint e = 0; e < 2u; ++e)
          for (uint n = 0; n < 4u; ++n)
            simdgroup_load(key[e][n], evenAt(keys + (d + e) * 8u * 32u + n * 8u), 32);
        for (uint n = 0; n < 4u; ++n)
          for (uint i = 0; i < 2u; ++i)
            for (uint e = 0; e < 2u; ++e)
              simdgroup_multiply_accumulate(products[i][n], queries[i][d + e], key[e][n], products[i][n]);
      }
      for (uint i = 0; i < 2u; ++i)
        for (uint n = 0; n < 4u; ++n)
          simdgroup_store(products[i][n], scores + i * 8u * kStride + n * 8u, kStride);
      simdgroup_barrier(mem_flags::mem_threadgroup);
      threadgroup const float *own = scores + row * kStride + side;
      if (pass == 0u) {
        for (uint j = 0; j < 16u; ++j)
          most = max(most, visible >> j & 1u ? own[j] * args.scale : kNothing);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        continue;
      }
      for (uint j = 0; j < 16u; ++j) {
        const float weight = visible >> j & 1u ? exp(own[j] * args.scale - most) : 0.0f;
        total += weight;
        weights[row * kWeightStride + side + j] = half(weight);
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
      simdgroup_half8x8 weight[2][4];
      for (uint i = 0; i < 2u; ++i)
        for (uint e = 0; e < 4u; ++e)
          simdgroup_load(weight[i][e], weights + i * 8u * kWeightStride + e * 8u, kWeightStride);
      device const half *values =
          evenAt((cache ? vPlane : vStage) + (ulong(kvHead) * planeBlocks + block) * 32u * kDim);
      for (uint e = 0; e < 4u; e += 2u)
        for (uint d = 0; d < kDim / 8u; ++d) {
          simdgroup_half8x8 value[2];
          for (uint f = 0; f < 2u; ++f)
            simdgroup_load(value[f], evenAt(values + (e + f) * 8u * kDim + d * 8u), kDim);
          for (uint i = 0; i < 2u; ++i)
            for (uint f = 0; f < 2u; ++f)
              simdgroup_multiply_accumulate(sums[i][d], weight[i][e + f], value[f], sums[i][d]);
        }
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    most = max(most, simd_shuffle_xor(most, 1));
  }
  total += simd_shuffle_xor(total, 1);
  // Queries behind the batch have no keys.
  const float inverse = total > 0.0f ? 1.0f / total : 0.0f;
  device float *to = out + (ulong(group.x) * args.heads + group.y) * kDim * 32u + simd * 16u;
  for (uint i = 0; i < 2u; ++i)
    for (uint d = 0; d < kDim / 8u; ++d)
      simdgroup_store(sums[i][d], to + d * 8u * 32u + i * 8u, 32, ulong2(0, 0), true);
  simdgroup_barrier(mem_flags::mem_device);
  const float factor = simd_shuffle(inverse, ushort(lane % 16u * 2u));
  for (uint d = lane / 16u; d < kDim; d += 2u)
    to[d * 32u + lane % 16u] *= factor;
}
#define ATTEND_UNITS(kDim)                                                                           \
  kernel void attention_units_f16_d##kDim(                                                           \
      device const half *q [[buffer(0)]], device const half *kPlane [[buffer(1)]],                   \
      device const half *vPlane [[buffer(2)]], device const half *kStage [[buffer(3)]],              \
      device const half *vStage [[buffer(4)]], device float *out [[buffer(5)]],                      \
      constant TileAttentionArguments &args [[buffer(6)]], uint2 group [[threadgroup_position_in_grid]], \
      uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {       \
    threadgroup float scores[2 * 16 * 36];                                                           \
    threadgroup uint4 weights[2 * 16 * 5];                                                           \
    attendUnits<kDim>(q, kPlane, vPlane, kStage, vStage, out, args, scores + simd * 16u * 36u,       \
                      (threadgroup half *)(weights + simd * 16u * 5u), group, simd, lane);           \
  }
ATTEND_UNITS(64)
ATTEND_UNITS(128)
