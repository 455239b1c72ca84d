#include <metal_stdlib>
using namespace metal;
void bump(thread float &x) {
  x += 1;
}
kernel void k(device float *a, threadgroup float *t) {
  bump(t[0]);
  a[0] = t[0];
}
