#include <metal_stdlib>
using namespace metal;
kernel void k(device int *o, device int *p [[buffer(1), function_constant(use_p)]]) {
  o[0] = p[0];
}
