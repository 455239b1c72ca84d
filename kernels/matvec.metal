// SPDX-License-Identifier: Apache-2.0
//
// y = W x for one row of activations: decode. matvec_<format>_<R>r<S>s: each SIMD group makes R
// outputs, a threadgroup has S SIMD groups. A lane's partial sum takes elements lane, lane + 32, ...;
// the lanes are added at the end. Launch: (args.rows, ceil(outputs / (R * S))) threadgroups of 32 * S
// threads; x is [rows][inputs], y [rows][outputs]. Each row of a batch has the bits it would have alone.
#include "formats.metal"

template <typename Format, uint kRows>
static inline void matvec(device const uchar *weights, device const float *x, device float *y,
                          constant MatrixArguments &args, uint first, uint lane) {
  const uint count = args.inputs / (32u * Format::kChunks);
  float sums[kRows];
  device const uchar *rows[kRows];
  for (uint r = 0; r < kRows; ++r) {
    sums[r] = 0.0f;
    // A group past the end reads the last row again and does not write.
    rows[r] = weights + ulong(min(first + r, args.outputs - 1u)) * args.rowBytes;
  }
  for (uint b = 0; b < count; ++b) {
    decltype(Format::whole(Format::open(weights), lane)) blocks[kRows];
    for (uint r = 0; r < kRows; ++r)
      blocks[r] = Format::whole(Format::open(rows[r] + ulong(b) * Format::kBytes), lane);
    for (uint c = 0; c < uint(Format::kChunks); ++c) {
      float value = x[(b * Format::kChunks + c) * 32u + lane];
      for (uint r = 0; r < kRows; ++r)
        sums[r] = fma(Format::at(blocks[r], c, lane), value, sums[r]);
    }
  }
  for (uint r = 0; r < kRows; ++r) {
    float sum = simd_sum(sums[r]);
    if (lane == 0u && first + r < args.outputs)
      y[first + r] = sum * args.scale;
  }
}

#define MATVEC(format, Format, R, S)                                                                 \
  kernel void matvec_##format##_##R##r##S##s(                                                        \
      device const uchar *weights [[buffer(0)]], device const float *x [[buffer(1)]],                \
      device float *y [[buffer(2)]], constant MatrixArguments &args [[buffer(3)]],                   \
      uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],         \
      uint simd [[simdgroup_index_in_threadgroup]]) {                                                \
    matvec<Format, R>(weights, x + ulong(group.x) * args.inputs, y + ulong(group.x) * args.outputs,  \
                      args, (group.y * S + simd) * R, lane);                                         \
  }
#define MATVECS(format, Format) MATVEC(format, Format, 1, 1) MATVEC(format, Format, 2, 1)            \
  MATVEC(format, Format, 4, 2)

MATVECS(f32, FormatF32)
MATVECS(f16, FormatF16)
MATVECS(bf16, FormatBF16)
MATVECS(q8_0, FormatQ8_0)
MATVECS(q4_0, FormatQ4_0)
MATVECS(iq4_nl, FormatIQ4_NL)
MATVECS(mxfp4, FormatMXFP4)
MATVECS(q4_k, FormatQ4_K)
MATVECS(q5_k, FormatQ5_K)
MATVECS(q6_k, FormatQ6_K)

/// NVFP4 keeps its block scales in a tensor of their own, which is bound at slot 4: an E4M3 byte per
/// 16 inputs. (code * block scale) summed, times the tensor's scale at the end.
#define MATVEC_NVFP4(R, S)                                                                           \
  kernel void matvec_nvfp4_##R##r##S##s(                                                             \
      device const uchar *weights [[buffer(0)]], device const float *x [[buffer(1)]],                \
      device float *y [[buffer(2)]], constant MatrixArguments &args [[buffer(3)]],                   \
      device const uchar *scales [[buffer(4)]], uint2 group [[threadgroup_position_in_grid]],        \
      uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {       \
    x += ulong(group.x) * args.inputs;                                                               \
    y += ulong(group.x) * args.outputs;                                                              \
    for (uint r = 0; r < R; ++r) {                                                                   \
      uint row = (group.y * S + simd) * R + r;                                                        \
      if (row >= args.outputs)                                                                       \
        return;                                                                                      \
      device const uchar *codes = weights + ulong(row) * args.rowBytes;                              \
      device const uchar *rowScales = scales + ulong(row) * (args.inputs / 16u);                     \
      float sum = 0.0f;                                                                              \
      for (uint c = 0; c < args.inputs / 32u; ++c) {                                                 \
        uint pair = codes[c * 16u + lane / 2u];                                                      \
        float code = decodeE2M1(lane & 1u ? pair >> 4u : pair & 15u);                                \
        float scale = decodeE4M3(rowScales[2u * c + lane / 16u]);                                    \
        sum = fma(code * scale, x[c * 32u + lane], sum);                                             \
      }                                                                                              \
      sum = simd_sum(sum);                                                                           \
      if (lane == 0u)                                                                                \
        y[row] = sum * args.scale;                                                                   \
    }                                                                                                \
  }
MATVEC_NVFP4(1, 1)
MATVEC_NVFP4(2, 1)
MATVEC_NVFP4(4, 2)
