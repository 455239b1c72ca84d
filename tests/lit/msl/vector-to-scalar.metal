#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a, device float4 *b) {
  a[0] = b[0];
}
