#include <metal_stdlib>
using namespace metal;
kernel void k(device const float4 *a) {
  a[0] = float4(1);
}
