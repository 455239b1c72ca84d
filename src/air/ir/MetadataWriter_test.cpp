// SPDX-License-Identifier: Apache-2.0
#include "air/ir/Canonicalize.h"
#include "air/ir/MetadataWriter.h"
#include "air/ir/TestModules.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/IR/IRBuilder.h>

namespace pewter::air::ir {
namespace {

using ::testing::HasSubstr;

Argument buffer(uint32_t parameter, uint32_t slot, AddressSpace space) {
  Argument argument;
  argument.kind =
      space == AddressSpace::Threadgroup ? ArgumentKind::ThreadgroupMemory : ArgumentKind::Buffer;
  argument.parameter = parameter;
  argument.slot = slot;
  argument.addressSpace = space;
  argument.access = Access::ReadWrite;
  argument.dataSize = argument.dataAlignment = 4;
  argument.typeName = "float";
  argument.name = "b" + std::to_string(slot);
  argument.metadataKind = "air.buffer";
  return argument;
}

/// One argument of every kind, and every built-in.
KernelReflection everything() {
  KernelReflection kernel;
  kernel.name = "everything";
  kernel.maxTotalThreadsPerThreadgroup = 256;
  auto add = [&](Argument argument) {
    argument.parameter = static_cast<uint32_t>(kernel.arguments.size());
    kernel.arguments.push_back(std::move(argument));
  };
  Argument reference = buffer(0, 0, AddressSpace::Constant);
  reference.access = Access::Read;
  reference.boundSize = reference.dataSize = 112;
  reference.members = {{"n", "int", 4, 4, 0, 0, {}, 0}, {"table", "float", 8, 4, 16, 0, {}, 0}};
  add(reference);
  add(buffer(0, 1, AddressSpace::Device));
  Argument indirect = buffer(0, 2, AddressSpace::Device);
  indirect.isArgumentBuffer = true;
  indirect.metadataKind = "air.indirect_buffer";
  indirect.members = {{"data", "float*", 0, 8, 0, 3, {}, 0},
                      {"inner", "constant Inner*", 8, 8, 0, 4, {{"x", "float", 0, 4, 0, 5, {}, 0}}, 16}};
  add(indirect);
  Argument untyped = buffer(0, 3, AddressSpace::Device);
  untyped.dataSize = untyped.dataAlignment = 0;
  untyped.typeName = "void";
  untyped.used = false;
  add(untyped);
  add(buffer(0, 0, AddressSpace::Threadgroup));
  Argument texture = buffer(0, 5, AddressSpace::Device);
  texture.kind = ArgumentKind::Texture;
  texture.access = Access::Sample;
  texture.dataSize = texture.dataAlignment = 0;
  texture.typeName = "texture2d<float, sample>";
  texture.metadataKind = "air.texture";
  add(texture);
  Argument sampler = texture;
  sampler.kind = ArgumentKind::Sampler;
  sampler.addressSpace = AddressSpace::Constant;
  sampler.access = Access::Read;
  sampler.metadataKind = "air.sampler";
  add(sampler);
  for (int i = 1; i <= static_cast<int>(Builtin::GridSize); ++i) {
    Argument builtin;
    builtin.kind = ArgumentKind::Builtin;
    builtin.builtin = static_cast<Builtin>(i);
    builtin.typeName = "uint3";
    builtin.name = "v" + std::to_string(i);
    add(builtin);
  }
  return kernel;
}

llvm::Function *functionFor(llvm::Module &module, const KernelReflection &kernel) {
  llvm::LLVMContext &context = module.getContext();
  std::vector<llvm::Type *> types;
  for (const Argument &argument : kernel.arguments)
    if (argument.kind == ArgumentKind::Builtin)
      types.push_back(llvm::FixedVectorType::get(llvm::Type::getInt32Ty(context), 3));
    else
      types.push_back(
          llvm::PointerType::get(context, static_cast<unsigned>(argument.addressSpace)));
  auto *function =
      llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false),
                             llvm::GlobalValue::ExternalLinkage, kernel.name, module);
  llvm::IRBuilder<>(llvm::BasicBlock::Create(context, "", function)).CreateRetVoid();
  return function;
}

TEST(MetadataWriter, EveryKindReadsBack) {
  llvm::LLVMContext context;
  llvm::Module module("m", context);
  module.setDataLayout(kDataLayout);
  KernelReflection kernel = everything();
  writeModuleMetadata(module, {});
  writeKernel(*functionFor(module, kernel), kernel);
  ASSERT_TRUE(verifyAirModule(module).has_value());
  auto read = reflectKernels(module);
  ASSERT_TRUE(read.has_value()) << read.error().describe();
  ASSERT_EQ(read->size(), 1u);
  // The reader knows a built-in's kind string as well; everything else is equal byte for byte.
  for (Argument &argument : read->front().arguments)
    if (argument.kind == ArgumentKind::Builtin) {
      EXPECT_THAT(argument.metadataKind, HasSubstr("air."));
      argument.metadataKind.clear();
    }
  EXPECT_EQ(encode(read->front()), encode(kernel));
}

