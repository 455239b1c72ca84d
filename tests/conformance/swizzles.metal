// SPDX-License-Identifier: Apache-2.0
// MSL specification, "Accessing Vector Components": every swizzle that can be read, every one that can be
// written, and the constructors. A component is told by its value, 1 to 4.
#include <metal_stdlib>
using namespace metal;

uint code(uint2 v) { return v.x + 5 * v.y; }
uint code(uint3 v) { return v.x + 5 * v.y + 25 * v.z; }
uint code(uint4 v) { return v.x + 5 * v.y + 25 * v.z + 125 * v.w; }

#define READ(s) *out++ = code(uint_of(v.s));
#define LAST4(p) READ(p##x) READ(p##y) READ(p##z) READ(p##w)
#define TWO4(p) LAST4(p##x) LAST4(p##y) LAST4(p##z) LAST4(p##w)
#define THREE4(p) TWO4(p##x) TWO4(p##y) TWO4(p##z) TWO4(p##w)
#define LAST3(p) READ(p##x) READ(p##y) READ(p##z)
#define TWO3(p) LAST3(p##x) LAST3(p##y) LAST3(p##z)
#define THREE3(p) TWO3(p##x) TWO3(p##y) TWO3(p##z)
#define LAST2(p) READ(p##x) READ(p##y)
#define TWO2(p) LAST2(p##x) LAST2(p##y)
#define THREE2(p) TWO2(p##x) TWO2(p##y)
#define COLOUR(s) *out++ = code(uint_of(v.s));

template <class T, int N> vec<uint, N> uint_of(vec<T, N> v) { return vec<uint, N>(v); }

template <class T> kernel void read_swizzles(device const T *in [[buffer(0)]], device uint *out [[buffer(1)]]) {
  {
    vec<T, 4> v(in[0], in[1], in[2], in[3]);
    LAST4(x) LAST4(y) LAST4(z) LAST4(w) TWO4(x) TWO4(y) TWO4(z) TWO4(w) THREE4(x) THREE4(y) THREE4(z) THREE4(w)
  }
  {
    vec<T, 3> v(in[0], in[1], in[2]);
    LAST3(x) LAST3(y) LAST3(z) TWO3(x) TWO3(y) TWO3(z) THREE3(x) THREE3(y) THREE3(z)
  }
  {
    vec<T, 2> v(in[0], in[1]);
    LAST2(x) LAST2(y) TWO2(x) TWO2(y) THREE2(x) THREE2(y)
  }
  {
    vec<T, 4> v(in[0], in[1], in[2], in[3]);
    COLOUR(rg) COLOUR(bgr) COLOUR(abgr) COLOUR(rrrr) COLOUR(gbar)
  }
}
#define EACH(T) template [[host_name("read_" #T)]] kernel void read_swizzles<T>(device const T *, device uint *);
#define EVERY_TYPE \
  EACH(float) EACH(half) EACH(bfloat) EACH(char) EACH(uchar) EACH(short) EACH(ushort) EACH(int) EACH(uint) EACH(long) \
  EACH(ulong)
EVERY_TYPE
#undef EACH

#define WRITE2(s) { vec<T, 4> v(in[0], in[1], in[2], in[3]); v.s = vec<T, 2>(in[4], in[5]); *out++ = code9(v); }
#define WRITE3(s) { vec<T, 4> v(in[0], in[1], in[2], in[3]); v.s = vec<T, 3>(in[4], in[5], in[6]); *out++ = code9(v); }
#define WRITE4(s) { vec<T, 4> v(in[0], in[1], in[2], in[3]); v.s = vec<T, 4>(in[4], in[5], in[6], in[7]); *out++ = code9(v); }
template <class T> uint code9(vec<T, 4> v) { return uint(v.x) + 9 * uint(v.y) + 81 * uint(v.z) + 729 * uint(v.w); }

