#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a, float scale) {
  a[0] = scale;
}
