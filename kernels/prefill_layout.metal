// SPDX-License-Identifier: Apache-2.0
//
// Everything of prefill but matrices and attention, on activations stored by columns (see
// prefill_matmul.metal): a lane owns a row. Grids: stride / 32 threadgroups of 32 threads, times what a
// kernel names.

/// Row-major rows [row][width] to columns. Grid (stride / 32, width): one SIMD group per element index.
struct ToColumnsArguments {
  uint stride, rows, width;
};
kernel void to_columns(device const float *rows [[buffer(0)]], device float *columns [[buffer(1)]],
                       constant ToColumnsArguments &args [[buffer(2)]],
                       uint2 group [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
  uint row = group.x * 32u + lane;
  columns[group.y * args.stride + row] = row < args.rows ? rows[row * args.width + group.y] : 0.0f;
}

/// One row out of columns. One thread per element.
struct TakeArguments {
  uint stride, row, width;
};
kernel void take_row(device const float *columns [[buffer(0)]], device float *out [[buffer(1)]],
                     constant TakeArguments &args [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  if (i < args.width)
    out[i] = columns[i * args.stride + args.row];
}

struct ColumnNormArguments {
  uint stride;
  uint width;
  float epsilon, epsilon2;
};

static inline float inverseRmsColumn(device const float *x, uint stride, uint width, float epsilon) {
  float sum0 = 0.0f, sum1 = 0.0f;
  for (uint i = 0; i < width; i += 2u) {
    float a = x[ulong(i) * stride], b = x[ulong(i + 1u) * stride];
    sum0 = fma(a, a, sum0);
    sum1 = fma(b, b, sum1);
  }
  return 1.0f / sqrt((sum0 + sum1) / float(width) + epsilon);
}

kernel void rms_norm_columns(device const float *x [[buffer(0)]], device const float *w [[buffer(1)]],
                             device float *out [[buffer(2)]], constant ColumnNormArguments &args [[buffer(3)]],
                             uint group [[threadgroup_position_in_grid]],
                             uint lane [[thread_index_in_simdgroup]]) {
  x += group * 32u + lane;
  out += group * 32u + lane;
  float inverse = inverseRmsColumn(x, args.stride, args.width, args.epsilon);
  for (uint i = 0; i < args.width; ++i)
    out[ulong(i) * args.stride] = x[ulong(i) * args.stride] * inverse * w[i];
}

kernel void norm_add_norm_columns(device const float *source [[buffer(0)]],
                                  device const float *w1 [[buffer(1)]], device float *h [[buffer(2)]],
                                  device const float *w2 [[buffer(3)]], device float *out [[buffer(4)]],
                                  constant ColumnNormArguments &args [[buffer(5)]],
                                  uint group [[threadgroup_position_in_grid]],
                                  uint lane [[thread_index_in_simdgroup]]) {
  source += group * 32u + lane;
  h += group * 32u + lane;
  out += group * 32u + lane;
  float inverse = inverseRmsColumn(source, args.stride, args.width, args.epsilon);
  for (uint i = 0; i < args.width; ++i) {
    ulong at = ulong(i) * args.stride;
    h[at] = h[at] + source[at] * inverse * w1[i];
  }
  float inverse2 = inverseRmsColumn(h, args.stride, args.width, args.epsilon2);
  for (uint i = 0; i < args.width; ++i) {
    ulong at = ulong(i) * args.stride;
    out[at] = h[at] * inverse2 * w2[i];
  }
}

struct ColumnHeadArguments {
  uint stride;
  uint headDim;
  uint queryHeads;
  uint pairs;    ///< Rotated; 0: none.
  uint position; ///< Of row 0.
  uint last;     ///< The last row of the rotation table.
  float epsilon;
};
/// Norm of each query and key head. Grid (stride / 32, query heads + key heads).
kernel void head_norm_columns(device float *q [[buffer(0)]], device float *k [[buffer(1)]],
                              device const float *qWeight [[buffer(2)]],
                              device const float *kWeight [[buffer(3)]],
                              constant ColumnHeadArguments &args [[buffer(4)]],
                              uint2 group [[threadgroup_position_in_grid]],
                              uint lane [[thread_index_in_simdgroup]]) {
  bool isQuery = group.y < args.queryHeads;
  uint head = isQuery ? group.y : group.y - args.queryHeads;
  device float *x = (isQuery ? q : k) + ulong(head * args.headDim) * args.stride + group.x * 32u + lane;
  device const float *w = isQuery ? qWeight : kWeight;
  float inverse = inverseRmsColumn(x, args.stride, args.headDim, args.epsilon);
  for (uint i = 0; i < args.headDim; ++i)
    x[i * args.stride] = x[i * args.stride] * inverse * w[i];
}
/// Rotation of each query and key head. Grid (stride / 32, query heads + key heads).
kernel void rotate_columns(device float *q [[buffer(0)]], device float *k [[buffer(1)]],
                           device const float2 *table [[buffer(2)]],
                           constant ColumnHeadArguments &args [[buffer(3)]],
                           uint2 group [[threadgroup_position_in_grid]],
                           uint lane [[thread_index_in_simdgroup]]) {
  bool isQuery = group.y < args.queryHeads;
  uint head = isQuery ? group.y : group.y - args.queryHeads, row = group.x * 32u + lane;
  device float *x = (isQuery ? q : k) + ulong(head * args.headDim) * args.stride + row;
  device const float2 *turns = table + ulong(min(args.position + row, args.last)) * args.pairs;
  for (uint i = 0; i < args.pairs; ++i) {
    float2 turn = turns[i];
    float a = x[2u * i * args.stride], b = x[(2u * i + 1u) * args.stride];
    x[2u * i * args.stride] = a * turn.x - b * turn.y;
    x[(2u * i + 1u) * args.stride] = a * turn.y + b * turn.x;
  }
}

struct ColumnStoreArguments {
  uint stride;
  uint rows;        ///< Of the batch; later rows become zero in a stage and are not published.
  uint headDim;
  uint blocks;      ///< Of the target, per key-value head.
  uint firstRow;    ///< Publish: the first row of the batch that survives.
  uint firstPlace;  ///< Publish: where it goes.
  uint capacity;    ///< Publish: rows of the ring.
};
/// Keys and values of the batch into planes of their own, in the cache's layout and type.
/// Grid (stride / 32, kv heads * headDim).
template <typename Element>
static inline void stageRow(device const float *k, device const float *v, device Element *kStage,
                            device Element *vStage, constant ColumnStoreArguments &args, uint2 group,
                            uint lane) {
  uint row = group.x * 32u + lane, head = group.y / args.headDim, d = group.y % args.headDim;
  bool real = row < args.rows;
  ulong from = ulong(group.y) * args.stride + row;
  kStage[((head * args.blocks + group.x) * args.headDim + d) * 32u + lane] = Element(real ? k[from] : 0.0f);
  vStage[(head * args.blocks * 32u + row) * args.headDim + d] = Element(real ? v[from] : 0.0f);
}
/// From the stage into the cache.
template <typename Element>
static inline void publishRow(device const Element *kStage, device const Element *vStage,
                              device Element *kPlane, device Element *vPlane, uint stageBlocks,
                              constant ColumnStoreArguments &args, uint2 group, uint lane) {
  uint row = group.x * 32u + lane, head = group.y / args.headDim, d = group.y % args.headDim;
  if (row >= args.rows || row < args.firstRow)
    return;
  uint place = (args.firstPlace + row - args.firstRow) % args.capacity;
  kPlane[((head * args.blocks + place / 32u) * args.headDim + d) * 32u + place % 32u] =
      kStage[((head * stageBlocks + group.x) * args.headDim + d) * 32u + lane];
  vPlane[(head * args.blocks * 32u + place) * args.headDim + d] =
      vStage[(head * stageBlocks * 32u + row) * args.headDim + d];
}
#define STAGE(suffix, Element)                                                                       \
  kernel void kv_stage_##suffix(device const float *k [[buffer(0)]], device const float *v [[buffer(1)]], \
                                device Element *kStage [[buffer(2)]], device Element *vStage [[buffer(3)]], \
                                constant ColumnStoreArguments &args [[buffer(4)]],                   \
                                uint2 group [[threadgroup_position_in_grid]],                        \
                                uint lane [[thread_index_in_simdgroup]]) {                           \
    stageRow<Element>(k, v, kStage, vStage, args, group, lane);                                      \
  }                                                                                                  \
  kernel void kv_publish_##suffix(                                                                   \
      device const Element *kStage [[buffer(0)]], device const Element *vStage [[buffer(1)]],        \
      device Element *kPlane [[buffer(2)]], device Element *vPlane [[buffer(3)]],                    \
      constant ColumnStoreArguments &args [[buffer(4)]], uint2 group [[threadgroup_position_in_grid]], \
      uint lane [[thread_index_in_simdgroup]]) {                                                     \
    publishRow<Element>(kStage, vStage, kPlane, vPlane, args.stride / 32u, args, group, lane);       \
  }
STAGE(f16, half)
STAGE(f32, float)
