#include <metal_stdlib>
using namespace metal;
[[visible]] float f(float x) { return x; }
[[visible]] int f(int x) { return x; }
kernel void k(device float *o, visible_function_table<float(float)> t) {
  o[0] = t[0](o[1]);
}
