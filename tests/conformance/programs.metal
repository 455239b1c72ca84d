// SPDX-License-Identifier: Apache-2.0
// MSL specification, "Functions and Variables": what programs declare beside `using namespace metal`, recursion
// that ends a function, and scalars where the library has vectors.
#include <TargetConditionals.h>
#include <metal_stdlib>
using namespace metal;

constant bool forward [[function_constant(0)]];
constant int move = TARGET_OS_MAC;
template <class T> void swap(thread T &a, thread T &b) {
  T kept = a;
  a = b;
  b = kept;
}

struct Walker {
  int place = 0, wraps = 0;
  void next(int n, constant int &size) thread {
    place += n;
    if (place >= size) {
      int extra = place - size;
      place = 0;
      wraps++;
      if (extra > 0)
        next(extra, size);
    }
  }
};
static int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }

kernel void walk(device int4 *out [[buffer(0)]], constant int &size [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  Walker walker;
  walker.next(int(i) * 3 + move, size);
  if (forward)
    swap(walker.place, walker.wraps);
  out[i] = int4(walker.place, walker.wraps, gcd(int(i) * 12, 90), 0);
}

kernel void scalars(device float4 *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  float4 v = float4(i) + float4(0, 1, 2, 3) - 4;
  out[5 * i] = select(0, v, v > 1);
  out[5 * i + 1] = max(v, 0);
  out[5 * i + 2] = clamp(v, -1, 1);
  out[5 * i + 3] = mix(v, 0, 0.5f);
  out[5 * i + 4] = step(0, v) + pow(v, 2);
}
