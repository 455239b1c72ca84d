// SPDX-License-Identifier: Apache-2.0
//
// Everything of prefill but matrices and attention, on activations in tiles of 32 rows (see
// prefill_matmul.metal): a lane owns a row. Grids: as many threadgroups of 32 threads as there are tiles,
// times what a kernel names. Element i of a row of a tile is at i * 32 from the row's first.
#include <metal_stdlib>
using namespace metal;

/// Row-major rows [row][width] to tiles. Grid (tiles, width): one SIMD group per element index.
struct ToTilesArguments {
  uint rows, width;
};
kernel void to_tiles(device const float *rows [[buffer(0)]], device float *tiles [[buffer(1)]],
                     constant ToTilesArguments &args [[buffer(2)]],
                     uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  uint row = group.x * 32u + lane;
  tiles[(group.x * args.width + group.y) * 32u + lane] =
      row < args.rows ? rows[row * args.width + group.y] : 0.0f;
}

/// One row out of tiles. One thread per element.
struct TakeArguments {
  uint row, width;
};
kernel void take_row(device const float *tiles [[buffer(0)]], device float *out [[buffer(1)]],
                     constant TakeArguments &args [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  if (i < args.width)
    out[i] = tiles[((args.row / 32u) * args.width + i) * 32u + args.row % 32u];
}

struct TileNormArguments {
  uint width; ///< A multiple of 4.
  float epsilon, epsilon2;
};

static inline float inverseRmsOfRow(device const float *x, uint width, float epsilon) {
  float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (uint i = 0; i < width; i += 4u)
    for (uint j = 0; j < 4u; ++j) {
      float value = x[(i + j) * 32u];
      sums[j] = fma(value, value, sums[j]);
    }
  return 1.0f / sqrt((sums[0] + sums[1] + (sums[2] + sums[3])) / float(width) + epsilon);
}

kernel void rms_norm_tiles(device const float *x [[buffer(0)]], device const float *w [[buffer(1)]],
                           device float *out [[buffer(2)]], constant TileNormArguments &args [[buffer(3)]],
                           uint group [[threadgroup_position_in_grid]],
                           uint lane [[thread_index_in_simdgroup]]) {
  x += ulong(group) * args.width * 32u + lane;
  out += ulong(group) * args.width * 32u + lane;
  float inverse = inverseRmsOfRow(x, args.width, args.epsilon);
  for (uint i = 0; i < args.width; ++i)
    out[i * 32u] = x[i * 32u] * inverse * w[i];
}

/// h += rms(source) * w1, then out = rms(h) * w2.
kernel void norm_add_norm_tiles(device const float *source [[buffer(0)]],
                                device const float *w1 [[buffer(1)]], device float *h [[buffer(2)]],
                                device const float *w2 [[buffer(3)]], device float *out [[buffer(4)]],
                                constant TileNormArguments &args [[buffer(5)]],
                                uint group [[threadgroup_position_in_grid]],
                                uint lane [[thread_index_in_simdgroup]]) {
  ulong begin = ulong(group) * args.width * 32u + lane;
  source += begin;
  h += begin;
  out += begin;
  float inverse = inverseRmsOfRow(source, args.width, args.epsilon);
  float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (uint i = 0; i < args.width; i += 4u)
    for (uint j = 0; j < 4u; ++j) {
      uint at = (i + j) * 32u;
      float value = h[at] + source[at] * inverse * w1[i + j];
      h[at] = value;
      sums[j] = fma(value, value, sums[j]);
    }
  float mean = (sums[0] + sums[1] + (sums[2] + sums[3])) / float(args.width);
  float inverse2 = 1.0f / sqrt(mean + args.epsilon2);
  for (uint i = 0; i < args.width; ++i)
    out[i * 32u] = h[i * 32u] * inverse2 * w2[i];
}

struct TileHeadArguments {
  uint headDim;
  uint queryHeads, keyHeads;
  uint pairs;    ///< Rotated; 0: none.
  uint position; ///< Of row 0.
  uint last;     ///< The last row of the rotation table.
  float epsilon;
};
/// Element 0 of a lane's row of head `group.y`: query heads come first, then key heads.
static inline device float *headOfTile(device float *q, device float *k, constant TileHeadArguments &args,
                                       uint2 group, uint lane) {
  bool isQuery = group.y < args.queryHeads;
  uint heads = isQuery ? args.queryHeads : args.keyHeads;
  uint head = isQuery ? group.y : group.y - args.queryHeads;
  return (isQuery ? q : k) + (ulong(group.x) * heads + head) * args.headDim * 32u + lane;
}
/// Norm of each query and key head. Grid (tiles, query heads + key heads).
kernel void head_norm_tiles(device float *q [[buffer(0)]], device float *k [[buffer(1)]],
                            device const float *qWeight [[buffer(2)]],
                            device const float *kWeight [[buffer(3)]],
                            constant TileHeadArguments &args [[buffer(4)]],
                            uint2 group [[threadgroup_position_in_grid]],
                            uint lane [[thread_index_in_simdgroup]]) {
  device float *x = headOfTile(q, k, args, group, lane);
  device const float *w = group.y < args.queryHeads ? qWeight : kWeight;
  float inverse = inverseRmsOfRow(x, args.headDim, args.epsilon);
  for (uint i = 0; i < args.headDim; ++i)
    x[i * 32u] = x[i * 32u] * inverse * w[i];
}
/// Rotation of each query and key head. Grid (tiles, query heads + key heads).
kernel void rotate_tiles(device float *q [[buffer(0)]], device float *k [[buffer(1)]],
                         device const float2 *table [[buffer(2)]],
                         constant TileHeadArguments &args [[buffer(3)]],
                         uint2 group [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
  device float *x = headOfTile(q, k, args, group, lane);
  uint row = group.x * 32u + lane;
  device const float2 *turns = table + ulong(min(args.position + row, args.last)) * args.pairs;
  for (uint i = 0; i < args.pairs; ++i) {
    float2 turn = turns[i];
    float a = x[2u * i * 32u], b = x[(2u * i + 1u) * 32u];
    x[2u * i * 32u] = a * turn.x - b * turn.y;
    x[(2u * i + 1u) * 32u] = a * turn.y + b * turn.x;
  }
}

struct TileStoreArguments {
  uint tiles;
  uint rows;        ///< Of the batch; later rows become zero in a stage and are not published.
  uint headDim;
  uint kvHeads;
  uint blocks;      ///< Of the target, per key-value head.
  uint firstRow;    ///< Publish: the first row of the batch that survives.
  uint firstPlace;  ///< Publish: where it goes.
  uint capacity;    ///< Publish: rows of the ring.
};
/// Keys and values of the batch into planes of their own, in the cache's layout and type.
/// Grid (tiles, kv heads * headDim).
template <typename Element>
static inline void stageRow(device const float *k, device const float *v, device Element *kStage,
                            device Element *vStage, constant TileStoreArguments &args, uint2 group,
                            uint lane) {
  uint row = group.x * 32u + lane, head = group.y / args.headDim, d = group.y % args.headDim;
  bool real = row < args.rows;
  ulong from = (ulong(group.x) * args.kvHeads * args.headDim + group.y) * 32u + lane;
  kStage[((head * args.blocks + group.x) * args.headDim + d) * 32u + lane] = Element(real ? k[from] : 0.0f);
  vStage[(head * args.blocks * 32u + row) * args.headDim + d] = Element(real ? v[from] : 0.0f);
}
/// From the stage into the cache.
template <typename Element>
static inline void publishRow(device const Element *kStage, device const Element *vStage,
                              device Element *kPlane, device Element *vPlane,
                              constant TileStoreArguments &args, uint2 group, uint lane) {
  uint row = group.x * 32u + lane, head = group.y / args.headDim, d = group.y % args.headDim;
  if (row >= args.rows || row < args.firstRow)
    return;
  uint place = (args.firstPlace + row - args.firstRow) % args.capacity;
  kPlane[((head * args.blocks + place / 32u) * args.headDim + d) * 32u + place % 32u] =
      kStage[((head * args.tiles + group.x) * args.headDim + d) * 32u + lane];
  vPlane[(head * args.blocks * 32u + place) * args.headDim + d] =
      vStage[(head * args.tiles * 32u + row) * args.headDim + d];
}
#define STAGE(suffix, Element)                                                                       \
  kernel void kv_stage_##suffix(device const float *k [[buffer(0)]], device const float *v [[buffer(1)]], \
                                device Element *kStage [[buffer(2)]], device Element *vStage [[buffer(3)]], \
                                constant TileStoreArguments &args [[buffer(4)]],                     \
                                uint2 group [[threadgroup_position_in_grid]],                        \
                                uint lane [[thread_index_in_simdgroup]]) {                           \
    stageRow<Element>(k, v, kStage, vStage, args, group, lane);                                      \
  }                                                                                                  \
  kernel void kv_publish_##suffix(                                                                   \
      device const Element *kStage [[buffer(0)]], device const Element *vStage [[buffer(1)]],        \
      device Element *kPlane [[buffer(2)]], device Element *vPlane [[buffer(3)]],                    \
      constant TileStoreArguments &args [[buffer(4)]], uint2 group [[threadgroup_position_in_grid]], \
      uint lane [[thread_index_in_simdgroup]]) {                                                     \
    publishRow<Element>(kStage, vStage, kPlane, vPlane, args, group, lane);                          \
  }
STAGE(f16, half)
STAGE(f32, float)
