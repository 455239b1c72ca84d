// SPDX-License-Identifier: Apache-2.0
#include "cpu/codegen/target/LowerArithmetic.h"
#include "cpu/codegen/target/RunBlob_testing.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace pewter::cpu::codegen {
namespace {

using compiler::TargetKind;

// Each function under test maps arrays of bits to arrays of bits, so that no calling convention or
// compiler of the test itself touches the values.
constexpr const char *kScalar = R"(
define void @half_to_float(ptr %in, ptr %out) {
  %h = load half, ptr %in
  %f = fpext half %h to float
  store float %f, ptr %out
  ret void
}
define void @float_to_half(ptr %in, ptr %out) {
  %f = load float, ptr %in
  %h = fptrunc float %f to half
  store half %h, ptr %out
  ret void
}
define void @float_to_bfloat(ptr %in, ptr %out) {
  %f = load float, ptr %in
  %h = fptrunc float %f to bfloat
  store bfloat %h, ptr %out
  ret void
}
define void @fma_float(ptr %in, ptr %out) {
  %v = load <3 x float>, ptr %in, align 4
  %a = extractelement <3 x float> %v, i32 0
  %b = extractelement <3 x float> %v, i32 1
  %c = extractelement <3 x float> %v, i32 2
  %f = call float @llvm.fma.f32(float %a, float %b, float %c)
  store float %f, ptr %out
  ret void
}
define void @fma_half(ptr %in, ptr %out) {
  %v = load <3 x half>, ptr %in, align 2
  %a = extractelement <3 x half> %v, i32 0
  %b = extractelement <3 x half> %v, i32 1
  %c = extractelement <3 x half> %v, i32 2
  %f = call half @llvm.fma.f16(half %a, half %b, half %c)
  store half %f, ptr %out
  ret void
}
define void @fma_vector(ptr %in, ptr %out) {
  %a = load <32 x float>, ptr %in, align 4
  %bp = getelementptr float, ptr %in, i64 32
  %b = load <32 x float>, ptr %bp, align 4
  %cp = getelementptr float, ptr %in, i64 64
  %c = load <32 x float>, ptr %cp, align 4
  %f = call <32 x float> @llvm.fma.v32f32(<32 x float> %a, <32 x float> %b, <32 x float> %c)
  store <32 x float> %f, ptr %out, align 4
  ret void
}
define void @half_arithmetic(ptr %in, ptr %out) {
  %v = load <4 x half>, ptr %in, align 2
  %w = shufflevector <4 x half> %v, <4 x half> poison, <4 x i32> <i32 1, i32 2, i32 3, i32 0>
  %sum = fadd <4 x half> %v, %w
  %product = fmul <4 x half> %v, %w
  %negative = fneg <4 x half> %v
  %absolute = call <4 x half> @llvm.fabs.v4f16(<4 x half> %negative)
  %smaller = call <4 x half> @llvm.minnum.v4f16(<4 x half> %v, <4 x half> %w)
  %root = call <4 x half> @llvm.sqrt.v4f16(<4 x half> %absolute)
  %less = fcmp olt <4 x half> %v, %w
  %chosen = select <4 x i1> %less, <4 x half> %root, <4 x half> %product
  %i = call <4 x i32> @llvm.fptosi.sat.v4i32.v4f16(<4 x half> %v)
  %f = sitofp <4 x i32> %i to <4 x half>
  store <4 x half> %sum, ptr %out, align 2
  %p1 = getelementptr i8, ptr %out, i64 8
  store <4 x half> %chosen, ptr %p1, align 2
  %p2 = getelementptr i8, ptr %out, i64 16
  store <4 x half> %smaller, ptr %p2, align 2
  %p3 = getelementptr i8, ptr %out, i64 24
  store <4 x half> %f, ptr %p3, align 2
  %p4 = getelementptr i8, ptr %out, i64 32
  store <4 x half> %absolute, ptr %p4, align 2
  ret void
}
define void @bfloat_arithmetic(ptr %in, ptr %out) {
  %v = load <4 x bfloat>, ptr %in, align 2
  %w = shufflevector <4 x bfloat> %v, <4 x bfloat> poison, <4 x i32> <i32 1, i32 2, i32 3, i32 0>
  %sum = fadd <4 x bfloat> %v, %w
  %product = fmul <4 x bfloat> %sum, %w
  %fused = call <4 x bfloat> @llvm.fma.v4bf16(<4 x bfloat> %v, <4 x bfloat> %w, <4 x bfloat> %sum)
  store <4 x bfloat> %sum, ptr %out, align 2
  %p1 = getelementptr i8, ptr %out, i64 8
  store <4 x bfloat> %product, ptr %p1, align 2
  %p2 = getelementptr i8, ptr %out, i64 16
  store <4 x bfloat> %fused, ptr %p2, align 2
  ret void
}
declare float @llvm.fma.f32(float, float, float)
declare half @llvm.fma.f16(half, half, half)
declare <32 x float> @llvm.fma.v32f32(<32 x float>, <32 x float>, <32 x float>)
declare <4 x half> @llvm.fabs.v4f16(<4 x half>)
declare <4 x half> @llvm.minnum.v4f16(<4 x half>, <4 x half>)
declare <4 x half> @llvm.sqrt.v4f16(<4 x half>)
declare <4 x i32> @llvm.fptosi.sat.v4i32.v4f16(<4 x half>)
declare <4 x bfloat> @llvm.fma.v4bf16(<4 x bfloat>, <4 x bfloat>, <4 x bfloat>)
)";

