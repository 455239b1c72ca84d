#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a) {
  goto done;
}
