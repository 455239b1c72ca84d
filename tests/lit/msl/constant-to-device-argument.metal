#include <metal_stdlib>
using namespace metal;
void fill(device float *p) {
  p[0] = 1;
}
kernel void k(constant float *a) {
  fill(a);
}
