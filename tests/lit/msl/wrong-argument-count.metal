#include <metal_stdlib>
using namespace metal;
float twice(float x) {
  return 2 * x;
}
kernel void k(device float *a) {
  a[0] = twice(a[0], a[1]);
}
