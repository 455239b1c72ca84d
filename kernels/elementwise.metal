// SPDX-License-Identifier: Apache-2.0
//
// Kernels of one thread per element; each guards its index, so a grid may be larger than the data.
#include <metal_stdlib>
using namespace metal;

/// a *= sigmoid(g), the gate in front of the output projection.
kernel void gate_sigmoid(device float *a [[buffer(0)]], device const float *g [[buffer(1)]],
                         constant uint &count [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  if (i < count)
    a[i] = a[i] / (1.0f + exp(-g[i]));
}

/// a = silu(a) * b, the inside of the feed-forward.
kernel void silu_mul(device float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                     constant uint &count [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  if (i < count)
    a[i] = a[i] / (1.0f + exp(-a[i])) * b[i];
}

struct SoftcapArguments {
  uint count;
  float scale;
  float cap; ///< Not positive: scale only.
};
/// logits = cap * tanh(logits * scale / cap): the scale comes first.
kernel void scale_softcap(device float *logits [[buffer(0)]], constant SoftcapArguments &args [[buffer(1)]],
                          uint i [[thread_position_in_grid]]) {
  if (i >= args.count)
    return;
  float value = logits[i] * args.scale;
  if (args.cap > 0.0f)
    value = args.cap * precise::tanh(value / args.cap);
  logits[i] = value;
}

kernel void copy_f32(device const float *source [[buffer(0)]], device float *target [[buffer(1)]],
                     constant uint &count [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  if (i < count)
    target[i] = source[i];
}
