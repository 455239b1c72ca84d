// SPDX-License-Identifier: Apache-2.0
// MSL specification, "Operators": each on scalars, whose results the host computes again, and on vectors,
// whose components must be those scalars.
#include <metal_stdlib>
using namespace metal;

template <class T, int N> struct Check {
  static uint run(device const T *a, device const T *b, thread const T *scalars, uint bits);
};

#define EACH_INTEGER(op) \
  op(0, a + b) op(1, a - b) op(2, a * b) op(3, a / b) op(4, a % b) op(5, a & b) op(6, a | b) \
  op(7, a ^ b) op(8, ~a) op(9, -a) op(10, +a) op(11, a << (b & T(bits))) op(12, a >> (b & T(bits)))
#define EACH_COMPARE(op) \
  op(0, a < b) op(1, a > b) op(2, a <= b) op(3, a >= b) op(4, a == b) op(5, a != b) op(6, !a) \
  op(7, a && b) op(8, a || b)
#define EACH_FLOAT(op) op(0, a + b) op(1, a - b) op(2, a * b) op(3, a / b) op(4, -a) op(5, +a)

template <class T, int N> uint integer_vectors(device const T *pa, device const T *pb, T bits) {
  vec<T, N> a, b;
  for (int i = 0; i < N; ++i) { a[i] = pa[i]; b[i] = pb[i]; }
  uint wrong = 0;
#define COMPARE(k, e) { vec<T, N> v = e; for (int i = 0; i < N; ++i) { \
    T a = pa[i], b = pb[i]; wrong += v[i] != T(e); } }
  EACH_INTEGER(COMPARE)
#undef COMPARE
#define COMPARE(k, e) { vec<bool, N> v = e; for (int i = 0; i < N; ++i) { \
    T a = pa[i], b = pb[i]; wrong += v[i] != bool(e); } }
  EACH_COMPARE(COMPARE)
#undef COMPARE
  // Assignments, steps, a scalar on either side.
  vec<T, N> v = a;
  v += b; v -= T(3); v *= b; v |= T(1); v &= ~b; v ^= a; ++v; v++; --v; v = T(2) + v * T(5); v <<= T(1); v >>= T(1);
  for (int i = 0; i < N; ++i) {
    T s = pa[i], a = pa[i], b = pb[i];
    s += b; s -= T(3); s *= b; s |= T(1); s &= ~b; s ^= a; ++s; s++; --s; s = T(2) + s * T(5); s <<= T(1); s >>= T(1);
    wrong += v[i] != s;
  }
  // A conditional of vectors, and comparisons of whole ones.
  vec<T, N> w = a[0] < b[0] ? a : b;
  for (int i = 0; i < N; ++i) wrong += w[i] != (pa[0] < pb[0] ? pa[i] : pb[i]);
  wrong += !all(a == a) + any(a != a);
  return wrong;
}

template <class T> kernel void integer_operators(device const T *pa [[buffer(0)]],
                                                 device const T *pb [[buffer(1)]],
                                                 device T *out [[buffer(2)]], device uint *flags [[buffer(3)]],
                                                 device uint *wrong [[buffer(4)]],
                                                 uint i [[thread_position_in_grid]]) {
  const T bits = T(sizeof(T) * 8 - 1);
  T a = pa[i], b = pb[i];
#define STORE(k, e) out[i * 13 + k] = T(e);
  EACH_INTEGER(STORE)
#undef STORE
  uint f = 0;
#define STORE(k, e) f |= uint(e) << k;
  EACH_COMPARE(STORE)
#undef STORE
  flags[i] = f;
  wrong[i] = integer_vectors<T, 2>(pa + i, pb + i, bits) + integer_vectors<T, 3>(pa + i, pb + i, bits) +
             integer_vectors<T, 4>(pa + i, pb + i, bits);
}

template <class T, int N> uint float_vectors(device const T *pa, device const T *pb) {
  vec<T, N> a, b;
  for (int i = 0; i < N; ++i) { a[i] = pa[i]; b[i] = pb[i]; }
  uint wrong = 0;
#define COMPARE(k, e) { vec<T, N> v = e; for (int i = 0; i < N; ++i) { \
    T a = pa[i], b = pb[i]; wrong += v[i] != T(e); } }
  EACH_FLOAT(COMPARE)
#undef COMPARE
#define COMPARE(k, e) { vec<bool, N> v = e; for (int i = 0; i < N; ++i) { \
    T a = pa[i], b = pb[i]; wrong += v[i] != bool(e); } }
  EACH_COMPARE(COMPARE)
#undef COMPARE
  vec<T, N> v = a;
  v += b; v -= T(3); v *= b; v /= T(2); ++v; v--; v = T(2) - v;
  for (int i = 0; i < N; ++i) {
    T s = pa[i], b = pb[i];
    s += b; s -= T(3); s *= b; s /= T(2); ++s; s--; s = T(2) - s;
    wrong += v[i] != s;
  }
  return wrong;
}

template <class T> kernel void float_operators(device const T *pa [[buffer(0)]],
                                               device const T *pb [[buffer(1)]], device T *out [[buffer(2)]],
                                               device uint *flags [[buffer(3)]],
                                               device uint *wrong [[buffer(4)]],
                                               uint i [[thread_position_in_grid]]) {
  T a = pa[i], b = pb[i];
#define STORE(k, e) out[i * 6 + k] = T(e);
  EACH_FLOAT(STORE)
#undef STORE
  uint f = 0;
#define STORE(k, e) f |= uint(e) << k;
  EACH_COMPARE(STORE)
#undef STORE
  flags[i] = f;
  wrong[i] = float_vectors<T, 2>(pa + i, pb + i) + float_vectors<T, 3>(pa + i, pb + i) +
             float_vectors<T, 4>(pa + i, pb + i);
}

#define INTEGER(T) template [[host_name("integer_" #T)]] kernel void integer_operators<T>( \
    device const T *, device const T *, device T *, device uint *, device uint *, uint);
INTEGER(char) INTEGER(uchar) INTEGER(short) INTEGER(ushort) INTEGER(int) INTEGER(uint) INTEGER(long) INTEGER(ulong)
#define FLOAT(T) template [[host_name("float_" #T)]] kernel void float_operators<T>( \
    device const T *, device const T *, device T *, device uint *, device uint *, uint);
FLOAT(float) FLOAT(half) FLOAT(bfloat)
