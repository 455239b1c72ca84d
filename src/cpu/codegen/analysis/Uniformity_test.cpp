// SPDX-License-Identifier: Apache-2.0
#include "cpu/codegen/analysis/Uniformity.h"
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

namespace pewter::cpu::codegen {
namespace {

using air::Builtin;

/// A kernel whose parameters' names say what they are.
class Analysed {
public:
  explicit Analysed(const std::string &text, LaneModel model = {}) : pool_(model.lanes) {
    llvm::SMDiagnostic diagnostic;
    module_ = llvm::parseAssemblyString(text, diagnostic, context_);
    EXPECT_TRUE(module_) << diagnostic.getMessage().str();
    for (llvm::Function &function : *module_)
      if (!function.isDeclaration())
        function_ = &function;
    for (llvm::Argument &argument : function_->args()) {
      air::Argument described;
      described.parameter = argument.getArgNo();
      described.kind = air::ArgumentKind::Builtin;
      llvm::StringRef name = argument.getName();
      described.builtin = name == "lane"    ? Builtin::ThreadIndexInSimdgroup
                          : name == "gid"   ? Builtin::ThreadPositionInGrid
                          : name == "index" ? Builtin::ThreadIndexInThreadgroup
                          : name == "group" ? Builtin::ThreadgroupPositionInGrid
                          : name == "sg"    ? Builtin::SimdgroupIndexInThreadgroup
                                            : Builtin::None;
      if (described.builtin == Builtin::None)
        described.kind = air::ArgumentKind::Buffer;
      reflection_.arguments.push_back(described);
    }
    uniformity_ = std::make_unique<Uniformity>(*function_, reflection_, model, pool_);
  }

