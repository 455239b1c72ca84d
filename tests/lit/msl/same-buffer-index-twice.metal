#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a [[buffer(1)]], device float *b [[buffer(1)]]) {
  a[0] = b[0];
}
