#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a) {
  a[0] = squareroot(a[1]);
}
