#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o, visible_function_table<float(float)> t [[texture(1)]]) {
  o[0] = t[0](o[1]);
}
