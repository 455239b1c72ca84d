#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a, float &b) {
  a[0] = b;
}
