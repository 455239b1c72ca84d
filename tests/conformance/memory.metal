// SPDX-License-Identifier: Apache-2.0
// MSL specification, "Address Spaces", "Function Constants" and "Packed Vector Types".
#include <metal_stdlib>
using namespace metal;

constant float table[4] = {1.5f, 2.5f, 3.5f, 4.5f};
constant int3 triple(7, 8, 9);
struct Pair { int a; packed_float3 b; };
constant Pair pairs[2] = {{1, packed_float3(1, 2, 3)}, {2, packed_float3(4, 5, 6)}};

template <class P> int sum(P p, int n) { int s = 0; for (int i = 0; i < n; ++i) s += p[i]; return s; }
void bump(thread int &v) { v += 1; }
void bump(device int &v) { v += 10; }
void bump(threadgroup int &v) { v += 100; }
int which(thread const int *) { return 1; }
int which(device const int *) { return 2; }
int which(threadgroup const int *) { return 3; }
int which(constant const int *) { return 4; }

struct Counter {
  int value;
  int get() const device { return value * 2; }
  int get() const thread { return value * 3; }
  int get() const threadgroup { return value * 4; }
};

kernel void spaces(device int *out [[buffer(0)]], constant int *in [[buffer(1)]], device Counter *counters [[buffer(2)]],
                   threadgroup int *dynamic [[threadgroup(0)]], uint i [[thread_position_in_threadgroup]]) {
  threadgroup int shared_values[64];
  threadgroup Counter shared_counter;
  shared_values[i] = int(i);
  dynamic[i] = int(i) * 2;
  if (i == 0) shared_counter.value = 5;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  int own[4] = {1, 2, 3, int(i)};
  bump(own[0]);
  device int *o = out + i * 16;
  o[0] = own[0];
  o[1] = 0; bump(o[1]);
  o[2] = sum(in, 4); o[3] = sum(own, 4); o[4] = sum(shared_values, 64); o[5] = sum(dynamic, 64);
  o[6] = which(own) * 1000 + which(out) * 100 + which(dynamic) * 10 + which(in);
  o[7] = int(table[i % 4] * 2); o[8] = triple.y + pairs[i % 2].a + int(pairs[i % 2].b.z);
  Counter mine = counters[i % 2];
  o[9] = mine.get(); o[10] = counters[i % 2].get(); o[11] = shared_counter.get();
  device int *chosen = i % 2 ? o + 13 : o + 12;
  o[12] = o[13] = 0;
  *chosen = 77;
  o[14] = shared_values[63 - i];
  thread int *p = &own[1];
  p[1] = 40;
  o[15] = own[2];
}
// Rotates values through threadgroup memory with a barrier in a loop.
kernel void rotate_values(device int *values [[buffer(0)]], uint i [[thread_position_in_threadgroup]],
                          uint n [[threads_per_threadgroup]]) {
  threadgroup int ring[128];
  ring[i] = values[i];
  for (uint k = 0; k < 5; ++k) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    int next = ring[(i + 1) % n];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ring[i] = next;
  }
  values[i] = ring[i];
}

constant bool flag [[function_constant(0)]];
constant int number [[function_constant(1)]];
constant float3 colour [[function_constant(2)]];
constant ushort2 small [[function_constant(3)]];
constant int derived = number * 2 + 1;
constant bool has_number = is_function_constant_defined(number);
constant int or_default = has_number ? number : 99;
constant half fraction [[function_constant(4)]];
constant uchar4 bytes [[function_constant(5)]];
kernel void constants(device float *out [[buffer(0)]], device float *extra [[buffer(1), function_constant(flag)]],
                      uint i [[thread_position_in_grid]]) {
  out[0] = flag; out[1] = or_default; out[2] = colour.y; out[3] = small.y; out[4] = has_number ? derived : -1;
  out[5] = float(fraction); out[6] = bytes.w;
  if (flag) extra[0] = 5;
}

template <class P, class T, int N> kernel void packed_kernel(device const P *in [[buffer(0)]], device P *out [[buffer(1)]],
                                                             device T *flat [[buffer(2)]],
                                                             uint i [[thread_position_in_grid]]) {
  P p = in[i];
  vec<T, N> v = p;
  out[3 * i] = v * vec<T, N>(2);
  p[N - 1] = T(5);
  p.x = v.y;
  out[3 * i + 1] = p;
  out[3 * i + 2] = P(v.yx.x);
  out[3 * i + 2].y = in[i][0];
  for (int k = 0; k < N; ++k) flat[i * N + k] = (in[i] + in[i + 1])[k];
}
#define PACKED(T, N) template [[host_name("packed_" #T #N)]] kernel void packed_kernel<packed_##T##N, T, N>( \
    device const packed_##T##N *, device packed_##T##N *, device T *, uint);
#define EACH(T) PACKED(T, 2) PACKED(T, 3) PACKED(T, 4)
EACH(char) EACH(uchar) EACH(short) EACH(ushort) EACH(int) EACH(uint) EACH(half) EACH(float) EACH(long)
