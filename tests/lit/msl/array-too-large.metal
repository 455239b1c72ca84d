#include <metal_stdlib>
using namespace metal;
kernel void k(device int *o) {
  int values[1ul << 62];
  o[0] = values[o[1]];
}
