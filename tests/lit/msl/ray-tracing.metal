#include <metal_stdlib>
#include <metal_raytracing>
using namespace metal;
using namespace raytracing;
kernel void k(device float *o [[buffer(0)]],
              acceleration_structure<instancing> scene [[buffer(1)]],
              uint i [[thread_position_in_grid]]) {
  intersector<triangle_data, instancing> seeker;
  ray r(float3(0), float3(0, 0, 1));
  o[i] = seeker.intersect(r, scene).distance;
}
