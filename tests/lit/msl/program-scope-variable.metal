#include <metal_stdlib>
using namespace metal;
int counter = 0;
kernel void k(device int *o) {
  o[0] = ++counter;
}
