#include <metal_stdlib>
using namespace metal;
kernel void k(device float4 *a) {
  a[0].xx = float2(1);
}
