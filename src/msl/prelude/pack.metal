// SPDX-License-Identifier: Apache-2.0
// metal_pack: normalised integers in a word, written with plain arithmetic. NaN packs as 0.
namespace metal {
METAL_FUNC uint __to_unorm(float x, float scale) { return uint(rint(precise::saturate(x) * scale)); }
METAL_FUNC uint __to_snorm(float x, float scale, uint mask) {
  return uint(int(rint(precise::clamp(x, -1.0f, 1.0f) * scale))) & mask;
}
METAL_FUNC float __from_unorm(uint bits, float scale) { return float(bits) / scale; }
METAL_FUNC float __from_snorm(int bits, float scale) {
  return precise::fmax(float(bits) / scale, -1.0f);
}
METAL_FUNC float __srgb_to_linear(float c) {
  return c <= 0.04045f ? c / 12.92f : precise::powr((c + 0.055f) / 1.055f, 2.4f);
}
METAL_FUNC float __linear_to_srgb(float c) {
  c = precise::saturate(c);
  return c < 0.0031308f ? 12.92f * c : 1.055f * precise::powr(c, 1.0f / 2.4f) - 0.055f;
}

METAL_FUNC float4 unpack_unorm4x8_to_float(uint x) {
  return float4(__from_unorm(x & 255u, 255.0f), __from_unorm(x >> 8 & 255u, 255.0f),
                __from_unorm(x >> 16 & 255u, 255.0f), __from_unorm(x >> 24, 255.0f));
}
METAL_FUNC float4 unpack_snorm4x8_to_float(uint x) {
  return float4(__from_snorm(char(x), 127.0f), __from_snorm(char(x >> 8), 127.0f),
                __from_snorm(char(x >> 16), 127.0f), __from_snorm(char(x >> 24), 127.0f));
}
METAL_FUNC float4 unpack_unorm4x8_srgb_to_float(uint x) {
  const float4 v = unpack_unorm4x8_to_float(x);
  return float4(__srgb_to_linear(v.x), __srgb_to_linear(v.y), __srgb_to_linear(v.z), v.w);
}
METAL_FUNC float2 unpack_unorm2x16_to_float(uint x) {
  return float2(__from_unorm(x & 65535u, 65535.0f), __from_unorm(x >> 16, 65535.0f));
}
METAL_FUNC float2 unpack_snorm2x16_to_float(uint x) {
  return float2(__from_snorm(short(x), 32767.0f), __from_snorm(short(x >> 16), 32767.0f));
}
METAL_FUNC float4 unpack_unorm10a2_to_float(uint x) {
  return float4(__from_unorm(x & 1023u, 1023.0f), __from_unorm(x >> 10 & 1023u, 1023.0f),
                __from_unorm(x >> 20 & 1023u, 1023.0f), __from_unorm(x >> 30, 3.0f));
}
METAL_FUNC float3 unpack_unorm565_to_float(ushort x) {
  return float3(__from_unorm(uint(x) >> 11, 31.0f), __from_unorm(uint(x) >> 5 & 63u, 63.0f),
                __from_unorm(uint(x) & 31u, 31.0f));
}
METAL_FUNC uint pack_float_to_unorm4x8(float4 v) {
  return __to_unorm(v.x, 255.0f) | __to_unorm(v.y, 255.0f) << 8 | __to_unorm(v.z, 255.0f) << 16 |
         __to_unorm(v.w, 255.0f) << 24;
}
METAL_FUNC uint pack_float_to_snorm4x8(float4 v) {
  return __to_snorm(v.x, 127.0f, 255u) | __to_snorm(v.y, 127.0f, 255u) << 8 |
         __to_snorm(v.z, 127.0f, 255u) << 16 | __to_snorm(v.w, 127.0f, 255u) << 24;
}
METAL_FUNC uint pack_float_to_srgb_unorm4x8(float4 v) {
  return pack_float_to_unorm4x8(
      float4(__linear_to_srgb(v.x), __linear_to_srgb(v.y), __linear_to_srgb(v.z), v.w));
}
METAL_FUNC uint pack_float_to_unorm2x16(float2 v) {
  return __to_unorm(v.x, 65535.0f) | __to_unorm(v.y, 65535.0f) << 16;
}
METAL_FUNC uint pack_float_to_snorm2x16(float2 v) {
  return __to_snorm(v.x, 32767.0f, 65535u) | __to_snorm(v.y, 32767.0f, 65535u) << 16;
}
METAL_FUNC uint pack_float_to_unorm10a2(float4 v) {
  return __to_unorm(v.x, 1023.0f) | __to_unorm(v.y, 1023.0f) << 10 |
         __to_unorm(v.z, 1023.0f) << 20 | __to_unorm(v.w, 3.0f) << 30;
}
METAL_FUNC ushort pack_float_to_unorm565(float3 v) {
  return ushort(__to_unorm(v.x, 31.0f) << 11 | __to_unorm(v.y, 63.0f) << 5 |
                __to_unorm(v.z, 31.0f));
}
METAL_FUNC half4 unpack_unorm4x8_to_half(uint x) { return half4(unpack_unorm4x8_to_float(x)); }
METAL_FUNC half4 unpack_snorm4x8_to_half(uint x) { return half4(unpack_snorm4x8_to_float(x)); }
METAL_FUNC half4 unpack_unorm4x8_srgb_to_half(uint x) {
  return half4(unpack_unorm4x8_srgb_to_float(x));
}
METAL_FUNC half2 unpack_unorm2x16_to_half(uint x) { return half2(unpack_unorm2x16_to_float(x)); }
METAL_FUNC half2 unpack_snorm2x16_to_half(uint x) { return half2(unpack_snorm2x16_to_float(x)); }
METAL_FUNC half4 unpack_unorm10a2_to_half(uint x) { return half4(unpack_unorm10a2_to_float(x)); }
METAL_FUNC half3 unpack_unorm565_to_half(ushort x) { return half3(unpack_unorm565_to_float(x)); }
METAL_FUNC uint pack_half_to_unorm4x8(half4 v) { return pack_float_to_unorm4x8(float4(v)); }
METAL_FUNC uint pack_half_to_snorm4x8(half4 v) { return pack_float_to_snorm4x8(float4(v)); }
METAL_FUNC uint pack_half_to_srgb_unorm4x8(half4 v) {
  return pack_float_to_srgb_unorm4x8(float4(v));
}
METAL_FUNC uint pack_half_to_unorm2x16(half2 v) { return pack_float_to_unorm2x16(float2(v)); }
METAL_FUNC uint pack_half_to_snorm2x16(half2 v) { return pack_float_to_snorm2x16(float2(v)); }
METAL_FUNC uint pack_half_to_unorm10a2(half4 v) { return pack_float_to_unorm10a2(float4(v)); }
METAL_FUNC ushort pack_half_to_unorm565(half3 v) { return pack_float_to_unorm565(float3(v)); }
} // namespace metal
