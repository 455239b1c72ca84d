#include <metal_stdlib>
using namespace metal;
constant int a [[function_constant(0)]];
constant int b [[function_constant(0)]];
kernel void k(device int *o) {
  o[0] = a + b;
}
