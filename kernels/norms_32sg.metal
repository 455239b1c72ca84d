// SPDX-License-Identifier: Apache-2.0
//
// RMS norms with 32 SIMD groups to a row, for a GPU, where a row is all that one token has: arguments as in
// norms_1sg.metal; what a matrix reads is made as storeFixed writes it. Widths are multiples of 32. Grid: rows
// threadgroups of 1,024 threads.
#include "norms_1sg.metal"
#include "matvec_held.metal"

/// What a threadgroup's threads have together; every thread gets it. `slots` is not in use before or after.
static inline float sumOfThreadgroup(float own, threadgroup float *slots, uint simd, uint lane) {
  const float sum = simd_sum(own);
  if (lane == 0u)
    slots[simd] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return simd_sum(slots[lane]);
}

/// The first elements of a thread's stay in registers, all its reads under way together.
constant constexpr uint kNormKept = 8;

kernel void rms_norm_32sg(device const float *x [[buffer(0)]], device const float *w [[buffer(1)]],
                          device float *out [[buffer(2)]], constant NormArguments &args [[buffer(3)]],
                          uint row [[threadgroup_position_in_grid]], uint own [[thread_index_in_threadgroup]],
                          uint simd [[simdgroup_index_in_threadgroup]],
                          uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float slots[32];
  x += ulong(row) * args.width;
  out += ulong(row) * args.width;
  float sum = 0.0f;
  for (uint i = own; i < args.width; i += 1024u)
    sum = fma(x[i], x[i], sum);
  const float inverse =
      1.0f / sqrt(sumOfThreadgroup(sum, slots, simd, lane) / float(args.width) + args.epsilon);
  for (uint i = own; i < args.width; i += 1024u)
    out[i] = x[i] * inverse * w[i];
}

kernel void rms_norm_fixed(device const float *x [[buffer(0)]], device const float *w [[buffer(1)]],
                           device uchar *out [[buffer(2)]], constant NormArguments &args [[buffer(3)]],
                           uint row [[threadgroup_position_in_grid]], uint own [[thread_index_in_threadgroup]],
                           uint simd [[simdgroup_index_in_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float slots[32];
  x += ulong(row) * args.width;
  out += ulong(row) * fixedRowBytes(args.width);
  float sum = 0.0f;
  for (uint i = own; i < args.width; i += 1024u)
    sum = fma(x[i], x[i], sum);
  const float inverse =
      1.0f / sqrt(sumOfThreadgroup(sum, slots, simd, lane) / float(args.width) + args.epsilon);
  for (uint run = simd; run < args.width / 32u; run += 32u)
    storeFixed(out, args.width, run, x[run * 32u + lane] * inverse * w[run * 32u + lane], lane);
}

kernel void norm_add_norm_fixed(device const float *source [[buffer(0)]], device const float *w1 [[buffer(1)]],
                                device float *h [[buffer(2)]], device const float *w2 [[buffer(3)]],
                                device uchar *out [[buffer(4)]], constant NormArguments &args [[buffer(5)]],
                                uint row [[threadgroup_position_in_grid]],
                                uint own [[thread_index_in_threadgroup]],
                                uint simd [[simdgroup_index_in_threadgroup]],
                                uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float slots[64];
  source += ulong(row) * args.width;
  h += ulong(row) * args.width;
  out += ulong(row) * fixedRowBytes(args.width);
  float from[kNormKept], state[kNormKept], first[kNormKept], second[kNormKept];
  for (uint k = 0; k < kNormKept; ++k) {
    const uint i = own + 1024u * k;
    const bool is = i < args.width;
    from[k] = is ? source[i] : 0.0f;
    state[k] = is ? h[i] : 0.0f;
    first[k] = is ? w1[i] : 0.0f;
    second[k] = is ? w2[i] : 0.0f;
  }
  constexpr uint kBehind = 1024u * kNormKept;
  float sum = 0.0f;
  for (uint k = 0; k < kNormKept; ++k)
    sum = fma(from[k], from[k], sum);
  for (uint i = own + kBehind; i < args.width; i += 1024u)
    sum = fma(source[i], source[i], sum);
  const float inverse =
      1.0f / sqrt(sumOfThreadgroup(sum, slots, simd, lane) / float(args.width) + args.epsilon);
  sum = 0.0f;
  for (uint k = 0; k < kNormKept; ++k) {
    state[k] += from[k] * inverse * first[k];
    sum = fma(state[k], state[k], sum);
  }
  for (uint i = own + kBehind; i < args.width; i += 1024u) {
    const float value = h[i] + source[i] * inverse * w1[i];
    h[i] = value;
    sum = fma(value, value, sum);
  }
  const float inverse2 =
      1.0f / sqrt(sumOfThreadgroup(sum, slots + 32, simd, lane) / float(args.width) + args.epsilon2);
  for (uint k = 0; k < kNormKept; ++k) {
    const uint run = simd + 32u * k; // The same for a SIMD group, and so is what is done.
    if (run < args.width / 32u) {
      h[run * 32u + lane] = state[k];
      storeFixed(out, args.width, run, state[k] * inverse2 * second[k], lane);
    }
  }
  for (uint run = simd + kBehind / 32u; run < args.width / 32u; run += 32u)
    storeFixed(out, args.width, run, h[run * 32u + lane] * inverse2 * w2[run * 32u + lane], lane);
}
