// SPDX-License-Identifier: Apache-2.0
// Samplers and what texture functions take besides coordinates. A sampler is an argument's handle or,
// when it is constexpr, a state word in the bits of AIR's sampler states; lowering turns the word into
// a global.
namespace metal {
struct __texture_t;
struct __sampler_t;

enum class access { sample = 0, read = 1, write = 2, read_write = 3 };
enum class coord { normalized = 0, pixel = 1 };
enum class filter { nearest = 0, linear = 1, bicubic = 2 };
enum class mag_filter { nearest = 0, linear = 1, bicubic = 2 };
enum class min_filter { nearest = 0, linear = 1, bicubic = 2 };
enum class mip_filter { none = 0, nearest = 1, linear = 2 };
enum class address {
  clamp_to_zero = 0,
  clamp_to_edge = 1,
  repeat = 2,
  mirrored_repeat = 3,
  clamp_to_border = 4
};
enum class s_address { clamp_to_zero, clamp_to_edge, repeat, mirrored_repeat, clamp_to_border };
enum class t_address { clamp_to_zero, clamp_to_edge, repeat, mirrored_repeat, clamp_to_border };
enum class r_address { clamp_to_zero, clamp_to_edge, repeat, mirrored_repeat, clamp_to_border };
enum class border_color { transparent_black = 0, opaque_black = 1, opaque_white = 2 };
enum class compare_func {
  none = 0,
  less = 1,
  less_equal = 2,
  greater = 3,
  greater_equal = 4,
  equal = 5,
  not_equal = 6,
  always = 7,
  never = 8
};
enum class component { x = 0, y = 1, z = 2, w = 3 };
struct max_anisotropy {
  uint value;
  METAL_FUNC constexpr max_anisotropy(uint n) : value(n) {}
};
struct lod_clamp {
  ulong bits;
  METAL_FUNC constexpr lod_clamp(float low, float high)
      : bits((ulong)__builtin_bit_cast(ushort, (half)low) |
             (ulong)__builtin_bit_cast(ushort, (half)high) << 16) {}
};
struct bias {
  float value;
  METAL_FUNC constexpr explicit bias(float v) : value(v) {}
};
struct level {
  float value;
  METAL_FUNC constexpr explicit level(float v) : value(v) {}
};
struct min_lod_clamp {
  float value;
  METAL_FUNC constexpr explicit min_lod_clamp(float v) : value(v) {}
};
struct gradient2d {
  float2 dx, dy;
  METAL_FUNC gradient2d(float2 x, float2 y) : dx(x), dy(y) {}
};
struct gradient3d {
  float3 dx, dy;
  METAL_FUNC gradient3d(float3 x, float3 y) : dx(x), dy(y) {}
};
struct gradientcube {
  float3 dx, dy;
  METAL_FUNC gradientcube(float3 x, float3 y) : dx(x), dy(y) {}
};

struct sampler {
  union {
    ulong __state;
    constant __sampler_t *__handle;
  };
  METAL_FUNC constexpr sampler() : __state(__initial) {}
  template <class... A> METAL_FUNC constexpr explicit sampler(A... options) : __state(__initial) {
    (__set(options), ...);
  }
  METAL_FUNC constant __sampler_t *__get() const {
    return __builtin_bit_cast(constant __sampler_t *, *this);
  }

private:
  // Bit 63 marks a state word; the level of detail is 0 to 65504; addresses clamp to the edge.
  static constexpr constant ulong __initial = 1ul << 63 |
                                              0x7bfful << 40 | 1ul << 20 | 1ul | 1ul << 3 | 1ul << 6;
  METAL_FUNC constexpr void __put(ulong value, uint shift, uint width) {
    const ulong mask = ((1ul << width) - 1) << shift;
    __state = (__state & ~mask) | (value << shift & mask);
  }
  METAL_FUNC constexpr void __set(coord v) { __put((ulong)v, 15, 1); }
  METAL_FUNC constexpr void __set(filter v) {
    __put((ulong)v, 9, 2);
    __put((ulong)v, 11, 2);
  }
  METAL_FUNC constexpr void __set(mag_filter v) { __put((ulong)v, 9, 2); }
  METAL_FUNC constexpr void __set(min_filter v) { __put((ulong)v, 11, 2); }
  METAL_FUNC constexpr void __set(mip_filter v) { __put((ulong)v, 13, 2); }
  METAL_FUNC constexpr void __set(address v) {
    __put((ulong)v, 0, 3);
    __put((ulong)v, 3, 3);
    __put((ulong)v, 6, 3);
  }
  METAL_FUNC constexpr void __set(s_address v) { __put((ulong)v, 0, 3); }
  METAL_FUNC constexpr void __set(t_address v) { __put((ulong)v, 3, 3); }
  METAL_FUNC constexpr void __set(r_address v) { __put((ulong)v, 6, 3); }
  METAL_FUNC constexpr void __set(compare_func v) { __put((ulong)v, 16, 4); }
  METAL_FUNC constexpr void __set(max_anisotropy v) { __put(v.value, 20, 4); }
  METAL_FUNC constexpr void __set(lod_clamp v) { __put(v.bits, 24, 32); }
  METAL_FUNC constexpr void __set(border_color v) { __put((ulong)v, 56, 2); }
};

template <class T> struct __texel {
  T __attribute__((ext_vector_type(4))) value;
  char resident;
};
template <class T> struct __depth_texel {
  T value;
  char resident;
};
} // namespace metal