using Function = void (*)(const void *, void *);

struct Built {
  std::unique_ptr<LoadedBlob> blob;
  Function operator[](const char *name) const {
    return reinterpret_cast<Function>(blob->entry(name));
  }
};

Built build(TargetKind kind) {
  auto blob =
      LoadedBlob::fromText(kScalar, kind,
                           {"half_to_float", "float_to_half", "float_to_bfloat", "fma_float",
                            "fma_half", "fma_vector", "half_arithmetic", "bfloat_arithmetic"});
  EXPECT_TRUE(blob.has_value()) << blob.error().describe();
  return {std::move(*blob)};
}

uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }

/// Random floats of every magnitude, with the special ones often.
uint32_t randomBits(std::mt19937 &random) {
  static const uint32_t special[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
                                     1,          0x807fffff, 0x00800000, 0x3f800000, 0x477fefff,
                                     0x477ff000, 0x38800000, 0x33000000, 0x33000001, 0x387fffff};
  return random() % 8 == 0 ? special[random() % std::size(special)] : random();
}

class LowerArithmetic : public testing::Test {
protected:
  void SetUp() override {
    if (!canRun(TargetKind::CpuAvx2))
      GTEST_SKIP() << "this machine has no AVX2";
    baseline = build(TargetKind::CpuBaseline);
    hardware = build(TargetKind::CpuAvx2);
  }
  Built baseline, hardware;
};

TEST_F(LowerArithmetic, EveryHalfWidensAsTheHardwareDoes) {
  for (uint32_t i = 0; i < 0x10000; ++i) {
    uint16_t half = uint16_t(i);
    uint32_t soft = 1, hard = 2;
    baseline["half_to_float"](&half, &soft);
    hardware["half_to_float"](&half, &hard);
    ASSERT_EQ(soft, hard) << std::hex << i;
  }
}

TEST_F(LowerArithmetic, FloatsNarrowAsTheHardwareDoes) {
  std::mt19937 random(7);
  auto soft = baseline["float_to_half"], hard = hardware["float_to_half"];
  for (int i = 0; i < 2000000; ++i) {
    // Half of the values near half's range, where the rounding happens.
    uint32_t bits = randomBits(random);
    if (i % 2)
      bits = (bits & 0x807fffff) | ((100 + (bits >> 23) % 45) << 23);
    uint16_t a = 1, b = 2;
    soft(&bits, &a);
    hard(&bits, &b);
    ASSERT_EQ(a, b) << std::hex << bits;
  }
}

