// SPDX-License-Identifier: Apache-2.0
// metal_graphics: what vertex, fragment and mesh functions name, so that files which mix stages compile.
// Such functions are listed in the library and never run, hence objects without content; a kernel that
// calls one of the external functions here is refused (msl/Lower.cpp).
namespace metal {
#define PEWTER_DERIVATIVES(T, N, V, label)                                                             \
  V __air_dfdx(V) METAL_CONST __asm("air.dfdx." label);                                                \
  V __air_dfdy(V) METAL_CONST __asm("air.dfdy." label);                                                \
  V __air_fwidth(V) METAL_CONST __asm("air.fwidth." label);
#define PEWTER_VECTOR_DERIVATIVES(T, N, label)                                                         \
  PEWTER_DERIVATIVES(T, N, __ev<T PEWTER_COMMA N>, label)                                              \
  METAL_FUNC vec<T, N> dfdx(vec<T, N> x) { return vec<T, N>(vec<T, N>::__raw(), __air_dfdx(x.__v)); }  \
  METAL_FUNC vec<T, N> dfdy(vec<T, N> x) { return vec<T, N>(vec<T, N>::__raw(), __air_dfdy(x.__v)); }  \
  METAL_FUNC vec<T, N> fwidth(vec<T, N> x) {                                                           \
    return vec<T, N>(vec<T, N>::__raw(), __air_fwidth(x.__v));                                         \
  }
#define PEWTER_SCALAR_DERIVATIVES(T, label)                                                            \
  PEWTER_DERIVATIVES(T, 1, T, label)                                                                   \
  METAL_FUNC T dfdx(T x) { return __air_dfdx(x); }                                                     \
  METAL_FUNC T dfdy(T x) { return __air_dfdy(x); }                                                     \
  METAL_FUNC T fwidth(T x) { return __air_fwidth(x); }
#define PEWTER_COMMA ,
PEWTER_SCALAR_DERIVATIVES(float, "f32")
PEWTER_SCALAR_DERIVATIVES(half, "f16")
PEWTER_VECTOR_DERIVATIVES(float, 2, "v2f32")
PEWTER_VECTOR_DERIVATIVES(float, 3, "v3f32")
PEWTER_VECTOR_DERIVATIVES(float, 4, "v4f32")
PEWTER_VECTOR_DERIVATIVES(half, 2, "v2f16")
PEWTER_VECTOR_DERIVATIVES(half, 3, "v3f16")
PEWTER_VECTOR_DERIVATIVES(half, 4, "v4f16")
#undef PEWTER_SCALAR_DERIVATIVES
#undef PEWTER_VECTOR_DERIVATIVES
#undef PEWTER_DERIVATIVES
#undef PEWTER_COMMA

void __air_discard_fragment() __asm("air.discard_fragment");
METAL_FUNC void discard_fragment() { __air_discard_fragment(); }
float __air_get_num_samples() METAL_CONST __asm("air.get_num_samples.f32");
METAL_FUNC uint get_num_samples() { return uint(__air_get_num_samples()); }
float2 __air_get_sample_position(uint) METAL_CONST __asm("air.get_sample_position.v2f32");
METAL_FUNC float2 get_sample_position(uint index) { return __air_get_sample_position(index); }

// Interpolation that the fragment function chooses.
namespace interpolation {
struct perspective {};
struct no_perspective {};
} // namespace interpolation
template <class T, class P> struct interpolant {
  T __value;
  METAL_FUNC T interpolate_at_center() const { return __value; }
  METAL_FUNC T interpolate_at_centroid() const { return __value; }
  METAL_FUNC T interpolate_at_offset(float2) const { return __value; }
  METAL_FUNC T interpolate_at_sample(uint) const { return __value; }
};
template <class T> struct vertex_value {
  T __value;
  METAL_FUNC T get(uint) const { return __value; }
};

template <class T> struct patch_control_point {
  device const T *__points;
  METAL_FUNC device const T &operator[](size_t i) const { return __points[i]; }
  METAL_FUNC size_t size() const { return 0; }
};
struct MTLQuadTessellationFactorsHalf {
  half edgeTessellationFactor[4];
  half insideTessellationFactor[2];
};
struct MTLTriangleTessellationFactorsHalf {
  half edgeTessellationFactor[3];
  half insideTessellationFactor;
};

// Mesh and object functions.
enum class topology { point, line, triangle };
struct mesh_grid_properties {
  METAL_FUNC void set_threadgroups_per_grid(uint3) const {}
};
template <class V, class P, uint MaxVertices, uint MaxPrimitives, topology T> struct mesh {
  static constexpr constant uint max_vertices = MaxVertices;
  static constexpr constant uint max_primitives = MaxPrimitives;
  static constexpr constant uint indices_per_primitive = uint(T) + 1;
  METAL_FUNC void set_primitive_count(uint) const {}
  METAL_FUNC void set_vertex(uint, V) const {}
  METAL_FUNC void set_primitive(uint, P) const {}
  METAL_FUNC void set_index(uint, uchar) const {}
  METAL_FUNC void set_indices(uint, uchar2) const {}
  METAL_FUNC void set_indices(uint, uchar4) const {}
};

// Tile memory. Kernels with such an argument are left out of the library.
struct imageblock_layout_explicit {};
struct imageblock_layout_implicit {};
enum class imageblock_data_rate { color, sample };
template <class T, class L = imageblock_layout_explicit> struct imageblock {
  T *__data;
  METAL_FUNC ushort get_width() const { return 0; }
  METAL_FUNC ushort get_height() const { return 0; }
  METAL_FUNC ushort get_num_samples() const { return 0; }
  METAL_FUNC ushort get_num_colors(ushort2) const { return 0; }
  METAL_FUNC ushort get_color_coverage_mask(ushort2, ushort) const { return 0; }
  METAL_FUNC T read(ushort2) const { return *__data; }
  METAL_FUNC T read(ushort2, ushort, imageblock_data_rate = imageblock_data_rate::color) const {
    return *__data;
  }
  METAL_FUNC void write(T, ushort2) const {}
  METAL_FUNC void write(T, ushort2, ushort) const {}
  METAL_FUNC T *data(ushort2) const { return __data; }
  METAL_FUNC T *data(ushort2, ushort, imageblock_data_rate = imageblock_data_rate::color) const {
    return __data;
  }
  template <class E> METAL_FUNC imageblock<E> slice(E) const { return {}; }
};
#define PEWTER_PIXEL(name)                                                                             \
  template <class T> struct name {                                                                     \
    T __value;                                                                                         \
    name() = default;                                                                                  \
    METAL_FUNC name(T x) : __value(x) {}                                                               \
    METAL_FUNC operator T() const { return __value; }                                                  \
  };
PEWTER_PIXEL(r8unorm) PEWTER_PIXEL(r8snorm) PEWTER_PIXEL(r16unorm) PEWTER_PIXEL(r16snorm)
PEWTER_PIXEL(rg8unorm) PEWTER_PIXEL(rg8snorm) PEWTER_PIXEL(rg16unorm) PEWTER_PIXEL(rg16snorm)
PEWTER_PIXEL(rgba8unorm) PEWTER_PIXEL(rgba8snorm) PEWTER_PIXEL(srgba8unorm)
PEWTER_PIXEL(rgba16unorm) PEWTER_PIXEL(rgba16snorm) PEWTER_PIXEL(rgb10a2)
PEWTER_PIXEL(rg11b10f) PEWTER_PIXEL(rgb9e5)
#undef PEWTER_PIXEL
} // namespace metal
