#include <metal_stdlib>
using namespace metal;
[[visible]] float doubled(float x) { return x * 2; }
kernel void k(device float *o [[buffer(0)]],
              visible_function_table<float(float)> table [[buffer(1)]],
              uint i [[thread_position_in_grid]]) {
  o[i] = table[0](o[i]);
}
