// SPDX-License-Identifier: Apache-2.0
// Features of C++17 that a reader of the specification tries: texts, structured bindings, braces, pointers to
// functions and members, assignments that are overloaded by address space.
#include <metal_stdlib>
using namespace metal;

constexpr constant char kGreeting[] = "hello";
constant char kPlain[] = "world";
constant char *constant kPointer = "pointer";
constant char kTable[2][4] = {"abc", "def"};

static int lengthOf(constant char *text) {
  int n = 0;
  while (text[n])
    ++n;
  return n;
}
template <size_t N> constexpr int sizeOf(const constant char (&)[N]) { return int(N); }
static constant char *pick(bool first) { return first ? "yes" : "no"; }

kernel void texts(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  constant char *local = "local";
  const auto automatic = "auto";
  device int *o = out + i * 12;
  o[0] = kGreeting[i % 5];
  o[1] = kPlain[i % 5];
  o[2] = kPointer[i % 7];
  constant char *name = i % 3 == 0 ? "zero" : i % 3 == 1 ? "one" : "two" " and more";
  o[3] = name[0];
  o[4] = kTable[i % 2][i % 3];
  o[5] = lengthOf("twelve chars");
  o[6] = sizeOf("four");
  o[7] = lengthOf(pick(i % 2));
  o[8] = local[i % 5];
  o[9] = automatic[i % 4];
  o[10] = lengthOf("two" " and more");
  o[11] = sizeof("abc");
}

struct Pair {
  int a;
  float b;
};
static Pair pairOf(int x) { return {x, 2.0f * x}; }

kernel void bindings(device int *out [[buffer(0)]], device Pair *pairs [[buffer(1)]],
                     constant Pair &constants [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  device int *o = out + i * 8;
  auto [x, y, z, w] = int4(i, i + 1, i + 2, i + 3);
  o[0] = x + 10 * y + 100 * z + 1000 * w;
  float2 v(1, 2);
  auto &[first, second] = v;
  first = 5 + i;
  o[1] = int(v.x + second);
  const auto [p, q, r] = packed_short3(7, 8, 9);
  o[2] = p * q * r;
  auto [a, b] = pairOf(int(i));
  o[3] = a + int(b);
  auto &[da, db] = pairs[i];
  da += 3;
  o[4] = int(db);
  auto [ca, cb] = constants;
  o[5] = ca + int(cb);
  int array[3] = {int(i), 2, 3};
  auto [e0, e1, e2] = array;
  o[6] = e0 + e1 * e2;
  int sum = 0;
  Pair list[2] = {{1, 2}, {3, 4}};
  for (auto [la, lb] : list)
    sum += la * int(lb);
  o[7] = sum;
}

constant float4x4 kMatrix = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}, {13, 14, 15, 16}};
constant float2x2 kSmall = float2x2({1, 2}, {3, 4});

kernel void braces(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  const float3x2 m{{1, 2}, {3, 4}, {5, 6}};
  float2x2 n = {{1, 2}, {3, float(i)}};
  const float2x2 scalars(1, 2, 3, 4);
  out[i * 4] = kMatrix[i % 4][i % 3];
  out[i * 4 + 1] = kSmall[1][0] + n[1][1];
  out[i * 4 + 2] = m[2][0] + scalars[1][1];
  n = {{7, 8}, {9, 10}};
  out[i * 4 + 3] = n[0][1] + n[1][0];
}

struct Shape {
  float side;
  float area() const { return side * side; }
  float around() const { return 4 * side; }
};
static float apply(float (*f)(float), float x) { return f(x); }

kernel void pointers(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  float (*plus)(float) = [](float x) { return x + 1; };
  float (Shape::*measure)() const = i % 2 ? &Shape::area : &Shape::around;
  float Shape::*member = &Shape::side;
  const Shape shape{float(i)};
  out[i * 3] = plus(float(i)) + apply([](float x) { return x * 2; }, float(i));
  out[i * 3 + 1] = (shape.*measure)();
  out[i * 3 + 2] = shape.*member;
}

kernel void sizes(device MTLDispatchThreadgroupsIndirectArguments &arguments [[buffer(0)]]) {
  for (int i = 0; i < 3; ++i)
    arguments.threadgroupsPerGrid[i] = 5 - i;
}

// A program's own function goes before the library's of the same name.
inline float simd_max(float x) { return x < 0 ? 1000 : metal::simd_max(x) + 1; }
kernel void own_reduction(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  out[i] = simd_max(float(i)) + simd_max(int(i));
}

// A number in another form: assigned from plain numbers and from its own kind, in thread and device memory.
class Shifted {
  uint value;

public:
  constexpr Shifted() : value(0) {}
  constexpr Shifted(uint x) : value(x + 1000) {}
  void operator=(uint x) { value = x + 1000; }
  void operator=(uint x) device { value = x + 2000; }
  uint get() const { return value; }
  uint get() const device { return value; }
};
struct Several {
  Shifted items[2];
  Several(uint x) {
    items[0] = x;
    items[1] = items[0];
  }
};

kernel void assignments(device uint *out [[buffer(0)]], device Shifted *shifted [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) {
  Several several(i);
  Shifted copy;
  copy = several.items[1];
  shifted[i * 2] = i;
  shifted[i * 2 + 1] = copy;
  Shifted back;
  back = shifted[i * 2];
  out[i * 4] = several.items[1].get();
  out[i * 4 + 1] = shifted[i * 2].get();
  out[i * 4 + 2] = shifted[i * 2 + 1].get();
  out[i * 4 + 3] = back.get();
}
