// SPDX-License-Identifier: Apache-2.0
// Filters of image processing programs: textures read, written and sampled, samplers in the source and as
// arguments, planes of video, tables in threadgroup memory, a histogram with its equalisation.
#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;

typedef struct {
  float brightness;
  float contrast;
  vector_float3 weights;
  matrix_float3x3 ycbcr;
} FilterSettings;

constant half3 kLuma = half3(0.2126h, 0.7152h, 0.0722h);
constant bool has_mask [[function_constant(0)]];
constant bool mask_absent = !has_mask;

kernel void adjust(texture2d<half, access::read> source [[texture(0)]],
                   texture2d<half, access::write> destination [[texture(1)]],
                   texture2d<half, access::read> mask [[texture(2), function_constant(has_mask)]],
                   constant FilterSettings &settings [[buffer(0)]], ushort2 gid [[thread_position_in_grid]]) {
  if (gid.x >= destination.get_width() || gid.y >= destination.get_height())
    return;
  half4 color = source.read(gid);
  half3 rgb = (color.rgb - 0.5h) * half(settings.contrast) + 0.5h + half(settings.brightness);
  if (!mask_absent)
    rgb = mix(color.rgb, rgb, mask.read(gid).r);
  destination.write(half4(saturate(rgb), color.a), gid);
}

kernel void grayscale(texture2d<half, access::sample> source [[texture(0)]],
                      texture2d<half, access::write> destination [[texture(1)]],
                      uint2 gid [[thread_position_in_grid]], uint2 size [[threads_per_grid]]) {
  constexpr sampler point(coord::normalized, address::clamp_to_edge, filter::nearest);
  const float2 uv = (float2(gid) + 0.5) / float2(size);
  const half gray = dot(source.sample(point, uv).rgb, kLuma);
  destination.write(half4(half3(gray), 1.0h), gid);
}

// Bilinear reduction with the program's own sampler.
kernel void resize(texture2d<float> source [[texture(0)]], texture2d<float, access::write> destination [[texture(1)]],
                   sampler linear [[sampler(0)]], uint2 gid [[thread_position_in_grid]]) {
  const float2 size = float2(destination.get_width(), destination.get_height());
  if (any(gid >= uint2(size)))
    return;
  destination.write(source.sample(linear, (float2(gid) + 0.5f) / size, level(0)), gid);
}

template <int R> struct Window {
  static constexpr constant int width = 2 * R + 1;
};

// Separable blur over a tile with a margin.
template <int R>
[[kernel]] void blur(texture2d<float, access::read> source [[texture(0)]],
                     texture2d<float, access::write> destination [[texture(1)]],
                     constant float *weights [[buffer(0)]], constant int2 &direction [[buffer(1)]],
                     ushort2 gid [[thread_position_in_grid]], ushort2 lid [[thread_position_in_threadgroup]],
                     ushort2 tg [[threads_per_threadgroup]]) {
  const int2 last = int2(source.get_width(), source.get_height()) - 1;
  float4 sum = 0;
#pragma clang loop unroll(full)
  for (int k = -R; k <= R; ++k)
    sum = fma(source.read(uint2(clamp(int2(gid) + k * direction, 0, last))), weights[k + R], sum);
  static_assert(Window<R>::width == 2 * R + 1, "");
  if (all(int2(gid) <= last))
    destination.write(sum, gid);
}
template [[host_name("blur_1")]] [[kernel]] void blur<1>(texture2d<float, access::read>, texture2d<float, access::write>,
                                                         constant float *, constant int2 &, ushort2, ushort2, ushort2);
template [[host_name("blur_3")]] [[kernel]] void blur<3>(texture2d<float, access::read>, texture2d<float, access::write>,
                                                         constant float *, constant int2 &, ushort2, ushort2, ushort2);

kernel void yuv_to_rgb(texture2d<float, access::read> luma [[texture(0)]],
                       texture2d<float, access::read> chroma [[texture(1)]],
                       texture2d<float, access::write> rgb [[texture(2)]],
                       constant FilterSettings &settings [[buffer(0)]], uint2 gid [[thread_position_in_grid]]) {
  const float3 yuv = float3(luma.read(gid).r, chroma.read(gid / 2).rg - 0.5);
  rgb.write(float4(settings.ycbcr * yuv, 1), gid);
}

struct Histogram {
  atomic_uint bins[256];
};
kernel void histogram(texture2d<float, access::read> image [[texture(0)]], device Histogram &result [[buffer(0)]],
                      uint2 gid [[thread_position_in_grid]], uint lid [[thread_index_in_threadgroup]],
                      uint2 size [[threads_per_threadgroup]]) {
  threadgroup atomic_uint local[256];
  for (uint i = lid; i < 256; i += size.x * size.y)
    atomic_store_explicit(local + i, 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (gid.x < image.get_width() && gid.y < image.get_height()) {
    const uint bin = uint(round(clamp(image.read(gid).x, 0.f, 1.f) * 255.f));
    atomic_fetch_add_explicit(&local[bin], 1u, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = lid; i < 256; i += size.x * size.y) {
    const uint n = atomic_load_explicit(&local[i], memory_order_relaxed);
    if (n != 0)
      atomic_fetch_add_explicit(&result.bins[i], n, memory_order_relaxed);
  }
}

// Edges with a 3x3 operator.
constant float3x3 sobel = float3x3(float3(-1, -2, -1), float3(0, 0, 0), float3(1, 2, 1));
kernel void edges(texture2d<float, access::read> in [[texture(0)]], texture2d<float, access::write> out [[texture(1)]],
                  uint2 gid [[thread_position_in_grid]]) {
  float2 g = float2(0.0);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      const float v = in.read(uint2(int2(gid) + int2(i - 1, j - 1))).x;
      g += float2(sobel[i][j], sobel[j][i]) * v;
    }
  out.write(float4(float3(length(g)), 1.0), gid);
}
