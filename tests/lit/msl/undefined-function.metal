#include <metal_stdlib>
using namespace metal;
float scale(float x);
kernel void k(device float *o) {
  o[0] = 2 * scale(o[1]);
}
