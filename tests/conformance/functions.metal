// SPDX-License-Identifier: Apache-2.0
// MSL specification, "Metal Standard Library": integer, common, relational, math and geometric functions. The
// host computes each again; vectors must give their components' results.
#include <metal_stdlib>
using namespace metal;

#define EACH_INTEGER(op) \
  op(0, abs(a)) op(1, absdiff(a, b)) op(2, addsat(a, b)) op(3, subsat(a, b)) op(4, clz(a)) op(5, ctz(a)) \
  op(6, popcount(a)) op(7, reverse_bits(a)) op(8, hadd(a, b)) op(9, rhadd(a, b)) op(10, mulhi(a, b)) \
  op(11, madhi(a, b, c)) op(12, madsat(a, b, c)) op(13, max(a, b)) op(14, min(a, b)) op(15, max3(a, b, c)) \
  op(16, min3(a, b, c)) op(17, median3(a, b, c)) op(18, clamp(a, min(b, c), max(b, c))) op(19, rotate(a, b)) \
  op(20, extract_bits(a, 2, 5)) op(21, insert_bits(a, b, 1, 4)) op(22, select(a, b, c > b))

template <class T, int N> uint integer_vectors(device const T *pa, device const T *pb, device const T *pc) {
  vec<T, N> a, b, c;
  for (int i = 0; i < N; ++i) { a[i] = pa[i]; b[i] = pb[i]; c[i] = pc[i]; }
  uint wrong = 0;
#define COMPARE(k, e) { vec<T, N> v = vec<T, N>(e); for (int i = 0; i < N; ++i) { \
    T a = pa[i], b = pb[i], c = pc[i]; wrong |= uint(v[i] != T(e)) << k; } }
  EACH_INTEGER(COMPARE)
#undef COMPARE
  return wrong;
}
template <class T> kernel void integers(device const T *pa [[buffer(0)]], device const T *pb [[buffer(1)]],
                                        device const T *pc [[buffer(2)]], device T *out [[buffer(3)]],
                                        device uint *wrong [[buffer(4)]], uint i [[thread_position_in_grid]]) {
  T a = pa[i], b = pb[i], c = pc[i];
#define STORE(k, e) out[i * 23 + k] = T(e);
  EACH_INTEGER(STORE)
#undef STORE
  wrong[i] = integer_vectors<T, 2>(pa + i, pb + i, pc + i) | integer_vectors<T, 3>(pa + i, pb + i, pc + i) |
             integer_vectors<T, 4>(pa + i, pb + i, pc + i);
}
#define INTEGER(T) template [[host_name("integers_" #T)]] kernel void integers<T>( \
    device const T *, device const T *, device const T *, device T *, device uint *, uint);
INTEGER(char) INTEGER(uchar) INTEGER(short) INTEGER(ushort) INTEGER(int) INTEGER(uint) INTEGER(long) INTEGER(ulong)

kernel void mul24s(device const int *a [[buffer(0)]], device const int *b [[buffer(1)]], device int *out [[buffer(2)]],
                   uint i [[thread_position_in_grid]]) {
  int x = extract_bits(a[i], 0, 24), y = extract_bits(b[i], 0, 24);
  out[4 * i] = mul24(x, y);
  out[4 * i + 1] = mad24(x, y, a[i]);
  out[4 * i + 2] = int(mul24(uint(x) & 0xffffffu, uint(y) & 0xffffffu));
  out[4 * i + 3] = int(mad24(uint(x) & 0xffffffu, uint(y) & 0xffffffu, uint(b[i])));
}

// Of any value a and b, p positive, u in [-1, 1]. U is the type of a, I that of as many ints.
#define EACH_FLOAT(op) \
  op(0, acos(u)) op(1, acosh(p + U(1))) op(2, asin(u)) op(3, asinh(a)) op(4, atan(a)) op(5, atan2(a, b)) \
  op(6, atanh(u)) op(7, ceil(a)) op(8, copysign(a, b)) op(9, cos(a)) op(10, cosh(u)) op(11, cospi(a)) \
  op(12, divide(a, b)) op(13, exp(u)) op(14, exp2(u)) op(15, exp10(u)) op(16, fabs(a)) op(17, fdim(a, b)) \
  op(18, floor(a)) op(19, fma(a, b, u)) op(20, fmax(a, b)) op(21, fmax3(a, b, u)) op(22, fmedian3(a, b, u)) \
  op(23, fmin(a, b)) op(24, fmin3(a, b, u)) op(25, fmod(a, b)) op(26, fract(a)) op(27, ldexp(a, I(3))) \
  op(28, log(p)) op(29, log10(p)) op(30, log2(p)) op(31, nextafter(a, b)) op(32, pow(p, u)) op(33, powr(p, u)) \
  op(34, rint(a)) op(35, round(a)) op(36, rsqrt(p)) op(37, sin(a)) op(38, sinh(u)) op(39, sinpi(a)) \
  op(40, sqrt(p)) op(41, tan(u)) op(42, tanh(a)) op(43, tanpi(u * U(0.25f))) op(44, trunc(a)) \
  op(45, clamp(a, U(-1), p)) op(46, mix(a, b, U(0.25f))) op(47, saturate(a)) op(48, sign(a)) \
  op(49, smoothstep(U(-1), U(2), a)) op(50, step(b, a)) op(51, max(a, b)) op(52, min(a, b)) op(53, abs(a)) \
  op(54, select(a, b, a < b)) op(55, median3(a, b, p)) op(56, max3(a, b, u)) op(57, min3(a, b, p))