template <class T> kernel void write_swizzles(device const T *in [[buffer(0)]], device uint *out [[buffer(1)]]) {
  WRITE2(xy) WRITE2(xz) WRITE2(xw) WRITE2(yx) WRITE2(yz) WRITE2(yw) WRITE2(zx) WRITE2(zy) WRITE2(zw) WRITE2(wx)
  WRITE2(wy) WRITE2(wz)
  WRITE3(xyz) WRITE3(xyw) WRITE3(xzy) WRITE3(xzw) WRITE3(xwy) WRITE3(xwz) WRITE3(yxz) WRITE3(yxw) WRITE3(yzx)
  WRITE3(yzw) WRITE3(ywx) WRITE3(ywz) WRITE3(zxy) WRITE3(zxw) WRITE3(zyx) WRITE3(zyw) WRITE3(zwx) WRITE3(zwy)
  WRITE3(wxy) WRITE3(wxz) WRITE3(wyx) WRITE3(wyz) WRITE3(wzx) WRITE3(wzy)
  WRITE4(xyzw) WRITE4(xywz) WRITE4(xzyw) WRITE4(xzwy) WRITE4(xwyz) WRITE4(xwzy) WRITE4(yxzw) WRITE4(yxwz)
  WRITE4(yzxw) WRITE4(yzwx) WRITE4(ywxz) WRITE4(ywzx) WRITE4(zxyw) WRITE4(zxwy) WRITE4(zyxw) WRITE4(zywx)
  WRITE4(zwxy) WRITE4(zwyx) WRITE4(wxyz) WRITE4(wxzy) WRITE4(wyxz) WRITE4(wyzx) WRITE4(wzxy) WRITE4(wzyx)
}
#define EACH(T) template [[host_name("write_" #T)]] kernel void write_swizzles<T>(device const T *, device uint *);
EVERY_TYPE
#undef EACH

// Components of vectors in device and threadgroup memory, also under assignments that compute.
template <class T> kernel void place_swizzles(device vec<T, 4> *v [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  threadgroup vec<T, 4> shared_vectors[32];
  const vec<T, 4> start(1, 2, 3, 4);
  v[i] = start;
  shared_vectors[i] = start;
  v[i].zx = v[i].xy;                     // 2 2 1 4
  v[i].wyz += vec<T, 3>(1, 2, 3);        // 2 4 4 5
  v[i].x++;                              // 3 4 4 5
  v[i].yw *= T(2);                       // 3 8 4 10
  shared_vectors[i].xyzw = v[i].wzyx;    // 10 4 8 3
  shared_vectors[i].y -= T(1);           // 10 3 8 3
  shared_vectors[i].rb = shared_vectors[i].gr; // 3 3 10 3
  v[i + 32] = shared_vectors[i];
}
#define EACH(T) template [[host_name("place_" #T)]] kernel void place_swizzles<T>(device vec<T, 4> *, uint);
EVERY_TYPE
#undef EACH

kernel void constructors(device const float *in [[buffer(0)]], device uint *out [[buffer(1)]]) {
  const float a = in[0], b = in[1], c = in[2], d = in[3];
  const float2 ab(a, b), cd(c, d), bc(b, c);
  const float3 abc(a, b, c), bcd(b, c, d);
#define MADE(...) *out++ = code(uint4(__VA_ARGS__));
  MADE(float4(a, b, c, d)) MADE(float4(ab, c, d)) MADE(float4(a, bc, d)) MADE(float4(a, b, cd))
  MADE(float4(ab, cd)) MADE(float4(abc, d)) MADE(float4(a, bcd)) MADE(float4{a, b, c, d})
  MADE(float4(abc.xy, bcd.yz)) MADE(uint4(float4(a, b, c, d))) MADE(half4(float4(abc, d)))
  MADE(float4(float3(ab, c), d)) MADE(float4(packed_float3(abc), d)) MADE(float4(float3(packed_float3(a, b, c)), d))
  float4 v = float4(0);
  v[0] = a; v[1] = b; v.zw = cd;
  MADE(v)
  for (int i = 0; i < 4; ++i) v[i] = in[i];
  MADE(v)
  *out++ = code(uint4(float4(a))) ;
}
