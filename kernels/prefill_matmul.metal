// SPDX-License-Identifier: Apache-2.0
//
// Y = W X for many rows of activations: prefill. Activations are stored in tiles of 32 rows: element i
// of row r of a matrix `width` wide is at ((r / 32) * width + i) * 32 + r % 32, so that a lane owns a row,
// no sum goes across lanes, and a tile is read in order. Rows up to the last tile's end are computed;
// those past the batch hold nothing of use.
//
// matmul_<format>_32o32r: a SIMD group makes 32 outputs of all rows. It decodes 32 x 64 weights to
// threadgroup memory, then walks the batch: the 64 x 32 activations of a tile stay in the first cache
// while four sets of eight outputs use them. Eight sums of 32 lanes are sixteen 512-bit registers: enough
// to hide the latency of the multiply-add, and each activation that is loaded serves eight of them. Where
// a SIMD group's value takes more registers, matmul_<format>_32o32r_2 sums two outputs at a time; the
// bits are the same.
// Launch: ceil(outputs / 32) x B threadgroups of 32 threads; args.rows is the batch rounded up to tiles, which the
// B threadgroups of the same outputs share out among them: where a cache holds the activations of a part but not
// of the whole batch, decoding the weights once for each part costs less than reading activations from afar.
#include "formats.metal"

constant constexpr uint kTileOutputs = 32, kTileInputs = 64;

/// Adds `depth` inputs to kOutputs outputs of one tile of rows. `out` is element (first output, lane).
template <uint kOutputs>
static inline void multiplyTile(threadgroup const float *w, device const float *x, device float *out,
                                uint depth, bool begins, float scale) {
  float sums[kOutputs];
  for (uint o = 0; o < kOutputs; ++o)
    sums[o] = begins ? 0.0f : out[o * 32u];
  for (uint k = 0; k < depth; ++k) {
    float value = x[k * 32u];
    for (uint o = 0; o < kOutputs; ++o)
      sums[o] = fma(w[o * kTileInputs + k], value, sums[o]);
  }
  for (uint o = 0; o < kOutputs; ++o)
    out[o * 32u] = sums[o] * scale;
}

/// The same for the last outputs of a matrix, fewer than kOutputs.
static inline void multiplyRest(threadgroup const float *w, device const float *x, device float *out,
                                uint depth, bool begins, float scale, uint outputs) {
  for (uint o = 0; o < outputs; ++o) {
    float sum = begins ? 0.0f : out[o * 32u];
    for (uint k = 0; k < depth; ++k)
      sum = fma(w[o * kTileInputs + k], x[k * 32u], sum);
    out[o * 32u] = sum * scale;
  }
}

/// Walks these tiles with the decoded weights of inputs [begin, begin + depth).
template <uint kOutputs>
static inline void multiplyAll(threadgroup const float *tile, device const float *x, device float *y,
                               constant MatrixArguments &args, uint first, uint2 tiles, uint begin, uint depth,
                               uint lane) {
  const bool begins = begin == 0u;
  const float scale = begin + depth == args.inputs ? args.scale : 1.0f;
  for (uint r = tiles.x; r < tiles.y; ++r) {
    device const float *column = x + (ulong(r) * args.inputs + begin) * 32u + lane;
    device float *out = y + (ulong(r) * args.outputs + first) * 32u + lane;
    for (uint o = 0; o < kTileOutputs; o += kOutputs) {
      if (first + o + kOutputs <= args.outputs)
        multiplyTile<kOutputs>(tile + o * kTileInputs, column, out + o * 32u, depth, begins, scale);
      else if (first + o < args.outputs)
        multiplyRest(tile + o * kTileInputs, column, out + o * 32u, depth, begins, scale,
                     args.outputs - first - o);
    }
  }
}

