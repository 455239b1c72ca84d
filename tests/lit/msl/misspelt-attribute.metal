#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a [[bufer(0)]]) {
  a[0] = 1;
}
