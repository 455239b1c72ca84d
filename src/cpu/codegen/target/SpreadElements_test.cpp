// SPDX-License-Identifier: Apache-2.0
#include "cpu/codegen/target/SpreadElements.h"
#include "cpu/codegen/target/RunBlob_testing.h"
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Verifier.h>

namespace pewter::cpu::codegen {
namespace {

using compiler::TargetKind;

std::string spread(const std::string &from, int lanes, std::initializer_list<int> elements) {
  std::string mask;
  for (int element : elements)
    for (int i = 0; i < lanes / int(elements.size()); ++i)
      mask += (mask.empty() ? "i32 " : ", i32 ") + std::to_string(element);
  return "shufflevector <4 x float> " + from + ", <4 x float> poison, <" + std::to_string(lanes) +
         " x i32> <" + mask + ">\n";
}

/// Sums of the spread elements of a product of four floats at %in with themselves.
std::string sumOf(std::initializer_list<std::initializer_list<int>> all) {
  std::string text = "define void @k(ptr %in, ptr %out) {\n"
                     "  %v = load <4 x float>, ptr %in, align 4\n"
                     "  %w = fmul <4 x float> %v, %v\n"
                     "  %sum0 = fadd <32 x float> zeroinitializer, splat (float 1.0)\n";
  int n = 0;
  for (auto elements : all) {
    std::string now = std::to_string(n), next = std::to_string(n + 1);
    text += "  %s" + now + " = " + spread("%w", 32, elements) + "  %sum" + next +
            " = fadd <32 x float> %sum" + now + ", %s" + now + "\n";
    ++n;
  }
  return text + "  store <32 x float> %sum" + std::to_string(n) + ", ptr %out, align 4\n  ret void\n}\n";
}

const char *kHalf = "define void @k(ptr %in, ptr %out) {\n"
                    "  %h = load half, ptr %in, align 2\n"
                    "  %f = fpext half %h to float\n"
                    "  %i = insertelement <32 x float> poison, float %f, i64 0\n"
                    "  %r = shufflevector <32 x float> %i, <32 x float> poison, <32 x i32> zeroinitializer\n"
                    "  %j = insertelement <4 x float> poison, float %f, i64 0\n"
                    "  %q = shufflevector <4 x float> %j, <4 x float> poison, <4 x i32> zeroinitializer\n"
                    "  %end = getelementptr i8, ptr %out, i64 128\n"
                    "  store <4 x float> %q, ptr %end, align 4\n"
                    "  store <32 x float> %r, ptr %out, align 4\n  ret void\n}\n";

unsigned countAfter(const std::string &text, unsigned opcode) {
  llvm::LLVMContext context;
  auto module = parseText(text.c_str(), context);
  if (!module)
    return ~0u;
  spreadElements(*module->getFunction("k"));
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  unsigned count = 0;
  for (llvm::Instruction &instruction : llvm::instructions(*module->getFunction("k")))
    count += instruction.getOpcode() == opcode;
  return count;
}

std::vector<float> runOn(const std::string &text, const void *in) {
  auto blob = LoadedBlob::fromText(text.c_str(), TargetKind::CpuAvx512, {"k"});
  EXPECT_TRUE(blob) << blob.error().message();
  std::vector<float> out(36);
  if (blob)
    reinterpret_cast<void (*)(const void *, void *)>((*blob)->entry("k"))(in, out.data());
  return out;
}

TEST(SpreadElements, ThreeElementsOfOneVectorGoThroughMemory) {
  EXPECT_EQ(countAfter(sumOf({{0}, {1}, {3}}), llvm::Instruction::Alloca), 1u);
  EXPECT_EQ(countAfter(sumOf({{0, 1}, {2, 3}}), llvm::Instruction::Alloca), 1u);
  EXPECT_EQ(countAfter(sumOf({{0}, {1}}), llvm::Instruction::Alloca), 0u);
}

TEST(SpreadElements, ElementsArriveWhereTheyWere) {
  if (!canRun(TargetKind::CpuAvx512))
    GTEST_SKIP() << "This machine does not run AVX-512.";
  const float in[4] = {1, 2, 3, 4};
  std::vector<float> sums = runOn(sumOf({{0, 1}, {2}, {3, 0}}), in);
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(sums[i], 1 + (i < 16 ? 1 + 9 + 16 : 4 + 9 + 1)) << i;
}

TEST(SpreadElements, AHalfIsSpreadBeforeItIsWidened) {
  EXPECT_EQ(countAfter(kHalf, llvm::Instruction::FPExt), 2u);
  if (!canRun(TargetKind::CpuAvx512))
    GTEST_SKIP() << "This machine does not run AVX-512.";
  for (uint16_t bits : {0x0000, 0x8000, 0x0001, 0x83ff, 0x3c00, 0x7bff, 0x7c00, 0xfc00}) {
    _Float16 half;
    std::memcpy(&half, &bits, 2);
    std::vector<float> out = runOn(kHalf, &bits);
    for (float value : out)
      EXPECT_EQ(value, static_cast<float>(half));
  }
}

} // namespace
} // namespace pewter::cpu::codegen
