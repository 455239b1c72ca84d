// SPDX-License-Identifier: Apache-2.0
// MSL specification, "Atomic Functions": every operation of every type, in device and threadgroup memory, with
// all threads at one place.
#include <metal_stdlib>
using namespace metal;

#define RELAXED memory_order_relaxed

// cells: add, sub, min, max, and, or, xor, exchange, compare-exchange. was: the sum of what add gave back.
template <class A, class T> void everything(A cells, T v, uint i) {
  atomic_fetch_add_explicit(cells + 0, v, RELAXED);
  atomic_fetch_sub_explicit(cells + 1, v, RELAXED);
  atomic_fetch_min_explicit(cells + 2, v, RELAXED);
  atomic_fetch_max_explicit(cells + 3, v, RELAXED);
  atomic_fetch_and_explicit(cells + 4, v, RELAXED);
  atomic_fetch_or_explicit(cells + 5, v, RELAXED);
  atomic_fetch_xor_explicit(cells + 6, v, RELAXED);
  T was = atomic_exchange_explicit(cells + 7, v, RELAXED);
  atomic_fetch_add_explicit(cells + 8, was, RELAXED);
  // A sum by compare-exchange.
  T seen = atomic_load_explicit(cells + 9, RELAXED);
  while (!atomic_compare_exchange_weak_explicit(cells + 9, &seen, T(seen + v), RELAXED, RELAXED)) {}
  // Each thread gets a ticket of its own.
  T ticket = atomic_fetch_add_explicit(cells + 10, T(1), RELAXED);
  atomic_fetch_xor_explicit(cells + 11, ticket, RELAXED);
}

kernel void device_int(device atomic_int *cells [[buffer(0)]], device const int *in [[buffer(1)]],
                       uint i [[thread_position_in_grid]]) { everything(cells, in[i], i); }
kernel void device_uint(device atomic_uint *cells [[buffer(0)]], device const uint *in [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) { everything(cells, in[i], i); }

#define LOCAL(T) kernel void threadgroup_##T(device T *cells [[buffer(0)]], device const T *in [[buffer(1)]], \
                                             uint i [[thread_position_in_threadgroup]]) { \
  threadgroup atomic_##T local[12]; \
  if (i < 12) atomic_store_explicit(local + i, cells[i], RELAXED); \
  threadgroup_barrier(mem_flags::mem_threadgroup); \
  everything(local, in[i], i); \
  threadgroup_barrier(mem_flags::mem_threadgroup); \
  if (i < 12) cells[i] = atomic_load_explicit(local + i, RELAXED); }
LOCAL(int) LOCAL(uint)

kernel void floats(device atomic_float *cells [[buffer(0)]], device const float *in [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit(cells + 0, in[i], RELAXED);
  atomic_fetch_sub_explicit(cells + 1, in[i], RELAXED);
  float seen = atomic_load_explicit(cells + 2, RELAXED);
  while (!atomic_compare_exchange_weak_explicit(cells + 2, &seen, max(seen, in[i]), RELAXED, RELAXED)) {}
  float was = atomic_exchange_explicit(cells + 3, in[i], RELAXED);
  atomic_fetch_add_explicit(cells + 4, was, RELAXED);
}
kernel void wide(device atomic_ulong *cells [[buffer(0)]], device const ulong *in [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
  atomic_min_explicit(cells + 0, in[i], RELAXED);
  atomic_max_explicit(cells + 1, in[i], RELAXED);
}
kernel void flags(device atomic_bool *cells [[buffer(0)]], device uint *out [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
  bool was = atomic_exchange_explicit(cells, true, RELAXED);
  if (!was) atomic_fetch_add_explicit((device atomic_uint *)out, 1u, RELAXED);
  atomic_store_explicit(cells + 1, true, RELAXED);
  if (atomic_load_explicit(cells, RELAXED)) atomic_fetch_add_explicit((device atomic_uint *)(out + 1), 1u, RELAXED);
}
// A count by threads that are not all active, and one cell a lane.
kernel void some(device atomic_uint *cells [[buffer(0)]], device const uint *in [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
  if (in[i] % 3 == 0) atomic_fetch_add_explicit(cells, 1u, RELAXED);
  atomic_fetch_add_explicit(cells + 1 + in[i] % 61, in[i], RELAXED);
}
