#include <metal_stdlib>
using namespace metal;
#include "kernel_params.h"
kernel void k(device float *a) {
  a[0] = 1;
}
