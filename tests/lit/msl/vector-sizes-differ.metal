#include <metal_stdlib>
using namespace metal;
kernel void k(device float4 *a, device float3 *b) {
  a[0] = a[1] + b[0];
}
