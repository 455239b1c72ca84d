#include <metal_stdlib>
using namespace metal;
kernel void k(texture2d<float, access::read> t, uint2 p [[thread_position_in_grid]]) {
  t.write(float4(1), p);
}