TEST(MetadataWriter, PlaceholdersReadBack) {
  llvm::LLVMContext context;
  llvm::Module module("m", context);
  module.setDataLayout(kDataLayout);
  KernelReflection kernel;
  kernel.name = "k";
  writeKernel(*functionFor(module, kernel), kernel);
  auto *vector = llvm::FixedVectorType::get(llvm::Type::getFloatTy(context), 3);
  llvm::GlobalVariable *placeholder =
      createPlaceholder(module, {"scale", DataType::Float3, 9, false}, vector);
  EXPECT_EQ(placeholder->getName(), "_Z5scale.MTL_FC_INIT_9_Dv3_f");
  auto read = reflectKernels(module);
  ASSERT_TRUE(read.has_value()) << read.error().describe();
  ASSERT_EQ(read->front().constants.size(), 1u);
  EXPECT_EQ(read->front().constants[0].name, "scale");
  EXPECT_EQ(read->front().constants[0].type, DataType::Float3);
  EXPECT_FALSE(read->front().constants[0].required); // Nothing reads it.
}

TEST(MetadataWriter, GatedArgumentDisappearsWithItsConstant) {
  llvm::LLVMContext context;
  auto module = testing::parseAir(context, R"(
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @init, ptr null }]
@gate = internal addrspace(2) global i8 undef
define internal void @init() section "air.static_init" { ret void }
define void @k(ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %none = icmp eq ptr addrspace(1) %b, null
  %v = zext i1 %none to i32
  store i32 %v, ptr addrspace(1) %a
  ret void
}
declare i8 @air.normalize_function_constant_predicate.i8(i8)
)");
  llvm::GlobalVariable *placeholder = createPlaceholder(
      *module, {"has_b", DataType::Bool, 0, false}, llvm::Type::getInt8Ty(context));
  llvm::IRBuilder<> builder(&*module->getFunction("init")->getEntryBlock().begin());
  builder.CreateStore(
      builder.CreateCall(module->getFunction("air.normalize_function_constant_predicate.i8"),
                         {builder.CreateLoad(builder.getInt8Ty(), placeholder)}),
      module->getNamedGlobal("gate"));
  KernelReflection kernel;
  kernel.name = "k";
  kernel.arguments = {buffer(0, 0, AddressSpace::Device), buffer(1, 1, AddressSpace::Device)};
  const WrittenGate gate{1, module->getNamedGlobal("gate"), "bool", "has_b"};
  writeKernel(*module->getFunction("k"), kernel, {&gate, 1});
  auto reflected = reflectKernels(*module);
  ASSERT_TRUE(reflected.has_value());
  ASSERT_EQ(reflected->front().constants.size(), 1u);
  EXPECT_FALSE(reflected->front().constants[0].required);
  auto canonical = canonicalize(std::move(module), "k", {});
  ASSERT_TRUE(canonical.has_value()) << canonical.error().describe();
  EXPECT_TRUE(canonical->reflection.arguments[0].used);
  EXPECT_FALSE(canonical->reflection.arguments[1].used);
  std::string text;
  llvm::raw_string_ostream(text) << *canonical->function;
  EXPECT_THAT(text, HasSubstr("store i32 1,"));
}

TEST(MetadataWriter, MalformedNodesAreErrors) {
  const char *nodes[] = {
      "!{i32 9, !\"air.buffer\"}",
      "!{i32 0}",
      "!{!\"air.buffer\"}",
      "!{i32 0, !\"air.buffer\", !\"air.location_index\"}",
      ("!{i32 0, !\"air.buffer\", !\"air.location_index\", i32 0, i32 1, !\"air.address_space\", "
       "i32 3}"),
      "!{i32 0, !\"air.function_constant\", !1, !\"air.buffer\"}",
      "!{i32 0, !\"air.thread_position_in_grid\"}",
  };
  for (const char *node : nodes) {
    llvm::LLVMContext context;
    auto module =
        testing::parseAir(context, std::string("define void @k(ptr addrspace(1) %a) { ret "
                                               "void }\n!air.kernel = !{!0}\n!0 = !{ptr "
                                               "@k, !1, !2}\n!1 = !{}\n!2 = !{!3}\n!3 = ") +
                                       node + "\n");
    ASSERT_TRUE(module);
    EXPECT_FALSE(reflectKernels(*module).has_value()) << node;
  }
}

} // namespace
} // namespace pewter::air::ir
