// SPDX-License-Identifier: Apache-2.0
#include "cpu/codegen/target/TabulateCodes.h"
#include "cpu/codegen/target/RunBlob_testing.h"
#include <llvm/IR/Verifier.h>

namespace pewter::cpu::codegen {
namespace {

using compiler::TargetKind;

/// A function from 32 bytes at %in, behind which a scale and a minimum lie, to 32 floats.
std::string functionOf(const std::string &body) {
  return "declare <32 x float> @llvm.fma.v32f32(<32 x float>, <32 x float>, <32 x float>)\n"
         "define void @k(ptr %in, ptr %out) {\n"
         "  %bytes = load <32 x i8>, ptr %in, align 1\n"
         "  %wide = zext <32 x i8> %bytes to <32 x i32>\n"
         "  %low = and <32 x i32> %wide, splat (i32 15)\n"
         "  %high = lshr <32 x i32> %wide, splat (i32 4)\n"
         "  %ps = getelementptr i8, ptr %in, i64 32\n"
         "  %s = load float, ptr %ps, align 1\n"
         "  %si = insertelement <4 x float> poison, float %s, i64 0\n"
         "  %scale = shufflevector <4 x float> %si, <4 x float> poison, <32 x i32> zeroinitializer\n"
         "  %pm = getelementptr i8, ptr %in, i64 36\n"
         "  %m = load float, ptr %pm, align 1\n"
         "  %mi = insertelement <4 x float> poison, float %m, i64 0\n"
         "  %min = shufflevector <4 x float> %mi, <4 x float> poison, <32 x i32> zeroinitializer\n" +
         body + "  store <32 x float> %r, ptr %out, align 4\n  ret void\n}\n";
}

unsigned expressionsIn(const std::string &body) {
  llvm::LLVMContext context;
  auto module = parseText(functionOf(body).c_str(), context);
  if (!module)
    return ~0u;
  unsigned count = tabulateCodes(*module->getFunction("k"));
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  return count;
}

/// Results of a body with AVX-512, which tabulates, and with AVX2, which does not.
void expectSameBits(const std::string &body) {
  if (!canRun(TargetKind::CpuAvx512))
    GTEST_SKIP() << "This machine does not run AVX-512.";
  struct {
    uint8_t codes[32];
    float scale = 0.037f, minimum = 1.25e-3f;
  } in;
  for (int i = 0; i < 32; ++i)
    in.codes[i] = static_cast<uint8_t>(i * 73 + 5);
  std::vector<std::array<uint32_t, 32>> results;
  for (TargetKind kind : {TargetKind::CpuAvx512, TargetKind::CpuAvx2}) {
    auto blob = LoadedBlob::fromText(functionOf(body).c_str(), kind, {"k"});
    ASSERT_TRUE(blob) << blob.error().message();
    reinterpret_cast<void (*)(const void *, void *)>((*blob)->entry("k"))(
        &in, results.emplace_back().data());
  }
  EXPECT_EQ(results[0], results[1]);
}

const std::string kScaled = "  %f = uitofp <32 x i32> %low to <32 x float>\n"
                            "  %p = fmul <32 x float> %f, %scale\n"
                            "  %r = fsub <32 x float> %p, %min\n";
const std::string kHigh = "  %f = uitofp <32 x i32> %high to <32 x float>\n"
                          "  %r = call <32 x float> @llvm.fma.v32f32(<32 x float> %f, <32 x float> "
                          "%scale, <32 x float> %min)\n";
/// A float of four bits, by tests and bits.
const std::string kSmallFloat = "  %magnitude = and <32 x i32> %low, splat (i32 7)\n"
                                "  %tiny = icmp ult <32 x i32> %magnitude, splat (i32 2)\n"
                                "  %up = shl <32 x i32> %magnitude, splat (i32 22)\n"
                                "  %normal = add <32 x i32> %up, splat (i32 1056964608)\n"
                                "  %bits = select <32 x i1> %tiny, <32 x i32> %magnitude, <32 x i32> %normal\n"
                                "  %f = bitcast <32 x i32> %bits to <32 x float>\n"
                                "  %r = fmul <32 x float> %f, %scale\n";
/// The inner expression is used by itself too.
const std::string kNested = "  %f = uitofp <32 x i32> %low to <32 x float>\n"
                            "  %p = fmul <32 x float> %f, %scale\n"
                            "  %q = fsub <32 x float> %p, %min\n"
                            "  %t = fmul <32 x float> %q, %scale\n"
                            "  %u = fadd <32 x float> %t, splat (float 3.0)\n"
                            "  %x = uitofp <32 x i32> %wide to <32 x float>\n"
                            "  %y = fmul <32 x float> %x, %q\n"
                            "  %r = fsub <32 x float> %y, %u\n";

TEST(TabulateCodes, AnExpressionOfACodeAndSharedValuesIsLookedUp) {
  EXPECT_EQ(expressionsIn(kScaled), 1u);
  EXPECT_EQ(expressionsIn(kHigh), 1u);
  EXPECT_EQ(expressionsIn(kSmallFloat), 1u);
  EXPECT_EQ(expressionsIn(kNested), 2u);
}

TEST(TabulateCodes, ResultsKeepTheirBits) {
  for (const std::string &body : {kScaled, kHigh, kSmallFloat, kNested})
    expectSameBits(body);
}

TEST(TabulateCodes, LargerCodesOtherVectorsAndSingleOperationsStay) {
  EXPECT_EQ(expressionsIn("  %f = uitofp <32 x i32> %wide to <32 x float>\n"
                          "  %p = fmul <32 x float> %f, %scale\n"
                          "  %r = fsub <32 x float> %p, %min\n"),
            0u);
  EXPECT_EQ(expressionsIn("  %r = uitofp <32 x i32> %low to <32 x float>\n"), 0u);
  EXPECT_EQ(expressionsIn("  %sum = add <32 x i32> %low, %high\n"
                          "  %f = uitofp <32 x i32> %sum to <32 x float>\n"
                          "  %p = fmul <32 x float> %f, %scale\n"
                          "  %r = fsub <32 x float> %p, %min\n"),
            0u);
}

} // namespace
} // namespace pewter::cpu::codegen