TEST_F(LowerArithmetic, FusedMultiplyAddIsRoundedOnce) {
  std::mt19937 random(11);
  auto soft = baseline["fma_float"], hard = hardware["fma_float"];
  for (int i = 0; i < 2000000; ++i) {
    uint32_t in[3] = {randomBits(random), randomBits(random), randomBits(random)};
    if (i % 2) { // Let the product and the addend nearly meet.
      float product = std::bit_cast<float>(in[0]) * std::bit_cast<float>(in[1]);
      in[2] = bitsOf(-product) + random() % 5 - 2;
    }
    uint32_t a = 1, b = 2;
    soft(in, &a);
    hard(in, &b);
    bool bothNaN = std::isnan(std::bit_cast<float>(a)) && std::isnan(std::bit_cast<float>(b));
    ASSERT_TRUE(a == b || bothNaN) << std::hex << in[0] << " " << in[1] << " " << in[2];
  }
}

TEST_F(LowerArithmetic, VectorsAgreeWithScalars) {
  std::mt19937 random(13);
  for (int i = 0; i < 2000; ++i) {
    uint32_t in[96], out[32];
    for (uint32_t &bits : in)
      bits = 0x3f000000 + random() % 0x02000000;
    baseline["fma_vector"](in, out);
    for (int lane = 0; lane < 32; ++lane)
      ASSERT_EQ(out[lane],
                bitsOf(std::fma(std::bit_cast<float>(in[lane]), std::bit_cast<float>(in[lane + 32]),
                                std::bit_cast<float>(in[lane + 64]))));
  }
}

double doubleOfHalf(uint16_t half, Function widen) {
  float value;
  widen(&half, &value);
  return double(value);
}

// The exact value of a * b + c fits in long double here (11 + 11 digits and a bounded exponent
// range), so one conversion of it is the correctly rounded result.
TEST_F(LowerArithmetic, HalfFusedMultiplyAddIsRoundedOnce) {
  std::mt19937 random(17);
  for (const Built *target : {&baseline, &hardware})
    for (int i = 0; i < 300000; ++i) {
      uint16_t in[3];
      for (uint16_t &half : in)
        half = uint16_t((random() & 0x83ff) | ((8 + random() % 12) << 10));
      uint16_t out;
      (*target)["fma_half"](in, &out);
      Function widen = hardware["half_to_float"];
      double exact =
          doubleOfHalf(in[0], widen) * doubleOfHalf(in[1], widen) + doubleOfHalf(in[2], widen);
      double got = doubleOfHalf(out, widen);
      // Nearest: neither neighbour is closer.
      for (int step : {-1, 1}) {
        double neighbour = doubleOfHalf(uint16_t(out + step), widen);
        if (std::isnan(neighbour)) // There is none below zero's bits.
          continue;
        ASSERT_LE(std::abs(got - exact), std::abs(neighbour - exact))
            << std::hex << in[0] << " " << in[1] << " " << in[2] << " gives " << out;
      }
    }
}

TEST_F(LowerArithmetic, NarrowArithmeticGivesTheSameBits) {
  std::mt19937 random(19);
  for (const char *name : {"half_arithmetic", "bfloat_arithmetic"}) {
    auto soft = baseline[name], hard = hardware[name];
    for (int i = 0; i < 100000; ++i) {
      uint16_t in[4];
      for (uint16_t &bits : in) // Finite: the payload of a NaN is nobody's promise.
        bits = uint16_t(random() & (name[0] == 'h' ? 0xbbff : 0xbf7f));
      uint16_t a[20] = {}, b[20] = {};
      soft(in, a);
      hard(in, b);
      for (int k = 0; k < 20; ++k)
        ASSERT_EQ(a[k], b[k]) << name << " result " << k << std::hex << " of " << in[0] << " "
                              << in[1] << " " << in[2] << " " << in[3];
    }
  }
}

TEST_F(LowerArithmetic, BFloatRoundsToNearestEven) {
  auto narrow = hardware["float_to_bfloat"];
  auto result = [&](uint32_t bits) {
    uint16_t out;
    narrow(&bits, &out);
    return out;
  };
  EXPECT_EQ(result(0x3f808000), 0x3f80); // A tie goes to even,
  EXPECT_EQ(result(0x3f818000), 0x3f82); // up as well as down;
  EXPECT_EQ(result(0x3f808001), 0x3f81);
  EXPECT_EQ(result(0x00008001), 0x0001); // denormals are kept;
  EXPECT_EQ(result(0x7f7fffff), 0x7f80); // overflow gives infinity;
  EXPECT_EQ(result(0x7f800001), 0x7fc0); // a NaN stays one.
}

