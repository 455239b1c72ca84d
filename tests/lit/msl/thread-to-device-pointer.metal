#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a) {
  float x = 1;
  device float *p = &x;
  a[0] = *p;
}
