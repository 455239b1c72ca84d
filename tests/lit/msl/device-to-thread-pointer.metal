#include <metal_stdlib>
using namespace metal;
void fill(thread float *p) {
  p[0] = 1;
}
kernel void k(device float *a) {
  fill(a);
}
