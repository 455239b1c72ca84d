// SPDX-License-Identifier: Apache-2.0
#include "cpu/codegen/target/MakeImage.h"
#include "cpu/codegen/target/RunBlob_testing.h"
#include <gmock/gmock.h>

namespace pewter::cpu::codegen {
namespace {

using compiler::TargetKind;
using testing::HasSubstr;

constexpr TargetKind kAll[] = {TargetKind::CpuAvx512, TargetKind::CpuAvx2, TargetKind::CpuBaseline,
                               TargetKind::CpuNeon, TargetKind::CpuOracle};

Result<CodeBlob> generate(const char *text, TargetKind kind, std::vector<std::string> entries) {
  llvm::LLVMContext context;
  auto module = parseText(text, context);
  return generateCode(*module, kind, entries);
}

std::string errorOf(const char *text, TargetKind kind = TargetKind::CpuAvx2) {
  auto blob = generate(text, kind, {"f"});
  return blob ? "" : blob.error().message();
}

// A table, a vector constant, an internal call, a jump table and a big copy: everything that makes
// sections and relocations.
constexpr const char *kRich = R"(
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
@table = internal addrspace(2) constant [256 x i32] [i32 5, i32 7, i32 11, TAIL], align 4
define internal i32 @choose(i32 %k) noinline {
entry:
  switch i32 %k, label %other [ i32 0, label %a
                                i32 1, label %b
                                i32 2, label %c
                                i32 3, label %d
                                i32 4, label %e ]
a:
  call void asm sideeffect "nop", ""()
  ret i32 100
b:
  call void asm sideeffect "nop", ""()
  ret i32 -3
c:
  call void asm sideeffect "nop", ""()
  ret i32 17
d:
  call void asm sideeffect "nop", ""()
  ret i32 90
e:
  call void asm sideeffect "nop", ""()
  ret i32 12345
other:
  ret i32 1
}
define i32 @f(i32 %k, ptr %data, i64 %size) {
  %x = load <8 x float>, ptr %data, align 4
  %y = fadd <8 x float> %x, <float 1.0, float 2.0, float 3.0, float 4.0, float 5.0, float 6.0, float 7.0, float 8.0>
  store <8 x float> %y, ptr %data, align 4
  %copy = getelementptr i8, ptr %data, i64 64
  call void @llvm.memcpy.p0.p0.i64(ptr %copy, ptr %data, i64 %size, i1 false)
  %index = zext i32 %k to i64
  %entry = getelementptr [256 x i32], ptr addrspace(2) @table, i64 0, i64 %index
  %value = load i32, ptr addrspace(2) %entry, align 4
  %chosen = call i32 @choose(i32 %k)
  %result = add i32 %value, %chosen
  ret i32 %result
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
)";

std::string richText() {
  std::string text = kRich, tail;
  for (int i = 3; i < 256; ++i)
    tail += fmt::format("{}i32 {}", i == 3 ? "" : ", ", i * i);
  return text.replace(text.find("TAIL"), 4, tail);
}

TEST(Target, BlobStandsAloneAndRuns) {
  std::string text = richText();
  for (TargetKind kind : kAll) {
    if (!canRun(kind))
      continue;
    auto loaded = LoadedBlob::fromText(text.c_str(), kind, {"f"});
    ASSERT_TRUE(loaded.has_value()) << loaded.error().describe();
    auto f = reinterpret_cast<int (*)(int, void *, int64_t)>((*loaded)->entry("f"));
    float data[32] = {10, 20, 30};
    EXPECT_EQ(f(0, data, 32), 105);
    EXPECT_EQ(data[0], 11);
    EXPECT_EQ(data[1], 22);
    EXPECT_EQ(data[16], 11);
    EXPECT_EQ(data[23], 8);
    EXPECT_EQ(f(1, data, 0), 4);
    EXPECT_EQ(f(3, data, 0), 99);
    EXPECT_EQ(f(4, data, 0), 12361);
    EXPECT_EQ(f(200, data, 0), 40001);
  }
}

TEST(Target, EveryKindMakesABlob) {
  std::string text = richText();
  for (TargetKind kind : kAll) {
    auto blob = generate(text.c_str(), kind, {"f"});
    ASSERT_TRUE(blob.has_value()) << unsigned(kind) << ": " << blob.error().describe();
    EXPECT_GT(blob->code.size(), 1024u) << "the table is part of it";
    EXPECT_EQ(blob->alignment, kind == TargetKind::CpuNeon ? 4096u : 64u);
    EXPECT_GT(blob->stackBytes, 128u);
  }
}

TEST(Target, BlobsAreReproducible) {
  std::string text = richText();
  EXPECT_EQ(generate(text.c_str(), TargetKind::CpuAvx2, {"f"}).value().code,
            generate(text.c_str(), TargetKind::CpuAvx2, {"f"}).value().code);
}

TEST(Target, StackBoundCoversPrivateArrays) {
  auto blob = generate(R"(
define void @f(ptr %out, i64 %i) {
  %array = alloca [5000 x i8], align 16
  %at = getelementptr i8, ptr %array, i64 %i
  store volatile i8 1, ptr %at
  %v = load volatile i8, ptr %array
  store i8 %v, ptr %out
  ret void
})",
                       TargetKind::CpuAvx2, {"f"});
  ASSERT_TRUE(blob.has_value()) << blob.error().describe();
  EXPECT_GE(blob->stackBytes, 5000u);
  EXPECT_LT(blob->stackBytes, 6000u);
}

TEST(Target, WhatIsNotReachedIsLeftOut) {
  auto blob = generate(R"(
@big = constant [100000 x i8] zeroinitializer
define ptr @unused() { ret ptr @big }
define void @f() { ret void }
)",
                       TargetKind::CpuAvx2, {"f"});
  ASSERT_TRUE(blob.has_value()) << blob.error().describe();
  EXPECT_LT(blob->code.size(), 64u);
}

