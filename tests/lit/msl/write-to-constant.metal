#include <metal_stdlib>
using namespace metal;
kernel void k(constant float *a) {
  a[0] = 1;
}
