#include <metal_stdlib>
#include <metal_tensor>
using namespace metal;
kernel void k(device float *o) { o[0] = 1; }
