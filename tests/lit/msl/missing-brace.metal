#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a) {
  if (a[0] > 1) {
    a[0] = 1;
