#include <metal_stdlib>
using namespace metal;
kernel void k(device flaot *a) {
  a[0] = 1;
}
