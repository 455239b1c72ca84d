// SPDX-License-Identifier: Apache-2.0
//
// One thread per written element. Each kernel guards its index, because a grid of whole threadgroups
// may be larger than the data.
#include <metal_stdlib>
using namespace metal;

/// values *= 1 / (1 + e^-gate). Dispatched with the exact number of threads, 256 wide.
kernel void sigmoid_gate_inplace(device float *values [[buffer(0)]],
                                 device const float *gate [[buffer(1)]],
                                 constant uint &count [[buffer(2)]],
                                 uint i [[thread_position_in_grid]]) {
  if (i >= count)
    return;
  values[i] *= 1.0f / (1.0f + exp(-gate[i]));
}

/// target += source. Dispatched as ceil(count / 1,024) threadgroups of 1,024 threads.
kernel void residual_add_batch(device float *target [[buffer(0)]],
                               device const float *source [[buffer(1)]],
                               constant uint &count [[buffer(2)]],
                               uint i [[thread_position_in_grid]]) {
  if (i < count)
    target[i] += source[i];
}

/// y += a * x.
kernel void saxpy(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                  constant float &a [[buffer(2)]], constant uint &count [[buffer(3)]],
                  uint i [[thread_position_in_grid]]) {
  if (i < count)
    y[i] = fma(a, x[i], y[i]);
}

/// saxpy with four elements to a thread, for a GPU: more bytes in flight. Launch: ceil(count / 4) threads.
kernel void saxpy_4(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                    constant float &a [[buffer(2)]], constant uint &count [[buffer(3)]],
                    uint i [[thread_position_in_grid]]) {
  uint at = i * 4u;
  if (at + 4u <= count) {
    device float4 *to = (device float4 *)(y + at);
    *to = fma(float4(a), *(device const float4 *)(x + at), *to);
    return;
  }
  for (; at < count; ++at)
    y[at] = fma(a, x[at], y[at]);
}

/// Nothing: what a dispatch costs by itself.
kernel void empty(device float *unused [[buffer(0)]]) {}