template <typename Format, uint kOutputs>
static inline void matmul(device const uchar *weights, device const float *x, device float *y,
                          constant MatrixArguments &args, threadgroup float *tile, uint2 place, uint2 grid,
                          uint lane) {
  const uint first = place.x * kTileOutputs;
  const uint2 tiles = tilesOf(args, place.y, grid.y);
  for (uint begin = 0; begin < args.inputs; begin += kTileInputs) {
    const uint depth = min(kTileInputs, args.inputs - begin);
    for (uint o = 0; o < kTileOutputs; ++o) {
      device const uchar *row = weights + ulong(min(first + o, args.outputs - 1u)) * args.rowBytes;
      for (uint c = 0; c < depth / 32u; ++c) {
        uint chunk = begin / 32u + c;
        typename Format::Head head = Format::open(row + ulong(chunk / Format::kChunks) * Format::kBytes);
        tile[o * kTileInputs + c * 32u + lane] = Format::at(head, chunk % Format::kChunks, lane);
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    multiplyAll<kOutputs>(tile, x, y, args, first, tiles, begin, depth, lane);
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
}

#define MATMUL_SHAPE(name, Format, kOutputs)                                                         \
  kernel void name(                                                                                  \
      device const uchar *weights [[buffer(0)]], device const float *x [[buffer(1)]],                \
      device float *y [[buffer(2)]], constant MatrixArguments &args [[buffer(3)]],                   \
      uint2 place [[threadgroup_position_in_grid]], uint2 grid [[threadgroups_per_grid]],            \
      uint lane [[thread_index_in_simdgroup]]) {                                                     \
    threadgroup float tile[kTileOutputs * kTileInputs];                                              \
    matmul<Format, kOutputs>(weights, x, y, args, tile, place, grid, lane);                          \
  }
#define MATMUL(format, Format)                                                                       \
  MATMUL_SHAPE(matmul_##format##_32o32r, Format, 8) MATMUL_SHAPE(matmul_##format##_32o32r_2, Format, 2)

MATMUL(f32, FormatF32)
MATMUL(f16, FormatF16)
MATMUL(bf16, FormatBF16)
MATMUL(q8_0, FormatQ8_0)
MATMUL(q4_0, FormatQ4_0)
MATMUL(iq4_nl, FormatIQ4_NL)
MATMUL(mxfp4, FormatMXFP4)
MATMUL(q4_k, FormatQ4_K)
MATMUL(q5_k, FormatQ5_K)
MATMUL(q6_k, FormatQ6_K)

/// NVFP4 with its block scales at slot 4.
template <uint kOutputs>
static inline void matmulNvfp4(device const uchar *weights, device const uchar *scales, device const float *x,
                               device float *y, constant MatrixArguments &args, threadgroup float *tile,
                               uint2 place, uint2 grid, uint lane) {
  const uint first = place.x * kTileOutputs;
  const uint2 tiles = tilesOf(args, place.y, grid.y);
  for (uint begin = 0; begin < args.inputs; begin += kTileInputs) {
    const uint depth = min(kTileInputs, args.inputs - begin);
    for (uint o = 0; o < kTileOutputs; ++o) {
      uint row = min(first + o, args.outputs - 1u);
      device const uchar *codes = weights + ulong(row) * args.rowBytes + begin / 2u;
      device const uchar *rowScales = scales + ulong(row) * (args.inputs / 16u) + begin / 16u;
      for (uint c = 0; c < depth / 32u; ++c) {
        uint pair = codes[c * 16u + lane / 2u];
        float code = decodeE2M1(lane & 1u ? pair >> 4u : pair & 15u);
        tile[o * kTileInputs + c * 32u + lane] = code * decodeE4M3(rowScales[2u * c + lane / 16u]);
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    multiplyAll<kOutputs>(tile, x, y, args, first, tiles, begin, depth, lane);
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
}
#define MATMUL_NVFP4(name, kOutputs)                                                                 \
  kernel void name(device const uchar *weights [[buffer(0)]], device const float *x [[buffer(1)]],   \
                   device float *y [[buffer(2)]], constant MatrixArguments &args [[buffer(3)]],      \
                   device const uchar *scales [[buffer(4)]],                                         \
                   uint2 place [[threadgroup_position_in_grid]],                                     \
                   uint2 grid [[threadgroups_per_grid]],                                             \
                   uint lane [[thread_index_in_simdgroup]]) {                                        \
    threadgroup float tile[kTileOutputs * kTileInputs];                                              \
    matmulNvfp4<kOutputs>(weights, scales, x, y, args, tile, place, grid, lane);                     \
  }
MATMUL_NVFP4(matmul_nvfp4_32o32r, 8)
MATMUL_NVFP4(matmul_nvfp4_32o32r_2, 2)