template <class T> bool same(T a, T b) { return a == b || (isnan(a) && isnan(b)); }

template <class T, int N> ulong float_vectors(device const T *pa, device const T *pb, device const T *pp,
                                              device const T *pu) {
  typedef vec<T, N> U;
  typedef vec<int, N> I;
  U a, b, p, u;
  for (int i = 0; i < N; ++i) { a[i] = pa[i]; b[i] = pb[i]; p[i] = pp[i]; u[i] = pu[i]; }
  ulong wrong = 0;
#define COMPARE(k, e) { U v = e; for (int i = 0; i < N; ++i) { typedef T U; typedef int I; \
    T a = pa[i], b = pb[i], p = pp[i], u = pu[i]; T s = T(e); wrong |= ulong(!same(T(v[i]), s)) << k; } }
  EACH_FLOAT(COMPARE)
#undef COMPARE
  return wrong;
}

template <class T> kernel void floats(device const T *pa [[buffer(0)]], device const T *pb [[buffer(1)]],
                                      device const T *pp [[buffer(2)]], device const T *pu [[buffer(3)]],
                                      device T *out [[buffer(4)]], device ulong *wrong [[buffer(5)]],
                                      uint i [[thread_position_in_grid]]) {
  typedef T U; typedef int I;
  T a = pa[i], b = pb[i], p = pp[i], u = pu[i];
#define STORE(k, e) out[i * 58 + k] = T(e);
  EACH_FLOAT(STORE)
#undef STORE
  wrong[i] = float_vectors<T, 3>(pa + i, pb + i, pp + i, pu + i);
}
template [[host_name("floats_float")]] kernel void floats<float>(device const float *, device const float *,
    device const float *, device const float *, device float *, device ulong *, uint);
template [[host_name("floats_half")]] kernel void floats<half>(device const half *, device const half *,
    device const half *, device const half *, device half *, device ulong *, uint);

// Functions with two results, and those whose result has another type.
kernel void pairs(device const float *pa [[buffer(0)]], device const float *pb [[buffer(1)]],
                  device float *out [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  float a = pa[i], b = pb[i], whole, c;
  int e;
  device float *o = out + i * 20;
  *o++ = frexp(a, e); *o++ = e;
  *o++ = modf(a, whole); *o++ = whole;
  *o++ = sincos(a, c); *o++ = c;
  *o++ = ilogb(a);
  *o++ = isfinite(a); *o++ = isinf(a); *o++ = isnan(a); *o++ = isnormal(a); *o++ = signbit(a);
  *o++ = isordered(a, b); *o++ = isunordered(a, b);
  *o++ = all(bool3(a > 0, b > 0, true)); *o++ = any(bool3(a > 0, b > 0, false));
  float2 f2; int2 e2;
  f2 = frexp(float2(a, b), e2);
  *o++ = f2.y; *o++ = e2.y;
  *o++ = float(half(a)); *o++ = float(bfloat(a));
}

kernel void geometry(device const float4 *pa [[buffer(0)]], device const float4 *pb [[buffer(1)]],
                     device float4 *out [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  float4 a = pa[i], b = pb[i];
  device float4 *o = out + i * 10;
  *o++ = float4(dot(a, b), dot(a.xyz, b.xyz), dot(a.xy, b.xy), length(a));
  *o++ = float4(length(a.xyz), length_squared(a), distance(a, b), distance_squared(a, b));
  *o++ = float4(cross(a.xyz, b.xyz), 0);
  *o++ = normalize(a);
  *o++ = reflect(a, normalize(b));
  *o++ = refract(normalize(a), normalize(b), 0.75f);
  *o++ = faceforward(a, b, a + b);
  *o++ = float4(normalize(a.xyz), fast::length(a.xy));
  *o++ = float4(float2(dot(half4(a), half4(b)), length(half2(a.xy))), 0, 0);
  *o++ = float4(distance(a.xy, b.xy), precise::normalize(a.xyz));
}

kernel void packing(device const float4 *pa [[buffer(0)]], device uint *out [[buffer(1)]],
                    device float4 *back [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  float4 a = pa[i];
  device uint *o = out + i * 8;
  o[0] = pack_float_to_unorm4x8(a); o[1] = pack_float_to_snorm4x8(a);
  o[2] = pack_float_to_unorm2x16(a.xy); o[3] = pack_float_to_snorm2x16(a.xy);
  o[4] = pack_float_to_unorm10a2(a); o[5] = pack_float_to_unorm565(a.xyz);
  o[6] = pack_float_to_srgb_unorm4x8(a); o[7] = pack_half_to_unorm4x8(half4(a));
  device float4 *r = back + i * 8;
  r[0] = unpack_unorm4x8_to_float(o[0]); r[1] = unpack_snorm4x8_to_float(o[1]);
  r[2] = float4(unpack_unorm2x16_to_float(o[2]), 0, 0); r[3] = float4(unpack_snorm2x16_to_float(o[3]), 0, 0);
  r[4] = unpack_unorm10a2_to_float(o[4]); r[5] = float4(unpack_unorm565_to_float(ushort(o[5])), 0);
  r[6] = unpack_unorm4x8_srgb_to_float(o[6]); r[7] = float4(unpack_unorm4x8_to_half(o[7]));
}
