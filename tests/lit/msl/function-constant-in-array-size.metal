#include <metal_stdlib>
using namespace metal;
constant int n [[function_constant(0)]];
kernel void k(device int *o) {
  int values[n];
  o[0] = values[0];
}
