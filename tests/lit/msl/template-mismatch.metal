#include <metal_stdlib>
using namespace metal;
template <class T, int N> T sum(vec<T, N> v);
kernel void k(device float *a) {
  a[0] = sum(a[1]);
}
