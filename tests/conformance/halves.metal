// SPDX-License-Identifier: Apache-2.0
// What is another function of the library on other types: packing of halves, which must agree with that of floats
// (functions.metal), and the few names that only matter to a GPU's compiler. Each kernel sets a bit for what differs.
#include <metal_stdlib>
using namespace metal;

template <class T, class U> bool same(T a, U b) {
  return all(a == T(b)); // A NaN does not come out of unpacking.
}

#define CHECK(condition) failures |= (condition) ? 0u : 1u << bit; ++bit
kernel void packing(device const uint *words [[buffer(0)]], device const float4 *values [[buffer(1)]],
                    device uint *out [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  uint failures = 0, bit = 0;
  const half4 h = half4(values[i]);
  const float4 f = float4(h);
  CHECK(pack_half_to_unorm4x8(h) == pack_float_to_unorm4x8(f));
  CHECK(pack_half_to_snorm4x8(h) == pack_float_to_snorm4x8(f));
  CHECK(pack_half_to_srgb_unorm4x8(h) == pack_float_to_srgb_unorm4x8(f));
  CHECK(pack_half_to_unorm2x16(h.xy) == pack_float_to_unorm2x16(f.xy));
  CHECK(pack_half_to_snorm2x16(h.xy) == pack_float_to_snorm2x16(f.xy));
  CHECK(pack_half_to_unorm10a2(h) == pack_float_to_unorm10a2(f));
  CHECK(pack_half_to_unorm565(h.xyz) == pack_float_to_unorm565(f.xyz));
  const uint w = words[i];
  CHECK(same(unpack_unorm4x8_to_half(w), unpack_unorm4x8_to_float(w)));
  CHECK(same(unpack_snorm4x8_to_half(w), unpack_snorm4x8_to_float(w)));
  CHECK(same(unpack_unorm4x8_srgb_to_half(w), unpack_unorm4x8_srgb_to_float(w)));
  CHECK(same(unpack_unorm2x16_to_half(w), unpack_unorm2x16_to_float(w)));
  CHECK(same(unpack_snorm2x16_to_half(w), unpack_snorm2x16_to_float(w)));
  CHECK(same(unpack_unorm10a2_to_half(w), unpack_unorm10a2_to_float(w)));
  CHECK(same(unpack_unorm565_to_half(ushort(w)), unpack_unorm565_to_float(ushort(w))));
  out[i] = failures;
}

kernel void names(device const float *a [[buffer(0)]], device uint *out [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
  uint failures = 0, bit = 0;
  CHECK(mad(float2(a[0]), 2, 1).y == 15);
  CHECK(!simd_is_helper_thread() && !quad_is_helper_thread());
  const uniform<float> u = make_uniform(a[0]);
  CHECK(is_uniform(u) && u == a[0]);
  const simdgroup_float8x8 diagonal = make_diagonal_simdgroup_matrix<float, 8, 8>(3.0f);
  threadgroup float tile[64];
  simdgroup_store(diagonal, tile, 8);
  simdgroup_barrier(mem_flags::mem_threadgroup);
  CHECK(tile[(i % 8) * 9] == 3.0f && tile[(i % 8) * 8 + (i + 1) % 8] == 0.0f);
  out[i] = failures;
}

// What clang has built in and sources for several compilers use. 20 results a thread.
kernel void builtins(device const int2 *in [[buffer(0)]], device int *out [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
  const int a = in[i].x, b = in[i].y;
  device int *o = out + i * 20;
  int s;
  uint u;
  long l;
  *o++ = __builtin_add_overflow(a, b, &s); *o++ = s;
  *o++ = __builtin_sub_overflow(a, b, &s); *o++ = s;
  *o++ = __builtin_mul_overflow(a, b, &s); *o++ = s;
  *o++ = __builtin_add_overflow(uint(a), uint(b), &u); *o++ = int(u);
  *o++ = __builtin_sub_overflow(uint(a), uint(b), &u); *o++ = int(u);
  *o++ = __builtin_mul_overflow(uint(a), uint(b), &u); *o++ = int(u);
  *o++ = __builtin_mul_overflow(long(a) << 20, long(b), &l); *o++ = int(l >> 20);
  if (__builtin_expect(a > b, 1)) [[likely]]
    *o++ = 1;
  else [[unlikely]]
    *o++ = 2;
  *o++ = __builtin_popcount(uint(a)) + __builtin_clz(uint(a) | 1) + __builtin_ctz(uint(b) | 1);
  *o++ = int(__builtin_bswap32(uint(a)));
  *o++ = __builtin_constant_p(a) ? 1 : 2;
  *o++ = as_type<int>(__builtin_expf(float(a & 7)));
  *o = 5;
  if (a == b)
    __builtin_trap();
  *o = 6;
}
