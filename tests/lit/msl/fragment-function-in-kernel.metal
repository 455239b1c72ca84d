#include <metal_stdlib>
using namespace metal;
static void drop(float x) {
  if (x < 0)
    discard_fragment();
}
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { drop(o[i]); }
