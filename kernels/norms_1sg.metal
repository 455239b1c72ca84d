// SPDX-License-Identifier: Apache-2.0
//
// RMS norms with one SIMD group per row: no barrier, so a CPU runs a row as one loop. Widths are multiples
// of 32, and loops count the same for every lane, so that no lane has to be masked. Grid: rows
// threadgroups of 32 threads. out = x / sqrt(mean(x^2) + epsilon) * w, everything in float.
#include <metal_stdlib>
using namespace metal;

struct NormArguments {
  uint width;     ///< A multiple of 32.
  float epsilon;  ///< Of the first (or only) norm.
  float epsilon2; ///< Of the second.
};

/// `x` points at the lane's first element.
static inline float inverseRms(device const float *x, uint width, float epsilon) {
  float sum = 0.0f;
  for (uint i = 0; i < width; i += 32u)
    sum = fma(x[i], x[i], sum);
  return 1.0f / sqrt(simd_sum(sum) / float(width) + epsilon);
}

kernel void rms_norm_1sg(device const float *x [[buffer(0)]], device const float *w [[buffer(1)]],
                         device float *out [[buffer(2)]], constant NormArguments &args [[buffer(3)]],
                         uint row [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
  x += ulong(row) * args.width + lane;
  w += lane;
  out += ulong(row) * args.width + lane;
  float inverse = inverseRms(x, args.width, args.epsilon);
  for (uint i = 0; i < args.width; i += 32u)
    out[i] = x[i] * inverse * w[i];
}

/// Query and key heads in place: rows [0, queryHeads) of q, then those of k, each with its own weights.
struct HeadNormArguments {
  uint headDim;
  uint queryHeads;
  float epsilon;
};
kernel void head_norm_1sg(device float *q [[buffer(0)]], device float *k [[buffer(1)]],
                          device const float *qWeight [[buffer(2)]],
                          device const float *kWeight [[buffer(3)]],
                          constant HeadNormArguments &args [[buffer(4)]],
                          uint row [[threadgroup_position_in_grid]],
                          uint lane [[thread_index_in_simdgroup]]) {
  bool isQuery = row < args.queryHeads;
  device float *x = (isQuery ? q + row * args.headDim : k + (row - args.queryHeads) * args.headDim) + lane;
  device const float *w = (isQuery ? qWeight : kWeight) + lane;
  float inverse = inverseRms(x, args.headDim, args.epsilon);
  for (uint i = 0; i < args.headDim; i += 32u)
    x[i] = x[i] * inverse * w[i];
}

/// The tail of a half layer: h += rms(source) * w1, then out = rms(h) * w2.
kernel void norm_add_norm_1sg(device const float *source [[buffer(0)]], device const float *w1 [[buffer(1)]],
                              device float *h [[buffer(2)]], device const float *w2 [[buffer(3)]],
                              device float *out [[buffer(4)]], constant NormArguments &args [[buffer(5)]],
                              uint row [[threadgroup_position_in_grid]],
                              uint lane [[thread_index_in_simdgroup]]) {
  source += ulong(row) * args.width + lane;
  h += ulong(row) * args.width + lane;
  out += ulong(row) * args.width + lane;
  w1 += lane;
  w2 += lane;
  float inverse = inverseRms(source, args.width, args.epsilon);
  float sum = 0.0f;
  for (uint i = 0; i < args.width; i += 32u) {
    float value = h[i] + source[i] * inverse * w1[i];
    h[i] = value;
    sum = fma(value, value, sum);
  }
  float inverse2 = 1.0f / sqrt(simd_sum(sum) / float(args.width) + args.epsilon2);
  for (uint i = 0; i < args.width; i += 32u)
    out[i] = h[i] * inverse2 * w2[i];
}
