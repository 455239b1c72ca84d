// SPDX-License-Identifier: Apache-2.0
// Simulations: bodies that attract each other with tiles in threadgroup memory, a Fourier transform by butterflies
// with a complex type, fractals by iteration, distance fields by marching, random numbers by counters.
#include <metal_stdlib>
using namespace metal;

struct Body {
  packed_float3 position;
  float mass;
  packed_float3 velocity;
  float pad;
};
struct SimulationParams {
  uint count;
  float dt, softening;
};

static float3 attraction(float3 from, float4 to, float softeningSquared) {
  const float3 r = to.xyz - from;
  const float distanceSquared = dot(r, r) + softeningSquared;
  const float inverse = rsqrt(distanceSquared);
  return r * (to.w * (inverse * inverse * inverse));
}

kernel void nbody(const device Body *old [[buffer(0)]], device Body *now [[buffer(1)]],
                  constant SimulationParams &params [[buffer(2)]], threadgroup float4 *tile [[threadgroup(0)]],
                  uint gid [[thread_position_in_grid]], uint lid [[thread_position_in_threadgroup]],
                  uint size [[threads_per_threadgroup]]) {
  const Body me = old[min(gid, params.count - 1)];
  float3 acceleration = {0, 0, 0};
  for (uint first = 0; first < params.count; first += size) {
    const uint other = first + lid;
    tile[lid] = other < params.count ? float4(float3(old[other].position), old[other].mass) : 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < size; k += 2) {
      acceleration += attraction(me.position, tile[k], params.softening * params.softening);
      acceleration += attraction(me.position, tile[k + 1], params.softening * params.softening);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (gid >= params.count)
    return;
  Body next = me;
  next.velocity += acceleration * params.dt;
  next.position += float3(next.velocity) * params.dt;
  now[gid] = next;
}

// Complex numbers with operators, as MLX and audio libraries write them.
struct complex64 {
  float re, im;
  constexpr complex64(float re, float im = 0) : re(re), im(im) {}
  complex64() = default;
  complex64(float2 v) : re(v.x), im(v.y) {}
  operator float2() const { return float2(re, im); }
  friend complex64 operator+(complex64 a, complex64 b) { return {a.re + b.re, a.im + b.im}; }
  friend complex64 operator-(complex64 a, complex64 b) { return {a.re - b.re, a.im - b.im}; }
  friend complex64 operator*(complex64 a, complex64 b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  thread complex64 &operator+=(complex64 b) {
    *this = *this + b;
    return *this;
  }
};

template <uint LogN>
kernel void fft(device float2 *data [[buffer(0)]], constant float &direction [[buffer(1)]],
                uint lid [[thread_position_in_threadgroup]], uint row [[threadgroup_position_in_grid]]) {
  constexpr uint n = 1u << LogN;
  threadgroup float2 shared[n];
  device float2 *mine = data + row * n;
  for (uint i = lid; i < n; i += n / 2)
    shared[reverse_bits(i) >> (32 - LogN)] = mine[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint half_size = 1; half_size < n; half_size *= 2) {
    const uint k = lid & (half_size - 1);
    const uint at = 2 * (lid - k) + k;
    float c;
    const float s = sincos(direction * M_PI_F * float(k) / float(half_size), c);
    const complex64 a = shared[at], b = complex64(shared[at + half_size]) * complex64(c, s);
    shared[at] = float2(a + b);
    shared[at + half_size] = a - b;
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (uint i = lid; i < n; i += n / 2)
    mine[i] = shared[i];
}
template [[host_name("fft_64")]] kernel void fft<6>(device float2 *, constant float &, uint, uint);
template [[host_name("fft_512")]] kernel void fft<9>(device float2 *, constant float &, uint, uint);

kernel void mandelbrot(device ushort *iterations [[buffer(0)]], constant float4 &view [[buffer(1)]],
                       constant uint &limit [[buffer(2)]], uint2 at [[thread_position_in_grid]],
                       uint2 size [[threads_per_grid]]) {
  const float2 c = view.xy + view.zw * float2(at) / float2(size);
  float2 z = 0;
  ushort n = 0;
  do {
    z = float2(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + c;
  } while (length_squared(z) < 4 && ++n < limit);
  iterations[at.y * size.x + at.x] = n;
}

// Distance fields with lambdas and function objects.
struct Ray {
  float3 origin, direction;
};
template <typename Field> float march(Ray ray, Field field, int steps) {
  float t = 0;
  for (int i = 0; i < steps; ++i) {
    const float d = field(ray.origin + t * ray.direction);
    if (d < 1e-4f)
      return t;
    if (t > 100)
      break;
    t += d;
  }
  return -1;
}
kernel void raymarch(device float *depth [[buffer(0)]], constant float4 *spheres [[buffer(1)]],
                     constant int &count [[buffer(2)]], uint2 at [[thread_position_in_grid]],
                     uint2 size [[threads_per_grid]]) {
  const float2 uv = (2.0 * float2(at) + 1.0) / float2(size) - 1.0;
  const Ray ray = {float3(0, 0, -4), normalize(float3(uv, 2))};
  const auto scene = [=](float3 p) {
    float d = p.y + 1.5f;
    for (int i = 0; i < count; ++i)
      d = min(d, distance(p, spheres[i].xyz) - spheres[i].w);
    return d;
  };
  depth[at.y * size.x + at.x] = march(ray, scene, 256);
}

// Random numbers from a counter and a key.
struct Philox {
  uint2 key;
  uint4 counter;
  uint4 next() {
    uint4 c = counter;
    uint2 k = key;
    for (int i = 0; i < 10; ++i) {
      const uint2 high = uint2(mulhi(c.x, 0xD2511F53u), mulhi(c.z, 0xCD9E8D57u));
      const uint2 low = uint2(c.x * 0xD2511F53u, c.z * 0xCD9E8D57u);
      c = uint4(high.y ^ c.y ^ k.x, low.y, high.x ^ c.w ^ k.y, low.x);
      k += uint2(0x9E3779B9u, 0xBB67AE85u);
    }
    counter.x++;
    return c;
  }
};
kernel void philox(device uint4 *out [[buffer(0)]], constant uint2 &key [[buffer(1)]],
                   uint tid [[thread_position_in_grid]]) {
  Philox generator{key, uint4(tid, 0, 0, 0)};
  out[tid] = generator.next();
}
