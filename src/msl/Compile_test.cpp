// SPDX-License-Identifier: Apache-2.0
#include "air/Metallib.h"
#include "msl/TestCompile.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <map>

namespace pewter::msl {
namespace {

using compiler::MathMode;
using testing::HasSubstr;
using testing::Not;

constexpr char kSaxpy[] = R"(#include <metal_stdlib>
using namespace metal;
kernel void saxpy(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                  constant float &a [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  y[i] = a * x[i] + exp(y[i]);
}
)";

size_t castsIn(const CompiledSource &compiled) {
  size_t count = 0;
  for (const auto &module : compiled.modules)
    for (const llvm::Function &function : *module)
      for (const llvm::Instruction &instruction : llvm::instructions(function))
        count += llvm::isa<llvm::AddrSpaceCastInst>(instruction);
  return count;
}

TEST(Compile, GivesEntryPointsTheSignaturesOfAir) {
  const auto compiled = compileForTest(R"(#include <metal_stdlib>
kernel void k(device float *a, constant uint &n, threadgroup float4 *t [[threadgroup(0)]],
              uint3 g [[thread_position_in_grid]], ushort l [[thread_index_in_simdgroup]]) {
  t[l] = float(n);
  a[g.z] = t[0].y;
}
)");
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics;
  llvm::Function *kernel = compiled->kernel("k");
  ASSERT_NE(kernel, nullptr);
  std::string type;
  llvm::raw_string_ostream stream(type);
  kernel->getFunctionType()->print(stream);
  EXPECT_EQ(type, "void (ptr addrspace(1), ptr addrspace(2), ptr addrspace(3), <3 x i32>, i16)");
  EXPECT_EQ(castsIn(*compiled), 0u);
}

TEST(Compile, ChoosesMathFunctionsAndFlagsByMode) {
  const auto fast = compileForTest(kSaxpy);
  ASSERT_TRUE(fast->ok) << fast->diagnostics;
  EXPECT_THAT(fast->text(), HasSubstr("@air.fast_exp.f32"));
  EXPECT_THAT(fast->text(), HasSubstr("fmul reassoc nsz arcp contract afn"));
  EXPECT_THAT(fast->text(), Not(HasSubstr("nnan")));

  const auto safe = compileForTest(kSaxpy, MathMode::Safe);
  ASSERT_TRUE(safe->ok) << safe->diagnostics;
  EXPECT_THAT(safe->text(), HasSubstr("@air.exp.f32"));
  EXPECT_THAT(safe->text(), HasSubstr("llvm.fmuladd.f32"));
  for (const char *flag : {"reassoc", "contract ", "afn", "arcp"})
    EXPECT_THAT(safe->text(), Not(HasSubstr(flag)));
}

TEST(Compile, HonoursAMathModePragmaInsideAFunction) {
  const auto compiled = compileForTest(R"(#include <metal_stdlib>
kernel void safe(device float *a, uint i [[thread_position_in_grid]]) {
#pragma METAL fp math_mode(safe)
  a[i] = a[i] / 3.0f;
}
kernel void fast(device float *a, uint i [[thread_position_in_grid]]) { a[i] = a[i] / 3.0f; }
)");
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics;
  for (const llvm::Instruction &instruction : llvm::instructions(*compiled->kernel("safe")))
    if (llvm::isa<llvm::FPMathOperator>(instruction)) {
      EXPECT_FALSE(instruction.getFastMathFlags().any());
    }
  bool flagged = false;
  for (const llvm::Instruction &instruction : llvm::instructions(*compiled->kernel("fast")))
    flagged |= llvm::isa<llvm::FPMathOperator>(instruction) && instruction.getFastMathFlags().any();
  EXPECT_TRUE(flagged);
}

TEST(Compile, KeepsTestsForInfinityInFastMode) {
  const auto compiled = compileForTest(R"(#include <metal_stdlib>
kernel void k(device float *a, uint i [[thread_position_in_grid]]) {
  float m = -INFINITY;
  m = metal::max(m, a[i]);
  if (m == -INFINITY) a[i] = 7;
  if (metal::isnan(a[i])) a[i] = 8;
}
)");
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics;
  EXPECT_THAT(compiled->text(), HasSubstr("0xFFF0000000000000"));
}

TEST(Compile, PutsOneKernelInEachModule) {
  const auto compiled = compileForTest(R"(#include <metal_stdlib>
template <typename T> kernel void copy(device T *a, device const T *b, uint i [[thread_position_in_grid]]) { a[i] = b[i]; }
typedef decltype(copy<float>) copy_t;
template [[host_name("copy_f32")]] [[host_name("copy_f32_too")]] kernel void copy<float>(device float *, device const float *, uint);
template [[host_name("copy_i8")]] kernel void copy<char>(device char *, device const char *, uint);
[[kernel]] void plain(device int *a) { a[0] = 1; }
)");
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics;
  EXPECT_EQ(compiled->modules.size(), 4u);
  for (const char *name : {"copy_f32", "copy_f32_too", "copy_i8", "plain"})
    EXPECT_NE(compiled->kernel(name), nullptr) << name;
}

TEST(Compile, KeepsOverloadsByAddressSpaceApart) {
  const auto compiled = compileForTest(R"(#include <metal_stdlib>
struct Value {
  float x;
  operator float() const device { return x + 1; }
  operator float() const threadgroup { return x + 2; }
  operator float() const constant { return x + 3; }
  operator float() const thread { return x + 4; }
};
template <class T> struct space { static constexpr constant int value = 0; };
template <class T> struct space<device T *> { static constexpr constant int value = 1; };
template <class T> struct space<threadgroup T *> { static constexpr constant int value = 3; };
static_assert(space<device float *>::value == 1 && space<threadgroup int *>::value == 3, "");
kernel void k(device Value *d, constant Value &c, device float *out) {
  threadgroup Value t[4];
  t[0].x = d[0].x;
  Value local = d[0];
  out[0] = float(d[0]);
  out[1] = float(c);
  out[2] = float(t[0]);
  out[3] = float(local);
}
)");
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics;
  for (const char *sum : {"1.000000e+00", "2.000000e+00", "3.000000e+00", "4.000000e+00"})
    EXPECT_THAT(compiled->text(), HasSubstr(sum));
  EXPECT_EQ(castsIn(*compiled), 0u);
}

TEST(Compile, RepairsConditionalsAndCastsInASecondRun) {
  const auto compiled = compileForTest(R"(#include <metal_stdlib>
using namespace metal;
kernel void k(device const float2 *a, device float2 *b, device bfloat *c, device half *h, uint i [[thread_position_in_grid]]) {
  float2 zero = float2(0);
  b[i] = i > 3 ? a[i] : zero;
  b[i] += i > 4 ? a[i] : float2(1, 2);
  c[i] = static_cast<bfloat>(h[i]);
}
)");
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics;
  EXPECT_EQ(compiled->diagnostics, "");
}

TEST(Compile, TakesMacrosAndIncludesFromTheRequest) {
  compiler::SourceRequest request;
  request.source = "#include \"shapes/box.h\"\n"
                   "#if WIDTH != 5 || __METAL_VERSION__ != 310 || !defined(FLAG)\n#error wrong\n#endif\n"
                   "kernel void k(device Box *b) { b->w = WIDTH; }\n";
  request.includeFiles["shapes/box.h"] = "#include \"side.h\"\nstruct Box { side w; };\n";
  request.includeFiles["shapes/side.h"] = "typedef int side;\n";
  request.macros = {{"WIDTH", "5"}, {"FLAG", ""}};
  request.languageVersion = 0x30001;
  const auto compiled = compileForTest(request);
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics;
  EXPECT_NE(compiled->kernel("k"), nullptr);
}

TEST(Compile, ReportsErrorsInMetalsForm) {
  const auto compiled = compileForTest("#include <metal_stdlib>\nusing namespace metal;\n"
                                       "kernel void k(device float4 *a) {\n"
                                       "  threadgroup float *t = a;\n  a[0] = dott(a[1], a[2]);\n}\n");
  ASSERT_FALSE(compiled->ok);
  EXPECT_THAT(compiled->diagnostics, HasSubstr("program_source:4:22: error: "));
  EXPECT_THAT(compiled->diagnostics, HasSubstr("'device float4 *'"));
  EXPECT_THAT(compiled->diagnostics, HasSubstr("program_source:5:10: error: use of undeclared identifier 'dott'"));
  EXPECT_THAT(compiled->diagnostics, Not(HasSubstr("prelude")));
  EXPECT_THAT(compiled->diagnostics, Not(HasSubstr("address_space")));
}

TEST(Compile, EmptySourceIsAnEmptyLibrary) {
  const auto compiled = compileForTest("");
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics;
  EXPECT_TRUE(compiled->modules.empty());
}

TEST(Compile, RecursionIsAnErrorNotACrash) {
  const auto compiled = compileForTest("int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n"
                                       "kernel void k(device int *a) { a[0] = f(a[1]); }\n");
  ASSERT_FALSE(compiled->ok);
  EXPECT_THAT(compiled->diagnostics, HasSubstr("'k'"));
}

// Of a method's overloads by space, each object takes its own; a class of SPIRV-Cross's making has five.
TEST(Compile, MethodsBySpace) {
  const auto compiled = compileForTest(R"(
#include <metal_stdlib>
using namespace metal;
template <class T, size_t N> struct Array {
  T elements[N ? N : 1];
  thread T &operator[](size_t i) thread { return elements[i]; }
  constexpr const thread T &operator[](size_t i) const thread { return elements[i]; }
  device T &operator[](size_t i) device { return elements[i]; }
  constexpr const device T &operator[](size_t i) const device { return elements[i]; }
  constexpr const constant T &operator[](size_t i) const constant { return elements[i]; }
  threadgroup T &operator[](size_t i) threadgroup { return elements[i]; }
  constexpr const threadgroup T &operator[](size_t i) const threadgroup { return elements[i]; }
};
struct Own {
  int value;
  int space() { return 10; }
  int space() device { return 11; }
  int space() threadgroup { return 13; }
  int fixed() const { return 20; }
  int fixed() const device { return 21; }
  int fixed() const constant { return 22; }
};
kernel void k(device int *out [[buffer(0)]], device Array<int, 4> &d [[buffer(1)]],
              constant Array<int, 4> &c [[buffer(2)]], device Own *od [[buffer(3)]],
              constant Own *oc [[buffer(4)]], uint lane [[thread_position_in_grid]]) {
  int i = int(lane) & 3;
  Array<int, 4> t;
  const Array<int, 4> u = {{1, 2, 3, 4}};
  threadgroup Array<int, 4> g;
  threadgroup Own og;
  t[i] = 3;
  g[i] = 4;
  d[i] = t[i] + g[i] + c[i] + u[i];
  device int *place = &d[i];
  *place += 1;
  Own o = od[0];
  const Own f = oc[0];
  out[0] = o.space() * 10000 + od[0].space() * 100 + og.space();
  out[1] = o.fixed() * 1000000 + f.fixed() * 10000 + od[0].fixed() * 100 + oc[0].fixed();
}
)");
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics;
  std::string text;
  llvm::raw_string_ostream(text) << *compiled->modules.front();
  EXPECT_NE(text.find("store i32 101113"), std::string::npos) << text;
  EXPECT_NE(text.find("store i32 20202122"), std::string::npos) << text;
}

// Files for renderers hold kernels beside functions of other stages, which are parsed and listed.
TEST(Compile, ListsFunctionsOfOtherStages) {
  compiler::SourceRequest request;
  request.source = R"(#include <metal_stdlib>
using namespace metal;
struct Vertex { float3 position [[attribute(0)]]; };
struct Varying {
  float4 position [[position]];
  float2 uv [[user(place)]];
  uint flags [[flat]];
};
struct Pixel { half4 color [[color(0)]]; float depth [[depth(any)]]; };
static float slope(float x) { return dfdx(x) + dfdy(x) + fwidth(x); }
vertex Varying placed(Vertex in [[stage_in]], constant float4x4 &m [[buffer(1)]], uint i [[vertex_id]]) {
  return {m * float4(in.position, 1), float2(in.position.xy), i};
}
[[early_fragment_tests]] fragment Pixel shaded(Varying in [[stage_in]], texture2d<half> image [[texture(0)]],
                                               sampler s [[sampler(0)]], bool front [[front_facing]]) {
  if (!front || slope(in.uv.x) > image.calculate_clamped_lod(s, in.uv))
    discard_fragment();
  return {image.sample(s, in.uv) * half(fwidth(in.uv).x), in.position.z};
}
template <class T> fragment vec<T, 4> plain(Varying in [[stage_in]]) { return vec<T, 4>(in.flags); }
template [[host_name("plain_half")]] fragment half4 plain<half>(Varying);
struct Tile { half4 color [[color(0)]]; };
kernel void tile(imageblock<Tile, imageblock_layout_implicit> pixels, ushort2 at [[thread_position_in_threadgroup]]) {
  Tile t = pixels.read(at);
  t.color.a = 1;
  pixels.write(t, at);
}
kernel void doubled(device float *a, uint i [[thread_position_in_grid]]) { a[i] *= 2; }
)";
  const auto image = compileSource(request);
  ASSERT_TRUE(image.has_value()) << image.error().message();
  EXPECT_THAT(image->diagnostics, HasSubstr("'tile' is a function for tiles"));
  const auto library = air::readMetallib(image->metallib);
  ASSERT_TRUE(library.has_value());
  std::map<std::string, air::MetallibFunctionKind> kinds;
  for (const air::MetallibFunction &function : library->functions)
    kinds[function.name] = function.kind;
  EXPECT_THAT(kinds, testing::UnorderedElementsAre(
                         testing::Pair("placed", air::MetallibFunctionKind::Vertex),
                         testing::Pair("shaded", air::MetallibFunctionKind::Fragment),
                         testing::Pair("plain_half", air::MetallibFunctionKind::Fragment),
                         testing::Pair("doubled", air::MetallibFunctionKind::Kernel)));
}

TEST(Compile, RefusesWhatOnlyFragmentFunctionsCall) {
  const auto compiled = compileForTest(R"(#include <metal_stdlib>
float slope(float x) { return metal::dfdx(x); }
kernel void k(device float *a, uint i [[thread_position_in_grid]]) { a[i] = slope(a[i]); }
)");
  EXPECT_FALSE(compiled->ok);
  EXPECT_THAT(compiled->diagnostics, HasSubstr("kernel 'k' calls 'dfdx', which only fragment functions can"));
}

TEST(Compile, CastsBetweenHalfAndBfloat) {
  const auto compiled = compileForTest(R"(#include <metal_stdlib>
using namespace metal;
template <class To, class From> To cast(From x) { return (To)x; }
kernel void k(device half *h, device bfloat *b, uint i [[thread_position_in_grid]]) {
  h[i] = (half)b[i] + static_cast<half>(b[i + 1]) + half(b[i + 2]) + cast<half>(b[i + 3]);
  b[i] = (bfloat)-h[i] + bfloat(h[i + 1]);
  *reinterpret_cast<device half4 *>(h) = (half4)bfloat4(b[i]);
}
)");
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics;
}

TEST(Compile, InlinesLongChainsOfCalls) {
  std::string source = "#include <metal_stdlib>\nint f0(int x, device int *a) { return a[x]; }\n";
  for (unsigned i = 1; i <= 300; ++i)
    source += fmt::format("int f{}(int x, device int *a) {{ return f{}(x ^ a[x], a); }}\n", i, i - 1);
  const auto compiled = compileForTest(source + "kernel void k(device int *a) { a[0] = f300(a[1], a); }\n");
  EXPECT_TRUE(compiled->ok) << compiled->diagnostics;
}

} // namespace
} // namespace pewter::msl
