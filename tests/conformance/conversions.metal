// SPDX-License-Identifier: Apache-2.0
// MSL specification, "Type Conversions and Re-interpreting Data": every scalar type to every other, as scalars
// and as vectors. Conversions to integers of values that do not fit are left to the implementation; here
// they saturate, and NaN becomes 0.
#include <metal_stdlib>
using namespace metal;

template <class T> T as_bits(T x) { return x; }
ushort as_bits(half x) { return isnan(x) ? ushort(0x7e00) : as_type<ushort>(x); }
ushort as_bits(bfloat x) { return isnan(float(x)) ? ushort(0x7fc0) : as_type<ushort>(x); }
uint as_bits(float x) { return isnan(x) ? 0x7fc00000u : as_type<uint>(x); }

template <class S, class D> void convert(device const S *in, device D *out, device uint *wrong, uint i) {
  out[i] = D(in[i]);
  vec<S, 4> v4(in[i], in[i + 1], in[i + 2], in[i + 3]);
  vec<S, 3> v3 = v4.yzw;
  vec<S, 2> v2 = v4.xw;
  vec<D, 4> r4 = vec<D, 4>(v4);
  vec<D, 3> r3 = vec<D, 3>(v3);
  vec<D, 2> r2 = vec<D, 2>(v2);
  uint bad = 0;
  for (int k = 0; k < 4; ++k) bad += as_bits(r4[k]) != as_bits(D(v4[k]));
  for (int k = 0; k < 3; ++k) bad += as_bits(r3[k]) != as_bits(D(v3[k]));
  for (int k = 0; k < 2; ++k) bad += as_bits(r2[k]) != as_bits(D(v2[k]));
  bad += as_bits(static_cast<D>(v4.x)) != as_bits(D(v4.x));
  wrong[i] += bad;
}

template <class S> kernel void convert_all(device const S *in [[buffer(0)]], device uint *wrong [[buffer(1)]],
    device char *c [[buffer(2)]], device uchar *uc [[buffer(3)]], device short *s [[buffer(4)]],
    device ushort *us [[buffer(5)]], device int *n [[buffer(6)]], device uint *un [[buffer(7)]],
    device long *l [[buffer(8)]], device ulong *ul [[buffer(9)]], device half *h [[buffer(10)]],
    device bfloat *b [[buffer(11)]], device float *f [[buffer(12)]], device bool *t [[buffer(13)]],
    uint i [[thread_position_in_grid]]) {
  wrong[i] = 0;
  convert(in, c, wrong, i); convert(in, uc, wrong, i); convert(in, s, wrong, i); convert(in, us, wrong, i);
  convert(in, n, wrong, i); convert(in, un, wrong, i); convert(in, l, wrong, i); convert(in, ul, wrong, i);
  convert(in, h, wrong, i); convert(in, b, wrong, i); convert(in, f, wrong, i); convert(in, t, wrong, i);
}
#define EACH(S) template [[host_name("convert_" #S)]] kernel void convert_all<S>(device const S *, device uint *, \
    device char *, device uchar *, device short *, device ushort *, device int *, device uint *, device long *, \
    device ulong *, device half *, device bfloat *, device float *, device bool *, uint);
EACH(char) EACH(uchar) EACH(short) EACH(ushort) EACH(int) EACH(uint) EACH(long) EACH(ulong)
EACH(half) EACH(bfloat) EACH(float) EACH(bool)

kernel void reinterpret(device const uint4 *in [[buffer(0)]], device uint4 *out [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) {
  uint4 v = in[i];
  out[8 * i + 0] = as_type<uint4>(as_type<float4>(v));
  out[8 * i + 1] = as_type<uint4>(as_type<int4>(v));
  out[8 * i + 2] = uint4(as_type<uint2>(as_type<half4>(v.xy)), as_type<uint2>(as_type<ushort4>(v.zw)));
  out[8 * i + 3] = uint4(as_type<uint>(as_type<uchar4>(v.x)), as_type<uint>(as_type<short2>(v.y)),
                         as_type<uint>(as_type<float>(v.z)), as_type<uint>(as_type<int>(v.w)));
  out[8 * i + 4] = uint4(as_type<ushort4>(v.xy));
  out[8 * i + 5] = uint4(as_type<uchar4>(v.x));
  out[8 * i + 6] = uint4(as_type<uint2>(as_type<ulong>(v.xy)), as_type<uint2>(as_type<long>(v.zw)));
  out[8 * i + 7] = uint4(as_type<ushort2>(v.x).y, as_type<uchar4>(v.y).w, as_type<ushort>(as_type<half>(ushort(v.z))),
                         as_type<uint>(as_type<half2>(v.w)));
}
