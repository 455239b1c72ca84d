// SPDX-License-Identifier: Apache-2.0
#include "air/ir/Canonicalize.h"
#include "air/ir/TestModules.h"
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

namespace pewter::air::ir {
namespace {

using ::testing::HasSubstr;

template <class T> compiler::ConstantValue constantOf(uint32_t index, DataType type, T value) {
  compiler::ConstantValue constant{index, type, {}};
  std::memcpy(constant.bytes.data(), &value, sizeof(value));
  return constant;
}

size_t countOf(const llvm::Function &function, unsigned opcode) {
  size_t count = 0;
  for (const llvm::Instruction &instruction : llvm::instructions(function))
    count += instruction.getOpcode() == opcode;
  return count;
}

Result<CanonicalKernel> canonicalIterate(llvm::LLVMContext &context,
                                         std::vector<compiler::ConstantValue> constants) {
  return canonicalize(testing::parseAir(context, testing::kIterate), "iterate", constants);
}

TEST(Canonicalize, ConstantsBecomeLiteralsAndLoopsUnroll) {
  llvm::LLVMContext context;
  auto kernel = canonicalIterate(
      context, {constantOf(0, DataType::Float, 2.0f), constantOf(7, DataType::Int, 3)});
  ASSERT_TRUE(kernel.has_value()) << kernel.error().describe();
  EXPECT_EQ(kernel->function->size(), 1u);
  EXPECT_TRUE(kernel->module->global_empty());
  EXPECT_TRUE(verifyCanonical(*kernel).has_value());
  EXPECT_EQ(kernel->reflection.constants.size(), 2u);
}

TEST(Canonicalize, UnsetConstantTakesItsDefault) {
  llvm::LLVMContext context;
  auto set = canonicalIterate(
      context, {constantOf(0, DataType::Float, 3.0f), constantOf(7, DataType::Int, 4)});
  auto unset = canonicalIterate(context, {constantOf(0, DataType::Float, 3.0f)});
  ASSERT_TRUE(set.has_value() && unset.has_value());
  EXPECT_EQ(countOf(*set->function, llvm::Instruction::FMul),
            countOf(*unset->function, llvm::Instruction::FMul));
}

TEST(Canonicalize, MissingRequiredConstantIsNamed) {
  llvm::LLVMContext context;
  auto kernel = canonicalIterate(context, {});
  ASSERT_FALSE(kernel.has_value());
  EXPECT_EQ(kernel.error().kind(), ErrorKind::Validation);
  EXPECT_THAT(kernel.error().message(), HasSubstr("\"scale\" (index 0, type \"float\")"));
}

TEST(Canonicalize, ConstantOfAnotherTypeIsNamed) {
  llvm::LLVMContext context;
  auto kernel = canonicalIterate(context, {constantOf(0, DataType::Int, 3)});
  ASSERT_FALSE(kernel.has_value());
  EXPECT_THAT(kernel.error().message(),
              HasSubstr("set as type \"int\"; it is declared as \"float\""));
}

TEST(Canonicalize, UnknownKernelIsNamed) {
  llvm::LLVMContext context;
  auto kernel = canonicalize(testing::parseAir(context, testing::kIterate), "itrate", {});
  ASSERT_FALSE(kernel.has_value());
  EXPECT_THAT(kernel.error().message(), HasSubstr("no kernel \"itrate\"; it has \"iterate\""));
}

TEST(Canonicalize, RecursionIsAnError) {
  llvm::LLVMContext context;
  auto module = testing::parseAir(context, R"(
define void @k(i32 %gid) {
  call void @odd(i32 %gid)
  ret void
}
define internal void @odd(i32 %n) {
  call void @even(i32 %n)
  call void @air.wg.barrier(i32 2, i32 1)
  ret void
}
define internal void @even(i32 %n) {
  %z = icmp eq i32 %n, 0
  br i1 %z, label %a, label %b
a:
  ret void
b:
  %m = add i32 %n, -1
  call void @odd(i32 %m)
  ret void
}
declare void @air.wg.barrier(i32, i32)
!air.kernel = !{!0}
!0 = !{ptr @k, !1, !2}
!1 = !{}
!2 = !{!3}
!3 = !{i32 0, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"gid"}
)");
  auto kernel = canonicalize(std::move(module), "k", {});
  ASSERT_FALSE(kernel.has_value());
  EXPECT_THAT(kernel.error().message(), HasSubstr("calls itself"));
}

std::string kernelThatCalls(const std::string &name) {
  return "define void @apply(ptr addrspace(1) %x) {\n"
         "  %v = load float, ptr addrspace(1) %x, align 4\n"
         "  %r = tail call fast float @" + name + "(float %v)\n"
         "  store float %r, ptr addrspace(1) %x, align 4\n  ret void\n}\n"
         "declare float @" + name + "(float)\n"
         "!air.kernel = !{!0}\n!0 = !{ptr @apply, !1, !2}\n!1 = !{}\n!2 = !{!3}\n"
         "!3 = !{i32 0, !\"air.buffer\", !\"air.location_index\", i32 0, i32 1, !\"air.read_write\", "
         "!\"air.address_space\", i32 1, !\"air.arg_type_size\", i32 4, "
         "!\"air.arg_type_align_size\", i32 4, !\"air.arg_type_name\", !\"float\", "
         "!\"air.arg_name\", !\"x\"}\n";
}

TEST(Canonicalize, MathBecomesArithmetic) {
  for (const char *name : {"air.fast_exp.f32", "air.tanh.f32", "air.sin.f32", "air.fast_log.f32"}) {
    llvm::LLVMContext context;
    auto kernel = canonicalize(testing::parseAir(context, kernelThatCalls(name)), "apply", {});
    ASSERT_TRUE(kernel.has_value()) << kernel.error().describe();
    EXPECT_TRUE(verifyCanonical(*kernel).has_value());
    EXPECT_EQ(kernel->function->size(), 1u) << name;
    for (const llvm::Function &function : *kernel->module)
      EXPECT_TRUE(!function.isDeclaration() || function.isIntrinsic()) << function.getName().str();
  }
}

TEST(Canonicalize, UnknownMathIsNamed) {
  llvm::LLVMContext context;
  auto kernel =
      canonicalize(testing::parseAir(context, kernelThatCalls("air.frobnicate.f32")), "apply", {});
  ASSERT_FALSE(kernel.has_value());
  EXPECT_THAT(kernel.error().describe(), HasSubstr("air.frobnicate.f32"));
}

TEST(Canonicalize, GarbageIsNotAModule) {
  llvm::LLVMContext context;
  auto module = parseModule(viewOf("not bitcode at all"), context);
  ASSERT_FALSE(module.has_value());
  EXPECT_THAT(module.error().message(), HasSubstr("18 bytes"));
}

TEST(Canonicalize, ReflectsArgumentsAndConstants) {
  llvm::LLVMContext context;
  auto module = testing::parseAir(context, testing::kIterate);
  auto kernels = reflectKernels(*module);
  ASSERT_TRUE(kernels.has_value());
  ASSERT_EQ(kernels->size(), 1u);
  const KernelReflection &kernel = kernels->front();
  EXPECT_EQ(kernel.name, "iterate");
  ASSERT_EQ(kernel.arguments.size(), 2u);
  EXPECT_EQ(kernel.arguments[0].kind, ArgumentKind::Buffer);
  EXPECT_EQ(kernel.arguments[0].access, Access::ReadWrite);
  EXPECT_EQ(kernel.arguments[1].builtin, Builtin::ThreadPositionInGrid);
  ASSERT_EQ(kernel.constants.size(), 2u);
  EXPECT_TRUE(kernel.constants[0].required);
  EXPECT_FALSE(kernel.constants[1].required);
  EXPECT_EQ(kernel.constants[1].index, 7u);
}

} // namespace
} // namespace pewter::air::ir
