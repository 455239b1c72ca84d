// SPDX-License-Identifier: Apache-2.0
// Sorting: one step of a bitonic network in device memory, many steps of it in threadgroup memory, and a radix
// sort by four bits with ranks from ballots. Exclusive prefix sums of any length by three kernels.
#include <metal_stdlib>
#include <metal_simdgroup>
#include <metal_atomic>
using namespace metal;

struct BitonicParams {
  uint stage, pass;
};

template <typename T> inline void order(device T &a, device T &b, bool ascending) {
  if ((a > b) == ascending) {
    const T kept = a;
    a = b;
    b = kept;
  }
}

kernel void bitonic_step(device float *keys [[buffer(0)]], constant BitonicParams &p [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) {
  const uint distance = 1u << (p.stage - p.pass);
  const uint left = (i & (distance - 1)) + (i >> (p.stage - p.pass)) * (distance << 1);
  order(keys[left], keys[left + distance], ((i >> p.stage) & 1) == 0);
}

constant constexpr uint kBlock = 256;

[[max_total_threads_per_threadgroup(256)]] kernel void bitonic_block(
    device int2 *pairs [[buffer(0)]], uint3 tid [[thread_position_in_threadgroup]],
    uint3 tgid [[threadgroup_position_in_grid]]) {
  threadgroup int2 local[kBlock];
  local[tid.x] = pairs[tgid.x * kBlock + tid.x];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint size = 2; size <= kBlock; size <<= 1) {
    for (uint stride = size / 2; stride > 0; stride /= 2) {
      const uint other = tid.x ^ stride;
      if (other > tid.x) {
        const auto mine = local[tid.x], theirs = local[other];
        const bool less = mine.x < theirs.x || (mine.x == theirs.x && mine.y < theirs.y);
        if (less == bool(tid.x & size)) {
          local[tid.x] = theirs;
          local[other] = mine;
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
  pairs[tgid.x * kBlock + tid.x] = local[tid.x];
}

// Radix sort.
#define RADIX_BITS 4
#define RADIX (1 << RADIX_BITS)

struct RadixParams {
  uint count;
  uint shift;
  uint groups;
};

kernel void radix_count(const device uint *keys [[buffer(0)]], device atomic_uint *counts [[buffer(1)]],
                        constant RadixParams &params [[buffer(2)]], uint gid [[thread_position_in_grid]],
                        uint lid [[thread_index_in_threadgroup]], uint group [[threadgroup_position_in_grid]]) {
  threadgroup atomic_uint bins[RADIX];
  if (lid < RADIX)
    atomic_store_explicit(&bins[lid], 0, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (gid < params.count)
    atomic_fetch_add_explicit(&bins[extract_bits(keys[gid], params.shift, RADIX_BITS)], 1, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (lid < RADIX)
    atomic_store_explicit(&counts[lid * params.groups + group], atomic_load_explicit(&bins[lid], memory_order_relaxed),
                          memory_order_relaxed);
}

kernel void radix_scatter(const device uint *keys [[buffer(0)]], const device uint *offsets [[buffer(1)]],
                          constant RadixParams &params [[buffer(2)]], device uint *sorted [[buffer(3)]],
                          uint gid [[thread_position_in_grid]], uint lid [[thread_index_in_threadgroup]],
                          uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                          uint simd [[simdgroup_index_in_threadgroup]],
                          uint simds [[simdgroups_per_threadgroup]]) {
  threadgroup uint perSimd[8][RADIX];
  const bool valid = gid < params.count;
  const uint key = valid ? keys[gid] : 0;
  const uint digit = valid ? (key >> params.shift) & (RADIX - 1) : RADIX;
  uint rank = 0;
  for (uint d = 0; d < RADIX; ++d) {
    const ulong peers = (ulong)simd_ballot(digit == d);
    if (digit == d)
      rank = popcount(peers & ((1ul << lane) - 1));
    if (lane == 0)
      perSimd[simd][d] = popcount(peers);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (valid) {
    for (uint s = 0; s < simd; ++s)
      rank += perSimd[s][digit];
    sorted[offsets[digit * params.groups + group] + rank] = key;
  }
}

// Prefix sums.
template <typename T, uint N = 32>
inline T scan_threadgroup(T value, threadgroup T *partial, ushort lane, ushort simd, ushort simds) {
  const T inclusive = simd_prefix_inclusive_sum(value);
  if (lane == N - 1)
    partial[simd] = inclusive;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simd == 0) {
    const T sum = lane < simds ? partial[lane] : T(0);
    partial[lane] = simd_prefix_exclusive_sum(sum);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return inclusive - value + partial[simd];
}

template <typename T>
kernel void scan_blocks(device T *values [[buffer(0)]], device T *sums [[buffer(1)]],
                        constant uint &count [[buffer(2)]], uint gid [[thread_position_in_grid]],
                        uint group [[threadgroup_position_in_grid]], ushort lid [[thread_index_in_threadgroup]],
                        ushort lane [[thread_index_in_simdgroup]], ushort simd [[simdgroup_index_in_threadgroup]],
                        ushort simds [[simdgroups_per_threadgroup]], ushort size [[threads_per_threadgroup]]) {
  threadgroup T partial[32];
  const T value = gid < count ? values[gid] : T(0);
  const T before = scan_threadgroup(value, partial, lane, simd, simds);
  if (gid < count)
    values[gid] = before;
  if (lid == size - 1)
    sums[group] = before + value;
}
template <typename T>
kernel void scan_add(device T *values [[buffer(0)]], const device T *sums [[buffer(1)]],
                     constant uint &count [[buffer(2)]], uint gid [[thread_position_in_grid]],
                     uint group [[threadgroup_position_in_grid]]) {
  if (gid < count)
    values[gid] += sums[group];
}
#define INSTANTIATE_SCAN(type)                                                                                         \
  template [[host_name("scan_blocks_" #type)]] kernel void scan_blocks<type>(                                          \
      device type *, device type *, constant uint &, uint, uint, ushort, ushort, ushort, ushort, ushort);              \
  template [[host_name("scan_add_" #type)]] kernel void scan_add<type>(device type *, const device type *,             \
                                                                       constant uint &, uint, uint);
INSTANTIATE_SCAN(uint)
INSTANTIATE_SCAN(float)
