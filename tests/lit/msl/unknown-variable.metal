#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a, uint i [[thread_position_in_grid]]) {
  a[j] = 1;
}
