// SPDX-License-Identifier: Apache-2.0
//
// y = W x for one row of activations, for a GPU: matvec_<format>_4r4k. A threadgroup makes 4 outputs; its
// 4 SIMD groups split the inputs, so an activation that a lane has in a register serves 4 rows, and a lane
// has the weights of 4 rows in flight. Launch: (args.rows, ceil(outputs / 4)) threadgroups of 128 threads.
//
// Codes become floats without a conversion, which is slow on GPUs: the bits of a code are put under the
// exponent of 2^n, which gives 2^n + code exactly, and n times the sum of the activations is taken off at
// the end of a run. Weights and activations begin at multiples of 16 bytes.
#include "formats.metal"

/// `at`, which is a multiple of 16, seen to be one: a GPU may then read 16 bytes at once without a look.
static inline device const uint4 *aligned16(device const void *at) {
  return (device const uint4 *)((ulong)at & ~15ul);
}

struct WideQ4_K {
  /// Lanes 0..7 share a block, each has 16 bytes of codes: 16 elements of one sub-block in the low
  /// nibbles, 16 of the next in the high ones. Reads are 16 bytes wide: a block is 9 of them.
  static void add(thread float *sums, device const uchar *weights, device const float *x, ulong rowBytes,
                  thread const uint *rows, uint blocks, uint simd, uint lane) {
    const uint part = lane & 7u, pair = part >> 1, shift = (pair & 1u) * 16u;
    for (uint b = simd * 4u + (lane >> 3); b < blocks; b += 16u) {
      device const float4 *at =
          (device const float4 *)aligned16(x + b * 256u + pair * 64u + (part & 1u) * 16u);
      float4 low[4], high[4];
      float lowSum = 0.0f, highSum = 0.0f;
      for (uint i = 0; i < 4; ++i) {
        low[i] = at[i];
        high[i] = at[i + 8];
        lowSum += (low[i].x + low[i].y) + (low[i].z + low[i].w);
        highSum += (high[i].x + high[i].y) + (high[i].z + high[i].w);
      }
      uint4 heads[4], runs[4];
      for (uint r = 0; r < 4; ++r) {
        device const uint4 *block = aligned16(weights + (ulong(rows[r]) * blocks + b) * 144u);
        heads[r] = block[0];
        runs[r] = block[1 + part];
      }
      for (uint r = 0; r < 4; ++r) {
        const uint4 head = heads[r], codes = runs[r];
        float lowDot = -16.0f * lowSum, highDot = -256.0f * highSum;
        for (uint i = 0; i < 4; ++i) {
          const uint w = codes[i];
          // 16 + code: the code at bit 19; 256 + code: at bit 15.
          lowDot = fma(as_type<float>((w << 19 & 0x780000u) | 0x41800000u), low[i].x, lowDot);
          lowDot = fma(as_type<float>((w << 11 & 0x780000u) | 0x41800000u), low[i].y, lowDot);
          lowDot = fma(as_type<float>((w << 3 & 0x780000u) | 0x41800000u), low[i].z, lowDot);
          lowDot = fma(as_type<float>((w >> 5 & 0x780000u) | 0x41800000u), low[i].w, lowDot);
          highDot = fma(as_type<float>((w << 11 & 0x78000u) | 0x43800000u), high[i].x, highDot);
          highDot = fma(as_type<float>((w << 3 & 0x78000u) | 0x43800000u), high[i].y, highDot);
          highDot = fma(as_type<float>((w >> 5 & 0x78000u) | 0x43800000u), high[i].z, highDot);
          highDot = fma(as_type<float>((w >> 13 & 0x78000u) | 0x43800000u), high[i].w, highDot);
        }
        // Six-bit scales and minima of the two sub-blocks, in bytes 0 and 1. One shift of the whole head and
        // no branch, so that it is one read and its lanes stay together.
        const uint4 moved = head >> uint4(0u, shift, shift, shift);
        const uint scales = select((moved.w & 0x0f0fu) | (moved.y >> 2 & 0x3030u), moved.y & 0x3f3fu, pair < 2u);
        const uint minima =
            select((moved.w >> 4 & 0x0f0fu) | (moved.z >> 2 & 0x3030u), moved.z & 0x3f3fu, pair < 2u);
        const float2 d = float2(as_type<half2>(moved.x));
        const float product = float(scales & 0xffu) * lowDot + float(scales >> 8 & 0xffu) * highDot;
        const float offset = float(minima & 0xffu) * lowSum + float(minima >> 8 & 0xffu) * highSum;
        sums[r] += d.x * product - d.y * offset;
      }
    }
  }
  enum { kElements = 256 };
};

