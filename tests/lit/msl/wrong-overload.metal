#include <metal_stdlib>
using namespace metal;
struct S {
  int x;
};
kernel void k(device float *a, device S *s) {
  a[0] = max(s[0], s[1]);
}
