// SPDX-License-Identifier: Apache-2.0
#include "cpu/codegen/transform/FindDots.h"
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

namespace pewter::cpu::codegen {
namespace {

/// The names of the calls that a function gets, in order, and what else is left of it.
struct Found {
  std::vector<std::string> calls;
  unsigned multiplications = 0, loads = 0, instructions = 0;
};

Found foundIn(const std::string &body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(
      "define i32 @k(ptr %p, ptr %q, i32 %a, i32 %b, i32 %c, i32 %d, i32 %sum) {\nentry:\n" + body + "}\n",
      diagnostic, context);
  if (!module) {
    ADD_FAILURE() << diagnostic.getMessage().str() << " at line " << diagnostic.getLineNo();
    return {};
  }
  llvm::Function &function = *module->getFunction("k");
  unsigned count = findDots(function);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  Found found;
  for (llvm::Instruction &instruction : llvm::instructions(function)) {
    ++found.instructions;
    found.loads += llvm::isa<llvm::LoadInst>(instruction);
    found.multiplications += instruction.getOpcode() == llvm::Instruction::Mul;
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
      found.calls.push_back(call->getCalledFunction()->getName().str());
  }
  EXPECT_EQ(count, found.calls.size());
  return found;
}

/// Byte `i` of %`word` as 32 bits, named %`word``i`.
std::string byteOf(const std::string &word, unsigned i, bool isSigned) {
  std::string name = "%" + word + std::to_string(i), step = "%t" + word + std::to_string(i);
  std::string bits = std::to_string(isSigned ? 24 - 8 * i : 8 * i);
  if (isSigned)
    return "  " + step + " = shl i32 %" + word + ", " + bits + "\n  " + name + " = ashr i32 " + step + ", 24\n";
  return "  " + step + " = lshr i32 %" + word + ", " + bits + "\n  " + name + " = and i32 " + step + ", 255\n";
}

/// The four products of bytes of %a and %b as %p0 to %p3, added up with %sum as %s3.
std::string fourProducts(bool aIsSigned, bool bIsSigned, unsigned lastOfB = 3) {
  std::string text;
  for (unsigned i = 0; i < 4; ++i) {
    text += byteOf("a", i, aIsSigned) + byteOf("b", i, bIsSigned);
  }
  for (unsigned i = 0; i < 4; ++i) {
    std::string n = std::to_string(i);
    text += "  %p" + n + " = mul i32 %a" + n + ", %b" + std::to_string(i == 3 ? lastOfB : i) + "\n";
    text += "  %s" + n + " = add i32 " + (i ? "%s" + std::to_string(i - 1) : "%sum") + ", %p" + n + "\n";
  }
  return text;
}

TEST(FindDots, BytesOfWordsInEveryMixOfSigns) {
  EXPECT_EQ(foundIn(fourProducts(false, true) + "  ret i32 %s3\n").calls,
            std::vector<std::string>{"pewter.dot.us.i32"});
  EXPECT_EQ(foundIn(fourProducts(true, false) + "  ret i32 %s3\n").calls,
            std::vector<std::string>{"pewter.dot.us.i32"});
  EXPECT_EQ(foundIn(fourProducts(true, true) + "  ret i32 %s3\n").calls,
            std::vector<std::string>{"pewter.dot.ss.i32"});
  Found found = foundIn(fourProducts(false, false) + "  ret i32 %s3\n");
  EXPECT_EQ(found.calls, std::vector<std::string>{"pewter.dot.uu.i32"});
  EXPECT_EQ(found.instructions, 2u) << "nothing is left but the call and the return";
}

TEST(FindDots, VectorsOfBytesAreLoadedAsWords) {
  Found found = foundIn(R"(
  %va = load <4 x i8>, ptr %p, align 4
  %vb = load <4 x i8>, ptr %q, align 1
  %wa = sext <4 x i8> %va to <4 x i32>
  %wb = zext <4 x i8> %vb to <4 x i32>
  %products = mul nsw <4 x i32> %wa, %wb
  %e0 = extractelement <4 x i32> %products, i64 0
  %e1 = extractelement <4 x i32> %products, i64 1
  %e2 = extractelement <4 x i32> %products, i64 2
  %e3 = extractelement <4 x i32> %products, i64 3
  %x = add i32 %e0, %e1
  %y = add i32 %e3, %e2
  %z = add nsw i32 %x, %y
  ret i32 %z
)");
  EXPECT_EQ(found.calls, std::vector<std::string>{"pewter.dot.us.i32"});
  EXPECT_EQ(found.instructions, 4u) << "two loads, the call, the return";
}

TEST(FindDots, WhatSeveralProductsShareIsLoadedOnce) {
  std::string text = "  %shared = load <4 x i8>, ptr %p, align 4\n  %ws = sext <4 x i8> %shared to <4 x i32>\n";
  for (unsigned k = 0; k < 2; ++k) {
    std::string n = std::to_string(k);
    text += "  %v" + n + " = bitcast i32 %" + (k ? "b" : "a") + " to <4 x i8>\n  %w" + n + " = zext <4 x i8> %v" + n +
            " to <4 x i32>\n  %m" + n + " = mul <4 x i32> %ws, %w" + n + "\n";
    for (unsigned i = 0; i < 4; ++i)
      text += "  %e" + n + std::to_string(i) + " = extractelement <4 x i32> %m" + n + ", i64 " + std::to_string(i) + "\n";
    text += "  %x" + n + " = add i32 %e" + n + "0, %e" + n + "1\n  %y" + n + " = add i32 %e" + n + "2, %e" + n +
            "3\n  %z" + n + " = add i32 %x" + n + ", %y" + n + "\n";
  }
  Found found = foundIn(text + "  %both = xor i32 %z0, %z1\n  ret i32 %both\n");
  EXPECT_EQ(found.calls, (std::vector<std::string>{"pewter.dot.us.i32", "pewter.dot.us.i32"}));
  EXPECT_EQ(found.loads, 1u);
}

TEST(FindDots, TwoProductsInOneSumAndAnotherTerm) {
  std::string text = fourProducts(true, true);
  for (unsigned i = 0; i < 4; ++i)
    text += byteOf("c", i, false) + byteOf("d", i, true);
  for (unsigned i = 0; i < 4; ++i) {
    std::string n = std::to_string(i);
    text += "  %q" + n + " = mul i32 %c" + n + ", %d" + n + "\n";
    text += "  %r" + n + " = add i32 " + (i ? "%r" + std::to_string(i - 1) : "%s3") + ", %q" + n + "\n";
  }
  Found found = foundIn(text + "  %other = mul i32 %c, %d\n  %end = add i32 %r3, %other\n  ret i32 %end\n");
  EXPECT_EQ(found.calls, (std::vector<std::string>{"pewter.dot.ss.i32", "pewter.dot.us.i32"}));
  EXPECT_EQ(found.multiplications, 1u);
}

TEST(FindDots, OthersAreLeftAsTheyAre) {
  // Byte 3 of a times byte 2 of b.
  EXPECT_TRUE(foundIn(fourProducts(true, true, /*lastOfB=*/2) + "  ret i32 %s3\n").calls.empty());
  // Three products.
  EXPECT_TRUE(foundIn(fourProducts(true, true) + "  ret i32 %s2\n").calls.empty());
  // One of them twice.
  EXPECT_TRUE(foundIn(fourProducts(true, true) + "  %t = add i32 %s3, %p0\n  ret i32 %t\n").calls.empty());
  // A sum that is wanted before it is complete.
  Found found = foundIn(fourProducts(true, true) + "  store i32 %s1, ptr %p\n  ret i32 %s3\n");
  EXPECT_TRUE(found.calls.empty());
  EXPECT_EQ(found.multiplications, 4u);
}

} // namespace
} // namespace pewter::cpu::codegen
