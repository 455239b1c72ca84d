// SPDX-License-Identifier: Apache-2.0
// MSL specification, "SIMD-Group Functions" and "Quad-Group Functions", with some lanes inactive: lanes whose
// bit of `mask` is clear do not take part. What an inactive lane would contribute is undefined, so functions
// that read other lanes are asked only for active ones.
#include <metal_stdlib>
using namespace metal;

// 14 results a lane; those of inactive lanes stay as they were.
#define GROUP(group) \
template <class T> kernel void group##_reductions(device const T *in [[buffer(0)]], constant uint &mask [[buffer(1)]], \
                                                  device T *out [[buffer(2)]], device uint *votes [[buffer(3)]], \
                                                  uint i [[thread_position_in_grid]]) { \
  if (mask >> (i % 32) & 1) { \
    T v = in[i]; \
    device T *o = out + i * 10; \
    *o++ = group##_sum(v); *o++ = group##_product(v); *o++ = group##_min(v); *o++ = group##_max(v); \
    *o++ = group##_prefix_inclusive_sum(v); *o++ = group##_prefix_exclusive_sum(v); \
    *o++ = group##_prefix_inclusive_product(v); *o++ = group##_prefix_exclusive_product(v); \
    *o++ = group##_broadcast_first(v); *o++ = v; \
    device uint *f = votes + i * 5; \
    *f++ = group##_all(v > T(2)); *f++ = group##_any(v > T(2)); *f++ = group##_is_first(); \
    *f++ = uint((group##_vote::vote_t)group##_ballot(v > T(2))); \
    *f++ = uint((group##_vote::vote_t)group##_active_threads_mask()); \
  } } \
template <class T> kernel void group##_bits(device const T *in [[buffer(0)]], constant uint &mask [[buffer(1)]], \
                                            device T *out [[buffer(2)]], uint i [[thread_position_in_grid]]) { \
  if (mask >> (i % 32) & 1) { \
    out[i * 3] = group##_and(in[i]); out[i * 3 + 1] = group##_or(in[i]); out[i * 3 + 2] = group##_xor(in[i]); } }
GROUP(simd) GROUP(quad)
#define BOTH(T) \
  template [[host_name("simd_reductions_" #T)]] kernel void simd_reductions<T>(device const T *, constant uint &, device T *, device uint *, uint); \
  template [[host_name("quad_reductions_" #T)]] kernel void quad_reductions<T>(device const T *, constant uint &, device T *, device uint *, uint);
BOTH(float) BOTH(half) BOTH(int) BOTH(uint) BOTH(short) BOTH(ushort) BOTH(char) BOTH(uchar)
#define BITS(T) \
  template [[host_name("simd_bits_" #T)]] kernel void simd_bits<T>(device const T *, constant uint &, device T *, uint); \
  template [[host_name("quad_bits_" #T)]] kernel void quad_bits<T>(device const T *, constant uint &, device T *, uint);
BITS(int) BITS(uint) BITS(short) BITS(ushort) BITS(char) BITS(uchar)

// Shuffles: 9 results a lane. `lane` is one for the whole group.
#define SHUFFLE(group, width) \
template <class T> kernel void group##_shuffles(device const T *in [[buffer(0)]], constant ushort &lane [[buffer(1)]], \
                                                device const ushort *from [[buffer(2)]], device T *out [[buffer(3)]], \
                                                uint i [[thread_position_in_grid]]) { \
  T v = in[i], fill = in[i] + T(1); \
  device T *o = out + i * 9; \
  *o++ = group##_broadcast(v, lane); *o++ = group##_shuffle(v, ushort(from[i] % width)); \
  *o++ = group##_shuffle_xor(v, lane); *o++ = group##_shuffle_up(v, lane); *o++ = group##_shuffle_down(v, lane); \
  *o++ = group##_shuffle_rotate_up(v, lane); *o++ = group##_shuffle_rotate_down(v, lane); \
  *o++ = group##_shuffle_and_fill_up(v, fill, lane); *o++ = group##_shuffle_and_fill_down(v, fill, lane); }
SHUFFLE(simd, 32) SHUFFLE(quad, 4)
#define EACH(T) \
  template [[host_name("simd_shuffles_" #T)]] kernel void simd_shuffles<T>(device const T *, constant ushort &, device const ushort *, device T *, uint); \
  template [[host_name("quad_shuffles_" #T)]] kernel void quad_shuffles<T>(device const T *, constant ushort &, device const ushort *, device T *, uint);
EACH(float) EACH(half) EACH(int) EACH(uint) EACH(short) EACH(ushort) EACH(char) EACH(uchar)

// In a loop that lanes leave one after the other, and on vectors.
kernel void leaving(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
  uint sum = 0;
  for (uint k = 0; k <= i % 32; ++k)
    sum += simd_sum(in[i]) * (k + 1);
  out[i] = sum;
}
kernel void vectors(device const float4 *in [[buffer(0)]], device float4 *out [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
  out[3 * i] = simd_sum(in[i]);
  out[3 * i + 1] = float4(quad_max(in[i].xyz), simd_min(in[i].w));
  out[3 * i + 2] = simd_shuffle_xor(in[i], 5);
}
kernel void places(device uint4 *out [[buffer(0)]], uint i [[thread_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]],
                   uint width [[threads_per_simdgroup]], uint groups [[simdgroups_per_threadgroup]],
                   uint quad [[quadgroup_index_in_threadgroup]], uint place [[thread_index_in_quadgroup]]) {
  out[2 * i] = uint4(lane, group, width, groups);
  out[2 * i + 1] = uint4(quad, place, 0, 0);
}
