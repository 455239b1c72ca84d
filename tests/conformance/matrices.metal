// SPDX-License-Identifier: Apache-2.0
// MSL specification, "Matrix Data Types" and "Matrix Functions": construction, access, algebra of every shape.
#include <metal_stdlib>
using namespace metal;

template <class T, int C, int R> matrix<T, C, R> load(device const float *in) {
  matrix<T, C, R> m;
  for (int c = 0; c < C; ++c)
    for (int r = 0; r < R; ++r)
      m[c][r] = T(in[c * R + r]);
  return m;
}
template <class T, int C, int R> device float *store(device float *out, matrix<T, C, R> m) {
  for (int c = 0; c < C; ++c)
    for (int r = 0; r < R; ++r)
      *out++ = float(m[c][r]);
  return out;
}
template <class T, int N> device float *store(device float *out, vec<T, N> v) {
  for (int i = 0; i < N; ++i) *out++ = float(v[i]);
  return out;
}

// in: two matrices of C columns and R rows, one of K columns and C rows, a column vector, a row vector.
template <class T, int C, int R, int K> void algebra(device const float *in, device float *out) {
  matrix<T, C, R> a = load<T, C, R>(in), b = load<T, C, R>(in + C * R);
  matrix<T, K, C> k = load<T, K, C>(in + 2 * C * R);
  device const float *rest = in + 2 * C * R + K * C;
  vec<T, C> v;
  vec<T, R> w;
  for (int i = 0; i < C; ++i) v[i] = T(rest[i]);
  for (int i = 0; i < R; ++i) w[i] = T(rest[C + i]);
  out = store(out, a + b);
  out = store(out, a - b);
  out = store(out, a * k);
  out = store(out, a * T(2));
  out = store(out, T(3) * b);
  out = store(out, a * v);
  out = store(out, w * a);
  out = store(out, transpose(a));
  out = store(out, -a);
  matrix<T, C, R> c = a;
  c += b; c -= a; c *= T(2);
  out = store(out, c);
  c[C - 1] = w;
  c[0][R - 1] = T(9);
  out = store(out, c);
  *out++ = a == a && a != b;
}
#define SHAPE(C, R) kernel void algebra_##C##R(device const float *in [[buffer(0)]], device float *out [[buffer(1)]]) { \
    algebra<float, C, R, 2>(in, out); algebra<float, C, R, 3>(in + 100, out + 200); \
    algebra<float, C, R, 4>(in + 200, out + 400); algebra<half, C, R, 3>(in + 300, out + 600); }
SHAPE(2, 2) SHAPE(2, 3) SHAPE(2, 4) SHAPE(3, 2) SHAPE(3, 3) SHAPE(3, 4) SHAPE(4, 2) SHAPE(4, 3) SHAPE(4, 4)

kernel void square(device const float *in [[buffer(0)]], device float *out [[buffer(1)]]) {
  float2x2 a = load<float, 2, 2>(in);
  float3x3 b = load<float, 3, 3>(in);
  float4x4 c = load<float, 4, 4>(in);
  *out++ = determinant(a); *out++ = determinant(b); *out++ = determinant(c);
  out = store(out, float2x2(in[0]));
  out = store(out, float3x3(in[0]));
  out = store(out, float2x3(float3(in[0], in[1], in[2]), float3(in[3], in[4], in[5])));
  out = store(out, float4x2(in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7]));
  out = store(out, float3x3(half3x3(b)));
}
