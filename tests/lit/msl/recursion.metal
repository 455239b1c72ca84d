#include <metal_stdlib>
using namespace metal;
int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
kernel void k(device int *o) {
  o[0] = fibonacci(o[1]);
}
