#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a [[buffer(n)]]) {
  a[0] = 1;
}
