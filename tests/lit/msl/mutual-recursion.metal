#include <metal_stdlib>
using namespace metal;
int odd(int n);
int even(int n) { return n == 0 ? 1 : 1 + odd(n - 1) * even(n - 2); }
int odd(int n) { return n == 0 ? 0 : 2 + even(n - 1) * odd(n - 2); }
kernel void k(device int *o) {
  o[0] = even(o[1]);
}