struct WideQ8_0 {
  /// Blocks are aligned to 2 bytes only: lanes read pairs of codes side by side, 16 lanes a block. Two
  /// runs are read before the first is used.
  static void add(thread float *sums, device const uchar *weights, device const float *x, ulong rowBytes,
                  thread const uint *rows, uint blocks, uint simd, uint lane) {
    const uint mine = lane & 15u;
    for (uint b = simd * 2u + (lane >> 4); b < blocks; b += 16u) {
      float2 value[2];
      ushort codes[2][4];
      half d[2][4];
      for (uint u = 0; u < 2; ++u) {
        // A block past the end is the last one again, times zero.
        const uint at = min(b + 8u * u, blocks - 1u);
        value[u] = *(device const float2 *)(x + at * 32u + mine * 2u);
        if (b + 8u * u >= blocks)
          value[u] = 0.0f;
        for (uint r = 0; r < 4; ++r) {
          device const ushort *block = (device const ushort *)(weights + rows[r] * rowBytes + at * 34u);
          d[u][r] = as_type<half>(block[0]);
          codes[u][r] = block[1 + mine];
        }
      }
      for (uint u = 0; u < 2; ++u) {
        const float correction = -384.0f * (value[u].x + value[u].y);
        for (uint r = 0; r < 4; ++r) {
          // 256 + (code with its sign bit turned) = 384 + code.
          const uint pair = codes[u][r];
          const float first = as_type<float>((pair << 15 & 0x7f8000u) ^ 0x43c00000u);
          const float second = as_type<float>((pair << 7 & 0x7f8000u) ^ 0x43c00000u);
          const float dot = fma(first, value[u].x, fma(second, value[u].y, correction));
          sums[r] = fma(float(d[u][r]), dot, sums[r]);
        }
      }
    }
  }
  enum { kElements = 32 };
};

template <typename Format>
static inline void matvecWide(device const uchar *weights, device const float *x, device float *y,
                              constant MatrixArguments &args, threadgroup float *parts, uint group,
                              uint simd, uint lane) {
  float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  uint rows[4];
  // A row past the end is the last one again, and is not written.
  for (uint r = 0; r < 4; ++r)
    rows[r] = min(group * 4u + r, args.outputs - 1u);
  Format::add(sums, weights, x, args.rowBytes, rows, args.inputs / uint(Format::kElements), simd, lane);
  for (uint r = 0; r < 4; ++r) {
    const float sum = simd_sum(sums[r]);
    if (lane == 0u)
      parts[simd * 4u + r] = sum;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint row = group * 4u + lane;
  if (simd == 0u && lane < 4u && row < args.outputs)
    y[row] = ((parts[lane] + parts[4u + lane]) + (parts[8u + lane] + parts[12u + lane])) * args.scale;
}

#define MATVEC_WIDE(format, Format)                                                                  \
  kernel void matvec_##format##_4r4k(                                                                \
      device const uchar *weights [[buffer(0)]], device const float *x [[buffer(1)]],                \
      device float *y [[buffer(2)]], constant MatrixArguments &args [[buffer(3)]],                   \
      uint2 group [[threadgroup_position_in_grid]], uint simd [[simdgroup_index_in_threadgroup]],    \
      uint lane [[thread_index_in_simdgroup]]) {                                                     \
    threadgroup float parts[16];                                                                     \
    matvecWide<Format>(weights, x + ulong(group.x) * args.inputs, y + ulong(group.x) * args.outputs, \
                       args, parts, group.y, simd, lane);                                            \
  }
MATVEC_WIDE(q4_k, WideQ4_K)
MATVEC_WIDE(q8_0, WideQ8_0)
