// SPDX-License-Identifier: Apache-2.0
//
// C = A B for row-major matrices whose sizes are multiples of the tile: M and N of 64, K of 32. A
// threadgroup of 128 threads makes 64 x 64 elements of C, each of its four SIMD groups a quarter of
// 32 x 32. Tiles of A and B are copied to threadgroup memory as floats, whatever their format, so the
// inner loop is the same for all.
//
//   gemm_f32_64x64_4sg, gemm_f16_64x64_4sg    grid: (N / 64) x (M / 64) threadgroups of 128 threads
#include <metal_stdlib>
using namespace metal;

struct GemmArguments {
  uint m, n, k;
};

constant constexpr uint kTile = 64;  ///< Rows and columns of C in a threadgroup.
constant constexpr uint kDepth = 32; ///< Of K in a step.

template <typename T>
static inline void gemm(device const T *a, device const T *b, device float *c,
                        constant GemmArguments &size, threadgroup float *tileA,
                        threadgroup float *tileB, uint2 tile, uint group, uint lane) {
  simdgroup_float8x8 sums[4][4];
  for (uint i = 0; i < 4; ++i)
    for (uint j = 0; j < 4; ++j)
      sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  const uint row = tile.y * kTile, column = tile.x * kTile;
  const uint groupRow = (group / 2) * 32, groupColumn = (group % 2) * 32;
  for (uint k = 0; k < size.k; k += kDepth) {
    // Each SIMD group copies every fourth row; a lane reads one element of 32 in a line.
    for (uint i = 0; i < kTile / 4; ++i) {
      const uint r = 4 * i + group;
      tileA[r * kDepth + lane] = float(a[size_t(row + r) * size.k + k + lane]);
    }
    for (uint i = 0; i < kDepth / 4; ++i) {
      const uint r = 4 * i + group;
      device const T *line = b + size_t(k + r) * size.n + column;
      tileB[r * kTile + lane] = float(line[lane]);
      tileB[r * kTile + 32 + lane] = float(line[32 + lane]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < 4; ++i)
      for (uint j = 0; j < 4; ++j)
        for (uint d = 0; d < kDepth; d += 8) {
          simdgroup_float8x8 left, right;
          simdgroup_load(left, tileA + (groupRow + 8 * i) * kDepth + d, kDepth);
          simdgroup_load(right, tileB + d * kTile + groupColumn + 8 * j, kTile);
          simdgroup_multiply_accumulate(sums[i][j], left, right, sums[i][j]);
        }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (uint i = 0; i < 4; ++i)
    for (uint j = 0; j < 4; ++j)
      simdgroup_store(sums[i][j],
                      c + size_t(row + groupRow + 8 * i) * size.n + column + groupColumn + 8 * j,
                      size.n);
}

#define GEMM(name, T)                                                                              \
  kernel void gemm_##name##_64x64_4sg(                                                             \
      device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],                            \
      device float *c [[buffer(2)]], constant GemmArguments &size [[buffer(3)]],                   \
      uint2 tile [[threadgroup_position_in_grid]],                                                 \
      uint group [[simdgroup_index_in_threadgroup]],                                               \
      uint lane [[thread_index_in_simdgroup]]) {                                                   \
    threadgroup float tileA[kTile * kDepth];                                                       \
    threadgroup float tileB[kDepth * kTile];                                                       \
    gemm<T>(a, b, c, size, tileA, tileB, tile, group, lane);                                       \
  }

GEMM(f32, float)
GEMM(f16, half)
