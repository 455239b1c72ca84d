// SPDX-License-Identifier: Apache-2.0
#include "cpu/codegen/transform/InsertPrefetches.h"
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

namespace pewter::cpu::codegen {
namespace {

using air::Builtin;

/// A kernel with buffers p and q, the built-ins `group`, `sg`, `lane`, `gid` and `thread`, and the number %pitch.
class Prefetched {
public:
  explicit Prefetched(const std::string &body, bool tiles = false) {
    llvm::SMDiagnostic diagnostic;
    module_ = llvm::parseAssemblyString(
        "declare i32 @llvm.umin.i32(i32, i32)\n"
        "declare <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.f(<64 x float>, <64 x float>, "
        "<64 x float>)\n"
        "define void @k(ptr addrspace(1) %p, ptr addrspace(1) %q, i64 %pitch, i32 %group, i32 %sg, "
        "i32 %lane, i32 %gid, i32 %thread) {\nentry:\n" + body + "}\n",
        diagnostic, context_);
    if (!module_) {
      ADD_FAILURE() << diagnostic.getMessage().str();
      return;
    }
    llvm::Function &function = *module_->getFunction("k");
    air::KernelReflection reflection;
    for (llvm::Argument &argument : function.args()) {
      air::Argument described;
      described.parameter = argument.getArgNo();
      llvm::StringRef name = argument.getName();
      described.builtin = name == "group"  ? Builtin::ThreadgroupPositionInGrid
                          : name == "sg"   ? Builtin::SimdgroupIndexInThreadgroup
                          : name == "lane" ? Builtin::ThreadIndexInSimdgroup
                          : name == "gid"  ? Builtin::ThreadPositionInGrid
                          : name == "thread" ? Builtin::ThreadIndexInThreadgroup
                                           : Builtin::None;
      reflection.arguments.push_back(described);
    }
    count = tiles ? prefetchNextTiles(function, reflection) : insertPrefetches(function, reflection);
    EXPECT_FALSE(llvm::verifyModule(*module_, &llvm::errs()));
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
          call && call->getIntrinsicID() == llvm::Intrinsic::prefetch) {
        auto *address = llvm::cast<llvm::GetElementPtrInst>(call->getArgOperand(0));
        std::string text;
        llvm::raw_string_ostream(text) << *address->getOperand(1);
        distances.push_back(text);
      }
  }

