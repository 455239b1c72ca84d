// SPDX-License-Identifier: Apache-2.0
#include "air/ir/Canonicalize.h"
#include "air/ir/LibraryBuilder.h"
#include "air/ir/TestModules.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pewter::air::ir {
namespace {

using ::testing::HasSubstr;

/// Two kernels; `first` depends on constant 0 through a helper, `second` on none.
const std::string kTwoKernels = R"(
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @init, ptr null }]
@n = internal addrspace(2) global i32 undef
@n.MTL_FC_INIT_0_i = internal addrspace(2) externally_initialized constant i32 undef, section "air.fc_initializer"
@table = internal addrspace(2) constant [2 x i32] [i32 5, i32 6]
define internal void @init() section "air.static_init" {
  %1 = load i32, ptr addrspace(2) @n.MTL_FC_INIT_0_i
  store i32 %1, ptr addrspace(2) @n
  ret void
}
define internal i32 @helper() {
  %1 = load i32, ptr addrspace(2) @n
  ret i32 %1
}
define void @first(ptr addrspace(1) %out) {
  %1 = call i32 @helper()
  store i32 %1, ptr addrspace(1) %out
  ret void
}
define void @second(ptr addrspace(1) %out) {
  %1 = load i32, ptr addrspace(2) @table
  store i32 %1, ptr addrspace(1) %out
  ret void
}
!air.kernel = !{!0, !4}
!air.function_constants = !{!5}
!air.version = !{!6}
!0 = !{ptr @first, !1, !2}
!1 = !{}
!2 = !{!3}
!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_name", !"int", !"air.arg_name", !"out"}
!4 = !{ptr @second, !1, !2}
!5 = !{ptr addrspace(2) @n.MTL_FC_INIT_0_i, !"int", !"n", i32 0}
!6 = !{i32 2, i32 8, i32 0}
)";

TEST(LibraryBuilder, EachKernelGetsAModuleOfItsOwn) {
  llvm::LLVMContext context;
  auto module = testing::parseAir(context, kTwoKernels);
  LibraryBuilder builder;
  ASSERT_TRUE(builder.add(*module).has_value());
  auto bytes = builder.finish();
  ASSERT_TRUE(bytes.has_value());
  auto library = readMetallib(*bytes);
  ASSERT_TRUE(library.has_value()) << library.error().describe();
  ASSERT_EQ(library->functions.size(), 2u);
  const MetallibFunction &first = library->functions[0], &second = library->functions[1];
  EXPECT_EQ(first.name, "first");
  EXPECT_EQ(first.airVersion[1], 8);
  ASSERT_EQ(first.constants.size(), 1u);
  EXPECT_EQ(first.constants[0].name, "n");
  EXPECT_TRUE(second.constants.empty());

  llvm::LLVMContext other;
  auto alone = parseModule(second.module, other);
  ASSERT_TRUE(alone.has_value()) << alone.error().describe();
  EXPECT_FALSE((*alone)->getFunction("first"));
  EXPECT_FALSE((*alone)->getFunction("helper"));
  EXPECT_FALSE((*alone)->getNamedGlobal("n"));
  EXPECT_TRUE((*alone)->getNamedGlobal("table"));
  auto kernel = canonicalize(std::move(*alone), "second", {});
  EXPECT_TRUE(kernel.has_value()) << kernel.error().describe();

  auto withConstant = parseModule(first.module, other);
  ASSERT_TRUE(withConstant.has_value());
  compiler::ConstantValue seven{0, DataType::Int, {std::byte(7)}};
  auto specialized = canonicalize(std::move(*withConstant), "first", {&seven, 1});
  ASSERT_TRUE(specialized.has_value()) << specialized.error().describe();
  std::string text;
  llvm::raw_string_ostream(text) << *specialized->function;
  EXPECT_THAT(text, HasSubstr("store i32 7,"));
}

// The module that was added stays as it was: the second kernel is not lost to the first extraction.
TEST(LibraryBuilder, SameModuleGivesSameBytes) {
  llvm::LLVMContext context;
  auto module = testing::parseAir(context, kTwoKernels);
  LibraryBuilder once, again;
  ASSERT_TRUE(once.add(*module) && again.add(*module));
  EXPECT_EQ(*once.finish(), *again.finish());
}

TEST(LibraryBuilder, ModuleWithoutKernelsIsAnError) {
  llvm::LLVMContext context;
  auto module = testing::parseAir(context, "define void @f() { ret void }");
  LibraryBuilder builder;
  auto added = builder.add(*module);
  ASSERT_FALSE(added.has_value());
  EXPECT_THAT(added.error().message(), HasSubstr("no kernels"));
}

TEST(LibraryBuilder, OneNameTwiceIsAnError) {
  llvm::LLVMContext context;
  auto module = testing::parseAir(context, kTwoKernels);
  LibraryBuilder builder;
  ASSERT_TRUE(builder.add(*module) && builder.add(*module));
  auto bytes = builder.finish();
  ASSERT_FALSE(bytes.has_value());
  EXPECT_THAT(bytes.error().message(), HasSubstr("\"first\""));
}

} // namespace
} // namespace pewter::air::ir
