#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a, threadgroup float *t [[buffer(1)]]) {
  a[0] = t[0];
}