  unsigned count = 0;
  std::vector<std::string> distances;

private:
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

/// A loop of 64 steps that loads a float at %base + 4 * (step * 32 + lane).
std::string loopOver(const std::string &base) {
  return "  br label %loop\nloop:\n"
         "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n"
         "  %at = shl nuw nsw i64 %i, 5\n"
         "  %wide = zext i32 %lane to i64\n"
         "  %index = add nuw nsw i64 %at, %wide\n"
         "  %place = getelementptr float, ptr addrspace(1) " + base + ", i64 %index\n"
         "  %value = load float, ptr addrspace(1) %place\n"
         "  %next = add nuw nsw i64 %i, 1\n"
         "  %more = icmp ult i64 %next, 64\n"
         "  br i1 %more, label %loop, label %end\nend:\n  ret void\n";
}

TEST(InsertPrefetches, TheNextThreadgroupsRowIsOnePitchAway) {
  Prefetched kernel("  %g = zext i32 %group to i64\n"
                    "  %start = mul i64 %g, %pitch\n"
                    "  %row = getelementptr i8, ptr addrspace(1) %p, i64 %start\n" +
                    loopOver("%row"));
  ASSERT_EQ(kernel.count, 1u);
  EXPECT_NE(kernel.distances[0].find("shl i64 %pitch"), std::string::npos) << kernel.distances[0];
}

TEST(InsertPrefetches, ClampsAreLookedThrough) {
  Prefetched kernel("  %clamped = call i32 @llvm.umin.i32(i32 %group, i32 99)\n"
                    "  %g = zext i32 %clamped to i64\n"
                    "  %start = mul i64 %g, %pitch\n"
                    "  %row = getelementptr i8, ptr addrspace(1) %p, i64 %start\n" +
                    loopOver("%row"));
  EXPECT_EQ(kernel.count, 1u);
}

TEST(InsertPrefetches, SimdgroupsOfOneThreadgroupComeFirstUnlessTheyShareLines) {
  Prefetched kernel("  %four = shl i32 %group, 2\n"
                    "  %number = add i32 %four, %sg\n"
                    "  %g = zext i32 %number to i64\n"
                    "  %start = mul i64 %g, %pitch\n"
                    "  %row = getelementptr i8, ptr addrspace(1) %p, i64 %start\n" +
                    loopOver("%row"));
  ASSERT_EQ(kernel.count, 1u);
  EXPECT_NE(kernel.distances[0].find("shl"), std::string::npos) << kernel.distances[0];
}

TEST(InsertPrefetches, AKernelWithoutLoopsAsksForLaterCallsData) {
  Prefetched kernel("  %wide = zext i32 %gid to i64\n"
                    "  %place = getelementptr float, ptr addrspace(1) %p, i64 %wide\n"
                    "  %value = load float, ptr addrspace(1) %place\n  ret void\n");
  ASSERT_EQ(kernel.count, 1u);
  EXPECT_EQ(kernel.distances[0], "i64 4096");
}

TEST(InsertPrefetches, WhatAllPositionsShareIsNotPrefetched) {
  EXPECT_EQ(Prefetched(loopOver("%q")).count, 0u);
}

TEST(InsertPrefetches, NeitherIsAnIndexThatWasLoaded) {
  Prefetched kernel("  %slot = getelementptr i64, ptr addrspace(1) %q, i32 %group\n"
                    "  %g = load i64, ptr addrspace(1) %slot\n"
                    "  %row = getelementptr i8, ptr addrspace(1) %p, i64 %g\n" +
                    loopOver("%row"));
  EXPECT_EQ(kernel.count, 0u);
}

/// A loop over records of 144 bytes that reads a half, the next half, and two runs of a byte a lane.
TEST(InsertPrefetches, ARecordAsksForItsLinesOnce) {
  Prefetched kernel("  %g = zext i32 %group to i64\n"
                    "  %start = mul i64 %g, %pitch\n"
                    "  %row = getelementptr i8, ptr addrspace(1) %p, i64 %start\n"
                    "  %wide = zext i32 %lane to i64\n"
                    "  br label %loop\nloop:\n"
                    "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n"
                    "  %at = mul i64 %i, 144\n"
                    "  %record = getelementptr i8, ptr addrspace(1) %row, i64 %at\n"
                    "  %pb = getelementptr i8, ptr addrspace(1) %record, i64 2\n"
                    "  %b = load half, ptr addrspace(1) %pb\n"
                    "  %a = load half, ptr addrspace(1) %record\n"
                    "  %first = getelementptr i8, ptr addrspace(1) %record, i64 16\n"
                    "  %pc = getelementptr i8, ptr addrspace(1) %first, i64 %wide\n"
                    "  %c = load i8, ptr addrspace(1) %pc\n"
                    "  %far = add nuw nsw i64 %wide, 112\n"
                    "  %pd = getelementptr i8, ptr addrspace(1) %record, i64 %far\n"
                    "  %d = load i8, ptr addrspace(1) %pd\n"
                    "  %next = add nuw nsw i64 %i, 1\n"
                    "  %more = icmp ult i64 %next, 64\n"
                    "  br i1 %more, label %loop, label %end\nend:\n  ret void\n");
  EXPECT_EQ(kernel.count, 3u); // at 0, 64 and 128 of 144 bytes
}

/// A loop that loads at %row + 34 * step and at %x + 4 * step.
std::string rowTimesVector(const std::string &number) {
  return "  %g = zext i32 %" + number + " to i64\n"
         "  %start = mul i64 %g, %pitch\n"
         "  %row = getelementptr i8, ptr addrspace(1) %p, i64 %start\n"
         "  %batch = zext i32 %group to i64\n"
         "  %from = mul i64 %batch, %pitch\n"
         "  %x = getelementptr float, ptr addrspace(1) %q, i64 %from\n"
         "  br label %loop\nloop:\n"
         "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n"
         "  %at = mul i64 %i, 34\n"
         "  %pa = getelementptr i8, ptr addrspace(1) %row, i64 %at\n"
         "  %a = load i8, ptr addrspace(1) %pa\n"
         "  %pb = getelementptr float, ptr addrspace(1) %x, i64 %i\n"
         "  %b = load float, ptr addrspace(1) %pb\n"
         "  %next = add nuw nsw i64 %i, 1\n"
         "  %more = icmp ult i64 %next, 64\n"
         "  br i1 %more, label %loop, label %end\nend:\n  ret void\n";
}

TEST(InsertPrefetches, WhatSimdgroupsShareBesideTheirRowsIsNotPrefetched) {
  EXPECT_EQ(Prefetched(rowTimesVector("sg")).count, 1u);
  EXPECT_EQ(Prefetched(rowTimesVector("group")).count, 2u);
}

TEST(InsertPrefetches, WhatThreadgroupsShareBesideTheirRowsIsNotPrefetched) {
  // Each SIMD group has a kilobyte of both in turn; only the row depends on the threadgroup.
  std::string own = "  %part = zext i32 %sg to i64\n  %offset = shl i64 %part, 10\n"
                    "  %r = getelementptr i8, ptr addrspace(1) %row, i64 %offset\n"
                    "  %x = getelementptr i8, ptr addrspace(1) %q, i64 %offset\n"
                    "  br label %loop\nloop:\n"
                    "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n"
                    "  %pb = getelementptr float, ptr addrspace(1) %x, i64 %i\n"
                    "  %b = load float, ptr addrspace(1) %pb\n"
                    "  %pa = getelementptr i8, ptr addrspace(1) %r, i64 %i\n"
                    "  %a = load i8, ptr addrspace(1) %pa\n"
                    "  %next = add nuw nsw i64 %i, 1\n"
                    "  %more = icmp ult i64 %next, 64\n"
                    "  br i1 %more, label %loop, label %end\nend:\n  ret void\n";
  EXPECT_EQ(Prefetched("  %g = zext i32 %group to i64\n"
                       "  %start = mul i64 %g, %pitch\n"
                       "  %row = getelementptr i8, ptr addrspace(1) %p, i64 %start\n" + own).count,
            1u);
}

TEST(InsertPrefetches, ASweepOfTheThreadgroupWithoutGapsIsNotPrefetched) {
  for (const char *thread : {"thread", "lane"}) {
    Prefetched kernel("  %g = zext i32 %group to i64\n"
                      "  %start = mul i64 %g, %pitch\n"
                      "  %row = getelementptr float, ptr addrspace(1) %p, i64 %start\n"
                      "  %own = zext i32 %" + std::string(thread) + " to i64\n"
                      "  br label %loop\nloop:\n"
                      "  %i = phi i64 [ %own, %entry ], [ %next, %loop ]\n"
                      "  %place = getelementptr float, ptr addrspace(1) %row, i64 %i\n"
                      "  %value = load float, ptr addrspace(1) %place\n"
                      "  %next = add nuw nsw i64 %i, 128\n"
                      "  %more = icmp ult i64 %next, 6656\n"
                      "  br i1 %more, label %loop, label %end\nend:\n  ret void\n");
    EXPECT_EQ(kernel.count, thread == std::string("thread") ? 0u : 1u);
  }
}

TEST(InsertPrefetches, ASecondLoopOverTheSameRowDoesNotAskAgain) {
  std::string first = "  %g = zext i32 %group to i64\n"
                      "  %start = mul i64 %g, %pitch\n"
                      "  %row = getelementptr i8, ptr addrspace(1) %p, i64 %start\n"
                      "  br label %a\n"
                      "a:\n"
                      "  %i = phi i64 [ 0, %entry ], [ %i1, %a ]\n"
                      "  %pa = getelementptr i8, ptr addrspace(1) %row, i64 %i\n"
                      "  %va = load float, ptr addrspace(1) %pa\n"
                      "  %i1 = add i64 %i, 64\n"
                      "  %ca = icmp ult i64 %i1, 4096\n"
                      "  br i1 %ca, label %a, label %b\n"
                      "b:\n"
                      "  %j = phi i64 [ 0, %a ], [ %j1, %b ]\n"
                      "  %pb = getelementptr i8, ptr addrspace(1) %row, i64 %j\n"
                      "  %vb = load float, ptr addrspace(1) %pb\n"
                      "  %j1 = add i64 %j, 64\n"
                      "  %cb = icmp ult i64 %j1, 4096\n"
                      "  br i1 %cb, label %b, label %end\nend:\n  ret void\n";
  EXPECT_EQ(Prefetched(first).count, 1u);
}

/// A loop that loads at `place`, which counts %k by 32, and multiplies matrices if `product`.
std::string tileLoop(const std::string &place, bool product) {
  return "  br label %loop\nloop:\n"
         "  %k = phi i32 [ 0, %entry ], [ %next, %loop ]\n"
         "  %sum = phi <64 x float> [ zeroinitializer, %entry ], [ %more, %loop ]\n"
         "  %column = add i32 %k, %lane\n"
         "  %wide = zext i32 %column to i64\n" +
         place + "  %value = load float, ptr addrspace(1) %place\n" +
         (product ? "  %more = call <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.f(<64 x float> "
                    "zeroinitializer, <64 x float> zeroinitializer, <64 x float> %sum)\n"
                  : "  %more = fadd <64 x float> %sum, %sum\n") +
         "  %next = add i32 %k, 32\n"
         "  %again = icmp ult i32 %next, 640\n"
         "  br i1 %again, label %loop, label %end\nend:\n  ret void\n";
}

TEST(PrefetchNextTiles, TheNextTileOfARowIsAsFarAsTheLoopCounts) {
  const std::string place = "  %place = getelementptr float, ptr addrspace(1) %p, i64 %wide\n";
  Prefetched kernel(tileLoop(place, true), /*tiles=*/true);
  ASSERT_EQ(kernel.count, 1u);
  EXPECT_EQ(kernel.distances[0], "i64 128");
  EXPECT_EQ(Prefetched(tileLoop(place, false), /*tiles=*/true).count, 0u);
}

TEST(PrefetchNextTiles, TheNextTileOfRowsIsPitchesAway) {
  Prefetched kernel(tileLoop("  %row = mul i64 %wide, %pitch\n"
                             "  %place = getelementptr float, ptr addrspace(1) %p, i64 %row\n",
                             true),
                    /*tiles=*/true);
  ASSERT_EQ(kernel.count, 1u);
  EXPECT_NE(kernel.distances[0].find("mul i64"), std::string::npos) << kernel.distances[0];
}

TEST(PrefetchNextTiles, WhatDoesNotMoveIsNotPrefetched) {
  EXPECT_EQ(Prefetched(tileLoop("  %at = zext i32 %lane to i64\n"
                                "  %place = getelementptr float, ptr addrspace(1) %p, i64 %at\n",
                                true),
                       /*tiles=*/true)
                .count,
            0u);
}

} // namespace
} // namespace pewter::cpu::codegen
