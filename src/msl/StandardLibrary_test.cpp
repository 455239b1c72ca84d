// SPDX-License-Identifier: Apache-2.0
//
// The breadth of the standard library: every family compiles for every type it has, and what comes out
// is accepted by the canonicaliser, so that no call has a name that nobody knows.
#include "msl/TestCompile.h"
#include <fmt/format.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace pewter::msl {
namespace {

const std::vector<std::string> kIntegers = {"char", "uchar", "short", "ushort",
                                            "int",  "uint",  "long",  "ulong"};
const std::vector<std::string> kFloats = {"float", "half"};

std::string sized(const std::string &scalar, int size) {
  return size == 1 ? scalar : scalar + std::to_string(size);
}

/// One kernel that runs `body` on the vectors a, b, c of type T and stores r.
std::string kernelOn(const std::string &name, const std::string &type, const std::string &body) {
  return fmt::format("kernel void {0}(device {1} *p, uint i [[thread_position_in_grid]]) {{\n"
                     "  {1} a = p[i], b = p[i + 1], c = p[i + 2], r = a;\n  {2}\n  p[i] = r;\n}}\n",
                     name, type, body);
}

void expectAccepted(const std::string &body) {
  const auto compiled = compileForTest("#include <metal_stdlib>\nusing namespace metal;\n" + body);
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics.substr(0, 4000);
  for (const auto &module : compiled->modules) {
    const auto kernels = air::ir::reflectKernels(*module);
    ASSERT_TRUE(kernels.has_value() && kernels->size() == 1);
    const auto canonical =
        air::ir::canonicalize(llvm::CloneModule(*module), kernels->front().name, {});
    EXPECT_TRUE(canonical.has_value())
        << kernels->front().name << ": " << (canonical ? "" : canonical.error().describe());
  }
}

TEST(StandardLibrary, OperatorsOnEveryVectorType) {
  std::string source;
  for (const std::string &scalar : kIntegers)
    for (int n = 1; n <= 4; ++n)
      source += kernelOn(fmt::format("i_{}{}", scalar, n), sized(scalar, n),
                         "r = a + b * c - a / b; r %= c; r ^= a & b | c; r = (r << 1) >> 1; r += ~a; "
                         "r -= -b; ++r; r--; r *= 3;");
  for (const std::string scalar : {"float", "half", "bfloat"})
    for (int n = 1; n <= 4; ++n)
      source += kernelOn(fmt::format("f_{}{}", scalar, n), sized(scalar, n),
                         "r = a + b * c - a / b; r += -b; r *= a; r /= c; r -= 2; ++r;");
  for (int n = 2; n <= 4; ++n)
    source += kernelOn(fmt::format("compare{}", n), sized("float", n),
                       fmt::format("bool{0} t = (a < b) && !(b >= c) || (a == c); r = select(a, b, t); "
                                   "if (any(t) && !all(t != (b <= c))) r = {1}(t);",
                                   n, sized("float", n)));
  expectAccepted(source);
}

TEST(StandardLibrary, SwizzlesAndConstructors) {
  std::string source;
  for (const std::string scalar : {"float", "half", "int", "ushort", "uchar", "bool"})
    source += kernelOn("s_" + scalar, sized(scalar, 4),
                       fmt::format("r.xyz = a.zyx; r.wx = b.rg; r.a = c.b; r.gbar = r.xyzw; r = r.wwxx; "
                                   "{0}3 t = {0}3(a.xy, b.z); {0}2 u(t.y); r = {0}4(u, t.xz); "
                                   "r = {0}4(a.x, t); r = {0}4(t, a[2]); r[1] = b[3]; "
                                   "{0}4 v = {{a.x, b.y}}; r.xy = v.yx; r = {0}4(u.x, a.yz, b.w);",
                                   scalar));
  source += kernelOn("packed", "packed_float3",
                     "float3 v = a; r = b + v * 2.0f; r.x = a.y; r.zy = b.xy; r[2] = dot(v, a); r *= 3; r = -r;");
  source += kernelOn("convert", "float4",
                     "int4 x = int4(a); uchar4 y = uchar4(x); half4 h = half4(b); bfloat4 d = bfloat4(h); "
                     "r = float4(d) + float4(y) + as_type<float4>(x); ulong4 l = ulong4(a); r += float4(l) + float4(bool4(x));");
  expectAccepted(source);
}

TEST(StandardLibrary, MathOnFloatAndHalf) {
  std::string source;
  for (const std::string &scalar : kFloats)
    for (int n = 1; n <= 4; ++n) {
      std::string body;
      for (const char *f : {"acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh",
                            "cospi", "exp", "exp2", "exp10", "fabs", "abs", "floor", "fract", "log",
                            "log2", "log10", "rint", "round", "rsqrt", "sin", "sinh", "sinpi", "sqrt",
                            "tan", "tanh", "tanpi", "trunc", "sign", "saturate"})
        body += fmt::format("r += {}(a); ", f);
      for (const char *f : {"atan2", "copysign", "divide", "fdim", "fmax", "fmin", "fmod", "max", "min",
                            "nextafter", "pow", "powr", "step"})
        body += fmt::format("r += {}(a, b); ", f);
      for (const char *f : {"fma", "fmax3", "fmin3", "fmedian3", "max3", "min3", "median3", "clamp",
                            "mix", "smoothstep"})
        body += fmt::format("r += {}(a, b, c); ", f);
      const std::string type = sized(scalar, n), integer = sized("int", n);
      body += fmt::format("{1} e; r += frexp(a, e); r += ldexp(b, e); r += {0}(ilogb(a)); {0} w; "
                          "r += modf(a, w) + sincos(b, w); r += precise::exp(a) + fast::exp(b); "
                          "r += {0}(isnan(a)) + {0}(isinf(b)) + {0}(isfinite(a)) + {0}(isnormal(b)) + "
                          "{0}(signbit(a)) + {0}(isordered(a, b)) + {0}(isunordered(a, b));",
                          type, integer);
      source += kernelOn(fmt::format("m_{}{}", scalar, n), type, body);
    }
  expectAccepted(source);
}

TEST(StandardLibrary, GeometryAndMatrices) {
  std::string source;
  for (const std::string &scalar : kFloats)
    for (int n = 2; n <= 4; ++n)
      source += kernelOn(
          fmt::format("g_{}{}", scalar, n), sized(scalar, n),
          fmt::format("r = normalize(a) * length(b) + distance(a, c) + dot(a, b); r += reflect(a, b); "
                      "r += faceforward(a, b, c) + refract(a, b, ({0})0.5h); "
                      "r *= length_squared(a) + distance_squared(b, c); "
                      "{0}{1}x{1} m({0}(2)), k = m * m; r = k * r + r * transpose(k); r *= determinant(k); "
                      "k[1] = a; k += m; k -= m * {0}(2); r += k[0]; {2}",
                      scalar, n, n == 3 ? "r = cross(a, b) + r;" : ""));
  source += "kernel void shapes(device float2x4 *m, device float4 *v, constant float3x3 &k) {\n"
            "  float2x4 a = m[0]; float4x2 t = transpose(a); float4x4 q = a * t; v[0] = q * v[1];\n"
            "  float3x3 i = float3x3(k[0], k[1], k[2]); m[1] = float2x4(1, 2, 3, 4, 5, 6, 7, 8) + a;\n"
            "  v[2] = float4(i * k[1], 1); half4x4 h = half4x4(q); v[3] = float4(h[2]); }\n";
  expectAccepted(source);
}

TEST(StandardLibrary, IntegerFunctions) {
  std::string source;
  for (const std::string &scalar : kIntegers)
    for (int n = 1; n <= 4; ++n) {
      std::string body;
      for (const char *f : {"abs", "clz", "ctz", "popcount", "reverse_bits"})
        body += fmt::format("r += {}(a); ", f);
      for (const char *f : {"absdiff", "addsat", "subsat", "hadd", "rhadd", "mulhi", "max", "min", "rotate"})
        body += fmt::format("r += {}(a, b); ", f);
      for (const char *f : {"clamp", "madhi", "madsat", "max3", "min3", "median3"})
        body += fmt::format("r += {}(a, b, c); ", f);
      body += "r += extract_bits(a, 3, 4) + insert_bits(a, b, 2, 5);";
      source += kernelOn(fmt::format("n_{}{}", scalar, n), sized(scalar, n), body);
    }
  expectAccepted(source);
}

TEST(StandardLibrary, AcrossLanes) {
  std::string source;
  for (const char *group : {"simd", "quad"})
    for (const std::string scalar : {"float", "half", "int", "uint", "short", "ushort", "char", "uchar"})
      for (int n : {1, 2, 4}) {
        std::string body;
        for (const char *f : {"sum", "product", "min", "max", "prefix_inclusive_sum", "prefix_exclusive_sum",
                              "prefix_inclusive_product", "prefix_exclusive_product", "broadcast_first"})
          body += fmt::format("r += {}_{}(a); ", group, f);
        for (const char *f : {"shuffle", "shuffle_xor", "shuffle_up", "shuffle_down", "shuffle_rotate_up",
                              "shuffle_rotate_down", "broadcast"})
          body += fmt::format("r += {}_{}(a, 1); ", group, f);
        for (const char *f : {"shuffle_and_fill_up", "shuffle_and_fill_down"})
          body += fmt::format("r += {0}_{1}(a, b, 1) + {0}_{1}(a, b, 1, 2); ", group, f);
        if (scalar != "float" && scalar != "half")
          for (const char *f : {"and", "or", "xor"})
            body += fmt::format("r += {}_{}(a); ", group, f);
        source += kernelOn(fmt::format("{}_{}{}", group, scalar, n), sized(scalar, n), body);
      }
  source += kernelOn("votes", "uint",
                     "simd_vote v = simd_ballot(a > 1); quad_vote q = quad_ballot(a > 2); "
                     "r = uint(simd_vote::vote_t(v)) + v.all() + v.any() + q.all() + q.any() + uint(quad_vote::vote_t(q)); "
                     "r += simd_all(a > 1) + simd_any(b > 1) + quad_all(a > 1) + quad_any(b > 1) + simd_is_first() + "
                     "quad_is_first() + uint(simd_vote::vote_t(simd_active_threads_mask()));");
  expectAccepted(source);
}

TEST(StandardLibrary, AtomicsPackingAndLimits) {
  std::string source =
      "kernel void atomics(device atomic_int *i, device atomic_uint *u, device atomic_float *f, device atomic_ulong *l,\n"
      "                    device atomic_bool *b, threadgroup atomic_int *ti, device float *o) {\n"
      "  auto m = memory_order_relaxed; int e = 3; uint k = 2; float x = 1; bool t = true;\n"
      "  o[0] = atomic_load_explicit(i, m) + atomic_exchange_explicit(u, 3u, m) + atomic_load_explicit(ti, m);\n"
      "  atomic_store_explicit(i, 4, m); atomic_store_explicit(ti, 4, m); atomic_store_explicit(f, 1.0f, m);\n"
      "  o[1] = atomic_compare_exchange_weak_explicit(i, &e, 5, m, m) + atomic_compare_exchange_weak_explicit(u, &k, 5u, m, m)\n"
      "       + atomic_compare_exchange_weak_explicit(f, &x, 5, m, m) + atomic_compare_exchange_weak_explicit(b, &t, false, m, m);\n"
      "  o[2] = atomic_fetch_add_explicit(f, 2.0f, m) + atomic_fetch_sub_explicit(f, 1.0f, m);\n"
      "  atomic_max_explicit(l, 5ul, m); atomic_min_explicit(l, 6ul, m);\n";
  for (const char *op : {"add", "sub", "min", "max", "and", "or", "xor"})
    source += fmt::format("  o[3] += atomic_fetch_{0}_explicit(i, 1, m) + atomic_fetch_{0}_explicit(u, 1, m) + "
                          "atomic_fetch_{0}_explicit(ti, 1, m);\n", op);
  source += "  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);\n}\n";
  source += kernelOn("packing", "uint",
                     "r = pack_float_to_unorm4x8(unpack_unorm4x8_to_float(a)) + pack_float_to_snorm4x8(unpack_snorm4x8_to_float(b)); "
                     "r += pack_float_to_unorm2x16(unpack_unorm2x16_to_float(a)) + pack_float_to_snorm2x16(unpack_snorm2x16_to_float(a)); "
                     "r += pack_float_to_unorm10a2(unpack_unorm10a2_to_float(a)) + pack_half_to_unorm4x8(unpack_unorm4x8_to_half(b)); "
                     "r += pack_float_to_unorm565(unpack_unorm565_to_float(ushort(a))) + pack_float_to_srgb_unorm4x8(unpack_unorm4x8_srgb_to_float(c));");
  source += "static_assert(numeric_limits<half>::max() == 65504.0h && numeric_limits<int>::min() == INT_MIN, \"\");\n"
            "static_assert(numeric_limits<ulong>::max() == ULONG_MAX && numeric_limits<float>::digits == 24, \"\");\n"
            "static_assert(numeric_limits<char>::lowest() == -128 && !numeric_limits<uint>::is_signed, \"\");\n";
  expectAccepted(source);
}

TEST(StandardLibrary, SimdgroupMatrices) {
  std::string source;
  for (const char *scalar : {"float", "half", "bfloat"})
    source += fmt::format(
        "kernel void matrix_{0}(device {0} *a, threadgroup {0} *t, device float *o) {{\n"
        "  simdgroup_matrix<{0}, 8, 8> x, y({0}(1.0f)); simdgroup_load(x, a, 64, ulong2(8, 0), true); simdgroup_load(y, t);\n"
        "  simdgroup_float8x8 acc = make_filled_simdgroup_matrix<float, 8, 8>(0.0f); simdgroup_float8x8 r[2];\n"
        "  simdgroup_multiply_accumulate(acc, x, y, acc); simdgroup_multiply(r[0], x, y); r[1] = acc;\n"
        "  simdgroup_store(r[1], o, 8); simdgroup_store(x, t); r[0].thread_elements()[0] = 1; simdgroup_store(r[0], o + 64);\n}}\n",
        scalar);
  expectAccepted(source);
}

} // namespace
} // namespace pewter::msl