  std::string shape(const std::string &name) const {
    for (llvm::Instruction &instruction : llvm::instructions(*function_))
      if (instruction.getName() == name) {
        std::string text;
        llvm::raw_string_ostream stream(text);
        for (const Shape &shape : uniformity_->shapeOf(&instruction)) {
          stream << (text.empty() ? "" : ", ");
          print(stream, shape);
        }
        return text;
      }
    return "no such value";
  }
  bool isMasked(const std::string &name) const {
    for (llvm::BasicBlock &block : *function_)
      if (block.getName() == name)
        return uniformity_->control().isMasked(&block);
    ADD_FAILURE() << "no block " << name;
    return false;
  }
  std::string report() const {
    std::string text;
    llvm::raw_string_ostream stream(text);
    uniformity_->print(stream);
    return text;
  }

private:
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  llvm::Function *function_ = nullptr;
  air::KernelReflection reflection_;
  PatternPool pool_;
  std::unique_ptr<Uniformity> uniformity_;
};

std::string straight(const std::string &body) {
  return "define void @k(ptr addrspace(1) %p, i32 %lane, i32 %gid, i32 %index, i32 %group, i32 %sg) "
         "{\nentry:\n" +
         body + "\n  ret void\n}\n";
}

TEST(Uniformity, FollowsTheBitsOfTheLane) {
  Analysed kernel(straight(R"(
    %quarter = lshr i32 %lane, 2
    %rest = and i32 %lane, 3
    %isFirst = icmp eq i32 %lane, 0
    %group4 = mul i32 %group, 4
    %row = add i32 %group4, %quarter)"));
  EXPECT_EQ(kernel.shape("rest").substr(0, 10), "[0 1 2 3 0");
  EXPECT_NE(kernel.shape("quarter").find("from 0"), std::string::npos);
  EXPECT_EQ(kernel.shape("isFirst").substr(0, 8), "[0 1 1 1");
  EXPECT_EQ(kernel.shape("group4"), "uniform");
  EXPECT_EQ(kernel.shape("row").substr(0, 12), "[0 0 0 0 1 1");
}

TEST(Uniformity, AlignedBasesSplitIntoUniformAndLiteral) {
  Analysed kernel(straight(R"(
    %which = lshr i32 %index, 5
    %inside = and i32 %index, 31)"));
  EXPECT_EQ(kernel.shape("which"), "uniform");
  EXPECT_EQ(kernel.shape("inside"), "lane*1 from 0");
}

TEST(Uniformity, ExtensionsThatMayWrapCarryACorrection) {
  Analysed kernel(straight(R"(
    %free = add i32 %index, %group
    %wide = zext i32 %free to i64
    %safe = add nuw i32 %index, %group
    %exact = zext i32 %safe to i64
    %inGrid = zext i32 %gid to i64
    %scaled = mul i32 %gid, 12
    %mayWrap = zext i32 %scaled to i64
    %again = trunc i64 %mayWrap to i32)"));
  EXPECT_EQ(kernel.shape("wide"), "lane*1 may wrap");
  EXPECT_EQ(kernel.shape("exact"), "lane*1");
  EXPECT_EQ(kernel.shape("inGrid"), "lane*1 align 32");
  EXPECT_EQ(kernel.shape("mayWrap"), "lane*12 align 128 may wrap");
  EXPECT_EQ(kernel.shape("again"), "lane*12 align 128");
}

TEST(Uniformity, UnknownAlignmentIsNotAssumed) {
  LaneModel model;
  model.alignedRows = false;
  Analysed kernel(straight("    %inGrid = zext i32 %gid to i64\n    %low = and i32 %gid, 31"), model);
  EXPECT_EQ(kernel.shape("inGrid"), "lane*1 may wrap");
  EXPECT_EQ(kernel.shape("low"), "varying");
}

TEST(Uniformity, MergedGroupsMakeTheirIndexALiteral) {
  LaneModel model;
  model.lanes = 64;
  model.layout = LaneModel::Layout::Whole;
  model.size = {64, 1, 1};
  Analysed kernel(straight("    %isFirst = icmp eq i32 %sg, 0\n    %lane4 = mul i32 %lane, 4"), model);
  EXPECT_NE(kernel.shape("isFirst").find("from -1"), std::string::npos);
  EXPECT_NE(kernel.shape("lane4").find("124 0 4"), std::string::npos);
}

constexpr const char *kLoop = R"(
define void @k(ptr addrspace(1) %p, i32 %lane, i32 %group) {
entry:
  %n = load i32, ptr addrspace(1) %p
  br label %outer
outer:
  %row = phi i32 [ 0, %entry ], [ %row.next, %outer.latch ]
  br label %inner.pre
inner.pre:
  br label %inner
inner:
  %i = phi i32 [ %lane, %inner.pre ], [ %i.next, %inner ]
  %count = phi i32 [ 0, %inner.pre ], [ %count.next, %inner ]
  %i.next = add nuw nsw i32 %i, 32
  %count.next = add i32 %count, 1
  %more = icmp ult i32 %i.next, %n
  br i1 %more, label %inner, label %outer.latch
outer.latch:
  %trips = phi i32 [ %count.next, %inner ]
  %row.next = add i32 %row, 1
  %again = icmp ult i32 %row.next, %n
  br i1 %again, label %outer, label %done
done:
  ret void
}
)";

TEST(Uniformity, OnlyTheDivergentLoopIsMasked) {
  Analysed kernel(kLoop);
  EXPECT_TRUE(kernel.isMasked("inner"));
  EXPECT_FALSE(kernel.isMasked("outer"));
  EXPECT_FALSE(kernel.isMasked("outer.latch"));
  EXPECT_EQ(kernel.shape("i"), "lane*1 align 32");
  EXPECT_EQ(kernel.shape("count"), "uniform") << "lanes that are left agree";
  EXPECT_EQ(kernel.shape("trips"), "varying") << "lanes left in different iterations";
  EXPECT_NE(kernel.report().find("loop with divergent exit"), std::string::npos);
}

TEST(Uniformity, LanesThatMeetWithOneValueShareIt) {
  // Codes that say how a loop goes on: the lanes of the divergent branch bring the same one.
  Analysed kernel(straight(R"(
    br label %loop
  loop:
    %i = phi i32 [ 0, %entry ], [ %next, %latch ]
    %early = icmp eq i32 %group, %i
    br i1 %early, label %latch, label %body
  body:
    %low = icmp ult i32 %lane, 16
    br i1 %low, label %some, label %latch
  some:
    store i32 %i, ptr addrspace(1) %p, align 4
    br label %latch
  latch:
    %code = phi i32 [ 5, %loop ], [ 0, %body ], [ 0, %some ]
    %other = phi i32 [ 5, %loop ], [ 0, %body ], [ 1, %some ]
    %next = add i32 %i, 1
    %stop = icmp eq i32 %code, 5
    br i1 %stop, label %done, label %loop
  done:
    store i32 %other, ptr addrspace(1) %p, align 4)"));
  EXPECT_EQ(kernel.shape("code"), "uniform");
  EXPECT_EQ(kernel.shape("other"), "varying");
  EXPECT_TRUE(kernel.isMasked("some"));
  EXPECT_FALSE(kernel.isMasked("latch"));
  EXPECT_FALSE(kernel.isMasked("loop"));
}

// A cycle that nothing enters is undefined; what is chosen between it and a lane's value still varies.
TEST(Uniformity, UndefinedValuesDoNotHideVaryingOnes) {
  Analysed kernel(R"(
define void @k(ptr addrspace(1) %p, i32 %lane, i32 %count) {
entry:
  %x = uitofp i32 %lane to float
  %low = icmp ult i32 %lane, 7
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %held = phi float [ undef, %entry ], [ %chosen, %loop ]
  %pair = phi <2 x float> [ undef, %entry ], [ %half, %loop ]
  %chosen = select i1 %low, float %held, float %x
  %half = insertelement <2 x float> %pair, float %x, i64 0
  %sum = fadd <2 x float> %half, %half
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %count
  br i1 %more, label %loop, label %end
end:
  ret void
})");
  EXPECT_EQ(kernel.shape("chosen"), "varying");
  EXPECT_EQ(kernel.shape("held"), "varying");
  EXPECT_EQ(kernel.shape("half"), "varying, uniform");
  EXPECT_EQ(kernel.shape("sum"), "varying, uniform");
}

TEST(Uniformity, PrivateArraysGetACopyForEachLaneWhenTheyDiffer) {
  Analysed kernel(straight(R"(
    %own = alloca [8 x float], align 4
    %same = alloca [8 x float], align 4
    %mixed = alloca [8 x i32], align 4
    %x = uitofp i32 %lane to float
    store float %x, ptr %own, align 4
    store float 1.0, ptr %same, align 4
    store i32 %lane, ptr %mixed, align 4
    %byte = load i8, ptr %mixed, align 1
    %a = load float, ptr %own, align 4
    %b = load float, ptr %same, align 4)"));
  std::string report = kernel.report();
  EXPECT_NE(report.find("own: uniform, interleaved"), std::string::npos) << report;
  EXPECT_NE(report.find("same: uniform, shared"), std::string::npos) << report;
  EXPECT_NE(report.find("mixed: lane*32, separate"), std::string::npos) << report;
  EXPECT_EQ(kernel.shape("a"), "varying");
  EXPECT_EQ(kernel.shape("b"), "uniform");
}

} // namespace
} // namespace pewter::cpu::codegen
