#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a, device float2 *b) {
  a[0] = b[0].z;
}