/// k(in, out): 16 conversions.
std::string saturating(const std::string &from, const std::string &to, bool isSigned) {
  std::string source = "<16 x " + from + ">", target = "<16 x " + to + ">";
  std::string name = std::string("@llvm.fpto") + (isSigned ? "s" : "u") + "i.sat.v16" + to + ".v16f" +
                     (from == "float" ? "32" : "16");
  return "declare " + target + " " + name + "(" + source + ")\n" +
         "define void @k(ptr %in, ptr %out) {\n"
         "  %x = load " + source + ", ptr %in, align 2\n" +
         "  %y = call " + target + " " + name + "(" + source + " %x)\n" +
         "  store " + target + " %y, ptr %out, align 1\n  ret void\n}\n";
}

template <class Integer> Integer saturated(float value) {
  if (std::isnan(value))
    return 0;
  if (value <= float(std::numeric_limits<Integer>::min()))
    return std::numeric_limits<Integer>::min();
  return value >= std::ldexp(1.0f, std::numeric_limits<Integer>::digits) ? std::numeric_limits<Integer>::max()
                                                                        : Integer(value);
}

template <class Integer> void checkSaturation(TargetKind kind, const std::string &type) {
  SCOPED_TRACE(::testing::Message() << "target " << int(kind) << ", " << type
                                    << (std::is_signed_v<Integer> ? " signed" : " unsigned"));
  auto blob = LoadedBlob::fromText(saturating("float", type, std::is_signed_v<Integer>).c_str(), kind, {"k"});
  ASSERT_TRUE(blob.has_value()) << blob.error().describe();
  auto run = reinterpret_cast<void (*)(const float *, Integer *)>((*blob)->entry("k"));
  std::mt19937 random(3);
  const float edges[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 0.99f, -0.99f, -1.0f, 127.5f, -128.5f, 255.9f, 256.0f,
                         32767.9f, 65535.9f, 2147483520.0f, 2147483648.0f, -2147483648.0f, -2147483904.0f,
                         4294967040.0f, 4294967296.0f, 9.2233715e18f, 9.223372e18f, -9.223372e18f, -9.223373e18f,
                         1.8446743e19f, 1.8446744e19f, 3e38f, 1e-40f};
  for (int round = 0; round < 200; ++round) {
    float in[16];
    Integer out[16];
    for (float &value : in)
      value = random() % 2 ? edges[random() % std::size(edges)]
                           : std::ldexp(float(int(random())), int(random() % 70) - 50);
    run(in, out);
    for (int i = 0; i < 16; ++i)
      ASSERT_EQ(out[i], saturated<Integer>(in[i])) << in[i];
  }
}

TEST_F(LowerArithmetic, VectorsSaturateAtEveryWidth) {
  for (TargetKind kind : {TargetKind::CpuAvx512, TargetKind::CpuAvx2, TargetKind::CpuBaseline}) {
    if (!canRun(kind))
      continue;
    checkSaturation<int8_t>(kind, "i8");
    checkSaturation<uint8_t>(kind, "i8");
    checkSaturation<int16_t>(kind, "i16");
    checkSaturation<uint16_t>(kind, "i16");
    checkSaturation<int32_t>(kind, "i32");
    checkSaturation<uint32_t>(kind, "i32");
    checkSaturation<int64_t>(kind, "i64");
    checkSaturation<uint64_t>(kind, "i64");
  }
}

// A conversion a register, not one an element.
TEST_F(LowerArithmetic, VectorsSaturateAsVectors) {
  for (bool isSigned : {true, false})
    for (const char *from : {"float", "half"}) {
      llvm::LLVMContext context;
      auto module = parseText(saturating(from, "i32", isSigned).c_str(), context);
      auto assembly = generateAssembly(*module, TargetKind::CpuAvx512);
      ASSERT_TRUE(assembly.has_value());
      EXPECT_EQ(assembly->find("ucomiss"), std::string::npos) << from << *assembly;
    }
}

} // namespace
} // namespace pewter::cpu::codegen
