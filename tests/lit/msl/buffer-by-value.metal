#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a, uint n [[buffer(1)]]) {
  a[0] = n;
}
