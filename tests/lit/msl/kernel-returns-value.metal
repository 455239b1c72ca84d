#include <metal_stdlib>
using namespace metal;
kernel float k(device float *a) {
  return a[0];
}
