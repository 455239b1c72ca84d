#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a, uint2 i [[thread_index_in_simdgroup]]) {
  a[0] = i.x;
}
