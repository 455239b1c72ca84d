#include <metal_stdlib>
using namespace metal;
#define MAX2(a, b) ((a) > (b) ? (a) : (b)
kernel void k(device float *a) {
  a[0] = MAX2(a[0], a[1]);
}
