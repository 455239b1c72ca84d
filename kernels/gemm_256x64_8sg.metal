// SPDX-License-Identifier: Apache-2.0
//
// C = A B for row-major matrices whose sizes are multiples of the tile: M of 256, N of 64, K of 128. A
// threadgroup of 256 threads makes 256 x 64 elements of C, each of its eight SIMD groups 32 rows. A step
// goes 128 deep: the tile of B, which all SIMD groups share, is copied to threadgroup memory as floats,
// whatever its format; the rows of A, which only one wants, are multiplied where they are.
//
//   gemm_f32_256x64_8sg, gemm_f16_256x64_8sg    grid: (N / 64) x (M / 256) threadgroups of 256 threads
#include <metal_stdlib>
using namespace metal;

struct GemmArguments {
  uint m, n, k;
};

constant constexpr uint kRows = 256, kColumns = 64; ///< Of C in a threadgroup.
constant constexpr uint kDepth = 128;               ///< Of K in a step.
constant constexpr uint kGroups = 8;

template <typename T>
static inline void gemm(device const T *a, device const T *b, device float *c,
                        constant GemmArguments &size, threadgroup float *tile, uint2 place, uint group,
                        uint lane) {
  constexpr uint down = kRows / kGroups / 8, across = kColumns / 8; // Matrices of a SIMD group.
  simdgroup_float8x8 sums[down][across];
  for (uint i = 0; i < down; ++i)
    for (uint j = 0; j < across; ++j)
      sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  const size_t row = place.y * kRows + group * 8 * down;
  const uint column = place.x * kColumns;
  // Each SIMD group copies every eighth row of B.
  device const T *lines = b + group * size_t(size.n) + column + lane;
  const size_t toNext = kGroups * size_t(size.n);
  threadgroup float *copy = tile + group * kColumns + lane;
  device const T *left = a + row * size.k;
  for (uint k = 0; k < size.k; k += kDepth) {
    device const T *line = lines;
    for (uint i = 0; i < kDepth; i += kGroups, line += toNext)
      for (uint n = 0; n < kColumns; n += 32)
        copy[i * kColumns + n] = float(line[n]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < down; ++i)
      for (uint j = 0; j < across; ++j)
#pragma clang loop unroll(full)
        for (uint d = 0; d < kDepth; d += 8) {
          simdgroup_matrix<T, 8, 8> of;
          simdgroup_float8x8 by;
          simdgroup_load(of, left + 8 * i * size_t(size.k) + d, size.k);
          simdgroup_load(by, tile + d * kColumns + 8 * j, kColumns);
          simdgroup_multiply_accumulate(sums[i][j], of, by, sums[i][j]);
        }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    lines += kDepth * size_t(size.n);
    left += kDepth;
  }
  device float *out = c + row * size.n + column;
  for (uint i = 0; i < down; ++i)
    for (uint j = 0; j < across; ++j)
      simdgroup_store(sums[i][j], out + 8 * i * size_t(size.n) + 8 * j, size.n);
}

#define GEMM(name, T)                                                                              \
  kernel void gemm_##name##_256x64_8sg(                                                            \
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
