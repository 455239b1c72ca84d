// SPDX-License-Identifier: Apache-2.0
//
// The id of the largest logit, the lowest of equals, in two phases. Phase 1: each SIMD group takes
// `span` logits; grid ceil(count / span) threadgroups of 32 threads. Phase 2: one threadgroup of 32
// threads over the partial results. A logit that is not finite makes the result 0xFFFFFFFF.
#include <metal_stdlib>
using namespace metal;

struct ArgmaxArguments {
  uint count;
  uint span; ///< A multiple of 32. Phase 2: unused.
};
struct Best {
  float value;
  uint index;
};

static inline Best better(Best a, Best b) {
  return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}
/// The best of all lanes, the same in every lane.
static inline Best bestOfLanes(Best mine) {
  for (ushort step = 16; step > 0; step /= 2) {
    Best other = {simd_shuffle_xor(mine.value, step), simd_shuffle_xor(mine.index, step)};
    mine = better(mine, other);
  }
  return mine;
}

kernel void argmax_phase1_1sg(device const float *logits [[buffer(0)]], device float *values [[buffer(1)]],
                              device uint *indices [[buffer(2)]], constant ArgmaxArguments &args [[buffer(3)]],
                              uint group [[threadgroup_position_in_grid]],
                              uint lane [[thread_index_in_simdgroup]]) {
  Best mine = {-3.4e38f, 0x7fffffffu};
  uint bad = 0u;
  uint end = min(args.count, (group + 1u) * args.span);
  for (uint i = group * args.span + lane; i < end; i += 32u) {
    float value = logits[i];
    bad |= (as_type<uint>(value) & 0x7f800000u) == 0x7f800000u ? 0x80000000u : 0u;
    mine = better(mine, {value, i});
  }
  mine = bestOfLanes(mine);
  bad = simd_or(bad);
  if (lane == 0u) {
    values[group] = mine.value;
    indices[group] = mine.index | bad;
  }
}

kernel void argmax_phase2_1sg(device const float *values [[buffer(0)]], device const uint *indices [[buffer(1)]],
                              device uint *result [[buffer(2)]], constant ArgmaxArguments &args [[buffer(3)]],
                              uint lane [[thread_index_in_simdgroup]]) {
  Best mine = {-3.4e38f, 0x7fffffffu};
  uint bad = 0u;
  for (uint i = lane; i < args.count; i += 32u) {
    bad |= indices[i] & 0x80000000u;
    mine = better(mine, {values[i], indices[i] & 0x7fffffffu});
  }
  mine = bestOfLanes(mine);
  bad = simd_or(bad);
  if (lane == 0u)
    result[0] = bad != 0u ? 0xffffffffu : mine.index;
}
