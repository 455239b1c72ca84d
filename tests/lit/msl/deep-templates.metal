#include <metal_stdlib>
using namespace metal;
template <int N> struct deep {
  static constexpr constant int value = deep<N + 1>::value;
};
kernel void k(device int *o) {
  o[0] = deep<0>::value;
}
