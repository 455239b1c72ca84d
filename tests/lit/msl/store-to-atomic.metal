#include <metal_stdlib>
using namespace metal;
kernel void k(device atomic_int *counter [[buffer(0)]]) {
  *counter = 3;
}
