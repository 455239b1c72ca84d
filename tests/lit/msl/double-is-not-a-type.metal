#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a) {
  double x = a[0];
  a[0] = x;
}
