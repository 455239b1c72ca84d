// SPDX-License-Identifier: Apache-2.0
//
// RMS norms over a batch of rows, one threadgroup a row: partial sums per tid, one simd_sum per SIMD
// group, and thread 0 adds the groups' sums in the order of their numbers, so that the sum does not
// depend on scheduling. Neighbouring threads read neighbouring floats: a vector processor loads them
// as they lie, where a float4 a thread would have to be taken apart first.
//
//   rms_norm_batch                        grid: rows x 128 threads (4 SIMD groups); threadgroup(0): 32 bytes
//   fused_norm_residual_rms_norm_32sg     grid: rows x 1,024 threads;               threadgroup(0): 144 bytes
#include <metal_stdlib>
using namespace metal;

/// 1 / sqrt(mean + epsilon), of which every thread gives its part. `slots` holds a float for each of
/// the kGroups SIMD groups and one for the result.
template <uint kGroups>
static inline float inverseRms(float part, uint width, float epsilon, threadgroup float *slots,
                               uint tid, uint group, uint lane) {
  const float groupSum = simd_sum(part);
  if (lane == 0)
    slots[group] = groupSum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (tid == 0) {
    float sum = slots[0];
    for (uint i = 1; i < kGroups; ++i)
      sum += slots[i];
    slots[kGroups] = rsqrt(sum / float(width) + epsilon);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return slots[kGroups];
}

/// out = x / rms(x) * weight.
kernel void rms_norm_batch(device const float *x [[buffer(0)]],      // [rows, width]
                           device const float *weight [[buffer(1)]], // [width]
                           device float *out [[buffer(2)]],          // [rows, width]
                           constant uint &width [[buffer(3)]], constant float &epsilon [[buffer(4)]],
                           threadgroup float *slots [[threadgroup(0)]],
                           uint row [[threadgroup_position_in_grid]],
                           uint tid [[thread_index_in_threadgroup]],
                           uint group [[simdgroup_index_in_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]]) {
  device const float *from = x + size_t(row) * width;
  device float *to = out + size_t(row) * width;
  float part = 0;
  for (uint i = tid; i < width; i += 128)
    part = fma(from[i], from[i], part);
  const float inverse = inverseRms<4>(part, width, epsilon, slots, tid, group, lane);
  for (uint i = tid; i < width; i += 128)
    to[i] = from[i] * inverse * weight[i];
}

/// rms_norm_batch for a GPU: 8 SIMD groups to a row, and a row of up to 8,192 stays in registers between
/// its two uses; what is behind is read again. Threadgroup memory: 9 floats.
kernel void rms_norm_batch_8sg(device const float *x [[buffer(0)]],      // [rows, width]
                               device const float *weight [[buffer(1)]], // [width]
                               device float *out [[buffer(2)]],          // [rows, width]
                               constant uint &width [[buffer(3)]],
                               constant float &epsilon [[buffer(4)]],
                               threadgroup float *slots [[threadgroup(0)]],
                               uint row [[threadgroup_position_in_grid]],
                               uint tid [[thread_index_in_threadgroup]],
                               uint group [[simdgroup_index_in_threadgroup]],
                               uint lane [[thread_index_in_simdgroup]]) {
  device const float4 *from = (device const float4 *)(x + size_t(row) * width);
  device const float4 *scale = (device const float4 *)weight;
  device float4 *to = (device float4 *)(out + size_t(row) * width);
  const uint quads = width / 4;
  float4 kept[8];
  float part = 0;
  for (uint k = 0; k < 8; ++k)
    kept[k] = tid + 256u * k < quads ? from[tid + 256u * k] : float4(0.0f);
  for (uint k = 0; k < 8; ++k)
    part += dot(kept[k], kept[k]);
  for (uint i = tid + 2048u; i < quads; i += 256u)
    part += dot(from[i], from[i]);
  const float inverse = inverseRms<8>(part, width, epsilon, slots, tid, group, lane);
  for (uint k = 0; k < 8; ++k)
    if (tid + 256u * k < quads)
      to[tid + 256u * k] = kept[k] * inverse * scale[tid + 256u * k];
  for (uint i = tid + 2048u; i < quads; i += 256u)
    to[i] = from[i] * inverse * scale[i];
}

/// The end of one half of a layer and the start of the next:
///   hidden += source / rms(source, epsilon1) * weight1
///   out     = hidden / rms(hidden, epsilon2) * weight2
/// Each thread reads back only elements of hidden that it wrote itself.
kernel void fused_norm_residual_rms_norm_32sg(
    device const float *source [[buffer(0)]],  // [rows, width]
    device const float *weight1 [[buffer(1)]], // [width]
    device float *hidden [[buffer(2)]],        // [rows, width], in and out
    device const float *weight2 [[buffer(3)]], // [width]
    device float *out [[buffer(4)]],           // [rows, width]
    constant uint &width [[buffer(5)]], constant float &epsilon1 [[buffer(6)]],
    constant float &epsilon2 [[buffer(7)]], threadgroup float *slots [[threadgroup(0)]],
    uint row [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]],
    uint group [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
  device const float *from = source + size_t(row) * width;
  device float *state = hidden + size_t(row) * width;
  device float *to = out + size_t(row) * width;
  float part = 0;
  for (uint i = tid; i < width; i += 1024)
    part = fma(from[i], from[i], part);
  const float inverse1 = inverseRms<32>(part, width, epsilon1, slots, tid, group, lane);
  part = 0;
  for (uint i = tid; i < width; i += 1024) {
    const float sum = state[i] + from[i] * inverse1 * weight1[i];
    state[i] = sum;
    part = fma(sum, sum, part);
  }
  // The slots are written again only behind this: every thread has read the first result.
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float inverse2 = inverseRms<32>(part, width, epsilon2, slots, tid, group, lane);
  for (uint i = tid; i < width; i += 1024)
    to[i] = state[i] * inverse2 * weight2[i];
}
