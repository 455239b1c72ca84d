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
struct ArgmaxArguments {
  uint32_t count, span;
};
inline constexpr uint32_t kArgmaxSpan = 1024;

struct ToColumnsArguments {
  uint32_t stride, rows, width;
};
struct TakeArguments {
  uint32_t stride, row, width;
};
struct ColumnNormArguments {
  uint32_t stride, width;
  float epsilon, epsilon2;
};
struct ColumnHeadArguments {
  uint32_t stride, headDim, queryHeads, pairs, position, last;
  float epsilon;
};
struct ColumnStoreArguments {
  uint32_t stride, rows, headDim, blocks, firstRow, firstPlace, capacity;
};
struct ColumnAttentionArguments {
  uint32_t stride, rows, headDim, headsPerKv, blocks, cached, capacity, originLogical, originPhysical,
      position, window;
  float scale;
};
inline constexpr uint32_t kAttentionKeys = 16; ///< Keys per tile of attention_columns.
inline constexpr uint32_t kMatmulOutputs = 8;  ///< Outputs per threadgroup of a matmul.

} // namespace pewter::muse