TEST(Target, WhatCannotStandAloneIsAnErrorWithTheName) {
  EXPECT_THAT(
      errorOf("declare void @elsewhere() define void @f() { call void @elsewhere() ret void }"),
      HasSubstr("[elsewhere]"));
  EXPECT_THAT(
      errorOf("@state = internal global i32 7 define i32 @f() { %v = load volatile i32, ptr "
              "@state ret i32 %v }"),
      HasSubstr("\".data.state\""));
  EXPECT_THAT(
      errorOf("@t = thread_local global i32 7 define i32 @f() { %v = load i32, ptr @t ret i32 "
              "%v }"),
      HasSubstr("\".tdata.t\""));
  EXPECT_THAT(
      errorOf("@x = external global i32 define i32 @f() { %v = load i32, ptr @x ret i32 %v }"),
      HasSubstr("[x]"));
  EXPECT_THAT(
      errorOf("@a = internal constant i32 3 @p = constant ptr @a define ptr @f(i64 %i) { %q = "
              "getelementptr ptr, ptr @p, i64 %i %v = load ptr, ptr %q ret ptr %v }"),
      HasSubstr("\".data.rel.ro.p\""));
  EXPECT_THAT(errorOf("define void @g() { ret void }"), HasSubstr("[f]"));
}

TEST(Target, OnlyFlaggedOperationsFuse) {
  constexpr const char *text = R"(
define float @strict(float %a, float %b, float %c) {
  %p = fmul float %a, %b
  %s = fadd float %p, %c
  ret float %s
}
define float @f(float %a, float %b, float %c) {
  %p = fmul contract float %a, %b
  %s = fadd contract float %p, %c
  ret float %s
})";
  llvm::LLVMContext context;
  auto module = parseText(text, context);
  auto assembly = generateAssembly(*module, TargetKind::CpuAvx2);
  ASSERT_TRUE(assembly.has_value());
  size_t split = assembly->find("\nf:");
  ASSERT_NE(split, std::string::npos);
  EXPECT_THAT(assembly->substr(0, split), HasSubstr("vmulss"));
  EXPECT_THAT(assembly->substr(split), HasSubstr("vfmadd"));
}

TEST(Target, Avx512UsesItsWholeRegisters) {
  llvm::LLVMContext context;
  auto module = parseText(R"(
define void @f(ptr %p) {
  %a = load <32 x float>, ptr %p, align 4
  %b = fadd <32 x float> %a, %a
  store <32 x float> %b, ptr %p, align 4
  ret void
})",
                          context);
  auto assembly = generateAssembly(*module, TargetKind::CpuAvx512);
  ASSERT_TRUE(assembly.has_value());
  EXPECT_THAT(*assembly, HasSubstr("%zmm0"));
}

TEST(Target, LayoutThatDiffersIsRefused) {
  llvm::LLVMContext context;
  auto module = parseText(R"(
target datalayout = "e-i64:32:32"
define void @f(ptr %p) {
  %a = getelementptr {i32, i64}, ptr %p, i64 1
  store i32 1, ptr %a
  ret void
})",
                          context);
  auto machine = createTargetMachine(TargetKind::CpuAvx2);
  ASSERT_TRUE(machine.has_value());
  auto done = retarget(*module, **machine, TargetKind::CpuAvx2);
  ASSERT_FALSE(done.has_value());
  EXPECT_THAT(done.error().message(), HasSubstr("{ i32, i64 }"));
}

TEST(Target, PtxIsNotACpuTarget) {
  auto machine = createTargetMachine(TargetKind::Ptx);
  ASSERT_FALSE(machine.has_value());
  EXPECT_EQ(machine.error().kind(), ErrorKind::Unsupported);
}

TEST(Target, ImageCarriesEntriesAndReflection) {
  llvm::LLVMContext context;
  GeneratedKernel kernel;
  kernel.module =
      parseText("define void @pewter_range(ptr %a, ptr %c, i64 %b, i64 %e) { ret void } "
                "define void @pewter_simdgroup(ptr %a, ptr %c) { ret void }",
                context);
  kernel.lanesPerCall = 64;
  kernel.reflection.name = "nothing";
  auto image = makeImage(std::move(kernel), TargetKind::CpuAvx2, {});
  ASSERT_TRUE(image.has_value()) << image.error().describe();
  EXPECT_EQ(image->reflection.name, "nothing");
  EXPECT_EQ(image->lanesPerCall, 64u);
  EXPECT_NE(image->rangeEntry, image->simdgroupEntry);
  EXPECT_LT(image->rangeEntry, image->code.size());
  EXPECT_LT(image->simdgroupEntry, image->code.size());
  GeneratedKernel empty;
  empty.module = parseText("define void @other() { ret void }", context);
  empty.reflection.name = "empty";
  auto none = makeImage(std::move(empty), TargetKind::CpuAvx2, {});
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().message(), HasSubstr("\"empty\""));
}

} // namespace
} // namespace pewter::cpu::codegen
