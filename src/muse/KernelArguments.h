// SPDX-License-Identifier: Apache-2.0
//
// The constant structs of kernels/*.metal as the host fills them: same names, same order, same sizes.
#pragma once
#include <cstdint>

namespace pewter::muse {

struct MatrixArguments {
  uint32_t inputs, outputs, rowBytes, rows;
  float scale;
};
struct EmbeddingArguments {
  uint32_t width, vocabulary, rowBytes, outputStride;
};
struct NormArguments {
  uint32_t width;
  float epsilon, epsilon2;
};
struct HeadNormArguments {
  uint32_t headDim, queryHeads;
  float epsilon;
};
struct SoftcapArguments {
  uint32_t count;
  float scale, cap;
};
struct RotateArguments {
  uint32_t headDim, pairs, queryHeads, heads, position;
};
struct StoreArguments {
  uint32_t headDim, kvHeads, blocks, row;
};
struct AttentionArguments {
  uint32_t headDim, headsPerKv, blocks, rows, splits;
  float scale;
};
struct HeldPart {
  uint32_t outputs, rowBytes;
  float scale;
};
struct HeldArguments {
  uint32_t inputs, count, rows, prefetch;
  HeldPart parts[4];
};
struct HeadsArguments {
  uint32_t headDim, queryHeads, keyHeads, pairs, position, blocks, row;
  float epsilon;
};
struct ArgmaxArguments {
  uint32_t count, span;
};
inline constexpr uint32_t kArgmaxSpan = 1024;

struct ToTilesArguments {
  uint32_t rows, width;
};
struct TakeArguments {
  uint32_t row, width;
};
struct TileNormArguments {
  uint32_t width;
  float epsilon, epsilon2;
};
struct GemmTilesArguments {
  uint32_t inputs, outputs, rows;
};
struct TileHeadArguments {
  uint32_t headDim, queryHeads, keyHeads, pairs, position, last;
  float epsilon;
};
struct TileStoreArguments {
  uint32_t tiles, rows, headDim, kvHeads, blocks, firstRow, firstPlace, capacity;
};
struct TileAttentionArguments {
  uint32_t tiles, rows, headDim, headsPerKv, heads, blocks, cached, capacity, originLogical, originPhysical,
      position, window;
  float scale;
};
inline constexpr uint32_t kAttentionKeys = 16; ///< Keys per step of attention_tiles.
struct QuantizeArguments {
  uint32_t width;
};
inline constexpr uint32_t kInt8BlockBytes = 352 * 4; ///< Of 32 activations of each of 32 rows.
inline constexpr uint32_t kMatmulOutputs = 32; ///< Outputs per threadgroup of a matmul.

} // namespace pewter::muse
