// SPDX-License-Identifier: Apache-2.0
// What does not exist here, by its names, so that a program that uses it is told so.
namespace metal {
template <class...> inline constexpr constant bool __pewter_has = false;
namespace raytracing {
template <class... Tags> struct acceleration_structure {
  static_assert(__pewter_has<Tags...>, "ray tracing is not supported");
};
template <class... Tags> struct intersector {
  static_assert(__pewter_has<Tags...>, "ray tracing is not supported");
};
template <class... Tags> struct intersection_query {
  static_assert(__pewter_has<Tags...>, "ray tracing is not supported");
};
template <class... Tags> struct intersection_function_table {
  static_assert(__pewter_has<Tags...>, "ray tracing is not supported");
};
typedef acceleration_structure<> primitive_acceleration_structure;
struct instancing {};
struct triangle_data {};
struct world_space_data {};
struct curve_data {};
struct extended_limits {};
struct ray {
  float3 origin;
  float min_distance;
  float3 direction;
  float max_distance;
  METAL_FUNC ray(float3 from = 0, float3 along = 0, float least = 0, float most = INFINITY)
      : origin(from), min_distance(least), direction(along), max_distance(most) {}
};
} // namespace raytracing
} // namespace metal
