#include <metal_stdlib>
using namespace metal;
kernel void k(device int *o) {
  static int calls = 0;
  o[0] = ++calls;
}
