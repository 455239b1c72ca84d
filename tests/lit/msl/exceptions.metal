#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a) {
  throw 1;
}
