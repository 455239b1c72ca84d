#include <metal_stdlib>
using namespace metal;
struct S {
  int x;
};
constant S s [[function_constant(0)]];
kernel void k(device int *o) {
  o[0] = s.x;
}
