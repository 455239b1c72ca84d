// SPDX-License-Identifier: Apache-2.0
#include "msl/TestCompile.h"
#include <gmock/gmock.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace pewter::msl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kSource[] = R"(#include <metal_stdlib>
using namespace metal;
constant int width [[function_constant(7)]];
constant bool flag [[function_constant(2)]];
constant float3 tint [[function_constant(4)]];
constant half unused [[function_constant(9)]];
constant bool hasWidth = is_function_constant_defined(width);
constant int used = hasWidth ? width : 4;
constant bool both = flag && hasWidth;
kernel void derived(device int *a) { a[0] = used; }
kernel void direct(device int *a) { if (flag) a[0] = width; }
kernel void vector(device float *a) { a[0] = tint.y; }
kernel void none(device int *a) { a[0] = 1; }
kernel void gated(device int *a, device int *b [[buffer(1), function_constant(flag)]],
                  device int *c [[buffer(2), function_constant(both)]]) {
  if (flag) a[0] = b[0];
  if (both) a[1] = c[0];
}
)";

std::vector<std::string> namesOf(const air::KernelReflection &kernel) {
  std::vector<std::string> names;
  for (const air::FunctionConstant &constant : kernel.constants)
    names.push_back(constant.name);
  return names;
}

TEST(FunctionConstants, EachKernelHasThoseItDependsOn) {
  const auto compiled = compileForTest(kSource);
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics;
  EXPECT_THAT(namesOf(compiled->reflection("derived")), ElementsAre("width"));
  EXPECT_THAT(namesOf(compiled->reflection("direct")), ElementsAre("flag", "width"));
  EXPECT_THAT(namesOf(compiled->reflection("vector")), ElementsAre("tint"));
  EXPECT_THAT(namesOf(compiled->reflection("none")), ElementsAre());
  EXPECT_THAT(namesOf(compiled->reflection("gated")), ElementsAre("flag", "width"));
  const auto constants = compiled->reflection("direct").constants;
  ASSERT_EQ(constants.size(), 2u);
  EXPECT_EQ(constants[0].type, air::DataType::Bool);
  EXPECT_EQ(constants[1].type, air::DataType::Int);
  EXPECT_EQ(constants[1].index, 7u);
  EXPECT_TRUE(constants[1].required);
  EXPECT_FALSE(compiled->reflection("derived").constants.at(0).required);
}

TEST(FunctionConstants, HaveApplesShape) {
  const auto compiled = compileForTest(kSource);
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics;
  const llvm::Function *kernel = compiled->kernel("direct");
  ASSERT_NE(kernel, nullptr);
  const llvm::Module &module = *kernel->getParent();
  const llvm::GlobalVariable *placeholder =
      module.getGlobalVariable("_Z5width.MTL_FC_INIT_7_i", /*AllowInternal=*/true);
  ASSERT_NE(placeholder, nullptr);
  EXPECT_EQ(placeholder->getSection(), "air.fc_initializer");
  EXPECT_TRUE(placeholder->isConstant() && placeholder->isExternallyInitialized());
  const llvm::GlobalVariable *working =
      module.getGlobalVariable("_ZL5width", /*AllowInternal=*/true);
  ASSERT_NE(working, nullptr);
  EXPECT_FALSE(working->isConstant());
  const llvm::GlobalVariable *constructors = module.getGlobalVariable("llvm.global_ctors");
  ASSERT_NE(constructors, nullptr);
  EXPECT_EQ(constructors->getValueType()->getArrayNumElements(), 1u);
}

int64_t storedBy(const CompiledSource &compiled, const std::string &name,
                 std::vector<compiler::ConstantValue> constants) {
  const llvm::Function *kernel = compiled.kernel(name);
  if (!kernel)
    return -1;
  auto canonical =
      air::ir::canonicalize(llvm::CloneModule(*kernel->getParent()), name, constants);
  EXPECT_TRUE(canonical.has_value()) << (canonical ? "" : canonical.error().describe());
  if (!canonical)
    return -1;
  for (const llvm::Instruction &instruction : llvm::instructions(*canonical->function))
    if (const auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
      if (const auto *value = llvm::dyn_cast<llvm::ConstantInt>(store->getValueOperand()))
        return value->getSExtValue();
  return -2;
}

TEST(FunctionConstants, SpecialiseThroughTheCanonicaliser) {
  const auto compiled = compileForTest(kSource);
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics;
  compiler::ConstantValue width;
  width.index = 7;
  width.type = air::DataType::Int;
  width.bytes[0] = std::byte{12};
  EXPECT_EQ(storedBy(*compiled, "derived", {}), 4);
  EXPECT_EQ(storedBy(*compiled, "derived", {width}), 12);
}

} // namespace
} // namespace pewter::msl
