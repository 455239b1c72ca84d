// SPDX-License-Identifier: Apache-2.0
//
// C = A B for row-major matrices whose sizes are multiples of the tile: M of 128, N and K of 64. A
// threadgroup of 256 threads makes 128 x 64 elements of C, each of its eight SIMD groups 32 x 32. A step
// goes 64 deep: the tile of B, which four SIMD groups share, is copied to threadgroup memory as floats,
// whatever its format; the rows of A, which only two share, are multiplied where they are.
//
//   gemm_f32_128x64_8sg, gemm_f16_128x64_8sg    grid: (N / 64) x (M / 128) threadgroups of 256 threads
#include <metal_stdlib>
using namespace metal;

struct GemmArguments {
  uint m, n, k;
};

constant constexpr uint kRows = 128, kColumns = 64; ///< Of C in a threadgroup.
constant constexpr uint kDepth = 64;                ///< Of K in a step.
constant constexpr uint kGroups = 8;

template <typename T>
static inline void gemm(device const T *a, device const T *b, device float *c,
                        constant GemmArguments &size, threadgroup float *tile, uint2 place, uint group,
                        uint lane) {
  simdgroup_float8x8 sums[4][4];
  for (uint i = 0; i < 4; ++i)
    for (uint j = 0; j < 4; ++j)
      sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  const size_t row = place.y * kRows + group / 2 * 32;
  const uint column = place.x * kColumns, groupColumn = group % 2 * 32;
  // Each SIMD group copies every eighth row of B.
  device const T *lines = b + group * size_t(size.n) + column + lane;
  const size_t toNext = kGroups * size_t(size.n);
  threadgroup float *copy = tile + group * kColumns + lane;
  device const T *left = a + row * size.k;
  threadgroup const float *right = tile + groupColumn;
  for (uint k = 0; k < size.k; k += kDepth) {
    device const T *line = lines;
    for (uint i = 0; i < kDepth; i += kGroups, line += toNext)
      for (uint n = 0; n < kColumns; n += 32)
        copy[i * kColumns + n] = float(line[n]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < 4; ++i)
      for (uint j = 0; j < 4; ++j)
        for (uint d = 0; d < kDepth; d += 8) {
          simdgroup_matrix<T, 8, 8> of;
          simdgroup_float8x8 by;
          simdgroup_load(of, left + 8 * i * size_t(size.k) + d, size.k);
          simdgroup_load(by, right + d * kColumns + 8 * j, kColumns);
          simdgroup_multiply_accumulate(sums[i][j], of, by, sums[i][j]);
        }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    lines += kDepth * size_t(size.n);
    left += kDepth;
  }
  device float *out = c + row * size.n + column + groupColumn;
  for (uint i = 0; i < 4; ++i)
    for (uint j = 0; j < 4; ++j)
      simdgroup_store(sums[i][j], out + 8 * i * size_t(size.n) + 8 * j, size.n);
}

#define GEMM(name, T)                                                                              \
  kernel void gemm_##name##_128x64_8sg(                                                            \
      device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],                            \
      device float *c [[buffer(2)]], constant GemmArguments &size [[buffer(3)]],                   \
      uint2 place [[threadgroup_position_in_grid]],                                                \
      uint group [[simdgroup_index_in_threadgroup]],                                               \
      uint lane [[thread_index_in_simdgroup]]) {                                                   \
    threadgroup float tile[kDepth * kColumns];                                                     \
    gemm<T>(a, b, c, size, tile, place, group, lane);                                              \
  }

GEMM(f32, float)
GEMM(f16, half)
