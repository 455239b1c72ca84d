#include <metal_stdlib>
using namespace metal;
template <class T> T half_of(T x) {
  static_assert(is_floating_point_v<T>, "half_of needs a floating-point type");
  return x / 2;
}
kernel void k(device int *a) {
  a[0] = half_of(a[1]);
}
