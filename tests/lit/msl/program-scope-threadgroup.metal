#include <metal_stdlib>
using namespace metal;
threadgroup float shared_values[32];
kernel void k(device float *o, uint i [[thread_index_in_threadgroup]]) {
  shared_values[i] = o[i];
}
