// SPDX-License-Identifier: Apache-2.0
#include <metal_stdlib>
using namespace metal;

#if __METAL_VERSION__ != 310
#error "The language version was not passed on."
#endif

kernel void scale(device float *value [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  value[i] *= FACTOR;
}
