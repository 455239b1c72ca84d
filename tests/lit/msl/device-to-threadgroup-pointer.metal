#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a) {
  threadgroup float *t = a;
  t[0] = 1;
}
