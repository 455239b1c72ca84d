#include <metal_stdlib>
using namespace metal;
kernel void k(device int *o) {
  asm volatile("nop");
  o[0] = 1;
}
