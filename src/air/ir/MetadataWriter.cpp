// SPDX-License-Identifier: Apache-2.0
// Tested by MetadataWriter_test.cpp: what is written reads back the same.
#include "air/ir/MetadataWriter.h"
#include "air/BuiltinNames.h"
#include <llvm/Transforms/Utils/ModuleUtils.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

/// Collects the operands of one node.
class NodeBuilder {
public:
  explicit NodeBuilder(LLVMContext &context) : context_(context) {}
  NodeBuilder &text(StringRef value) {
    operands_.push_back(MDString::get(context_, value));
    return *this;
  }
  NodeBuilder &integer(uint32_t value) {
    operands_.push_back(
        ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(context_), value)));
    return *this;
  }
  NodeBuilder &flag(bool value) {
    operands_.push_back(
        ConstantAsMetadata::get(ConstantInt::get(Type::getInt1Ty(context_), value)));
    return *this;
  }
  NodeBuilder &global(GlobalValue *value) {
    operands_.push_back(ConstantAsMetadata::get(value));
    return *this;
  }
  NodeBuilder &node(Metadata *value) {
    operands_.push_back(value);
    return *this;
  }
  MDNode *get() const { return MDNode::get(context_, operands_); }

private:
  LLVMContext &context_;
  SmallVector<Metadata *, 24> operands_;
};

StringRef textOf(Access access) {
  switch (access) {
  case Access::Read:
    return "air.read";
  case Access::Write:
    return "air.write";
  case Access::ReadWrite:
    return "air.read_write";
  case Access::Sample:
    return "air.sample";
  }
  return "air.read_write";
}

MDNode *membersNode(LLVMContext &context, const std::vector<StructMember> &list,
                    bool isArgumentBuffer) {
  NodeBuilder members(context);
  for (const StructMember &member : list) {
    members.integer(member.offset).integer(member.size).integer(member.arrayLength);
    members.text(member.typeName).text(member.name);
    if (!isArgumentBuffer)
      continue;
    NodeBuilder details(context);
    details.integer(member.argumentIndex)
        .text("air.indirect_constant")
        .text("air.location_index")
        .integer(member.argumentIndex)
        .integer(1);
    if (!member.members.empty())
      details.text("air.struct_type_info")
          .node(membersNode(context, member.members, true))
          .text("air.arg_type_size")
          .integer(member.pointeeSize);
    details.text("air.arg_type_name").text(member.typeName).text("air.arg_name").text(member.name);
    members.text("air.indirect_argument").node(details.get());
  }
  return members.get();
}

MDNode *argumentNode(LLVMContext &context, const Argument &argument, const WrittenGate *gate) {
  NodeBuilder node(context);
  node.integer(argument.parameter);
  if (gate)
    node.text("air.function_constant")
        .node(NodeBuilder(context)
                  .global(gate->predicate)
                  .text(gate->typeName)
                  .text(gate->name)
                  .get());
  switch (argument.kind) {
  case ArgumentKind::Buffer:
  case ArgumentKind::ThreadgroupMemory:
    node.text(argument.isArgumentBuffer                     ? "air.indirect_buffer"
              : argument.metadataKind == air::kFunctionTable ? air::kFunctionTable
                                                             : "air.buffer");
    if (argument.boundSize)
      node.text("air.buffer_size").integer(argument.boundSize);
    node.text("air.location_index").integer(argument.slot).integer(argument.arrayLength);
    node.text(textOf(argument.access));
    node.text("air.address_space").integer(static_cast<uint32_t>(argument.addressSpace));
    if (!argument.members.empty())
      node.text("air.struct_type_info").node(
          membersNode(context, argument.members, argument.isArgumentBuffer));
    if (argument.dataSize)
      node.text("air.arg_type_size")
          .integer(argument.dataSize)
          .text("air.arg_type_align_size")
          .integer(argument.dataAlignment);
    break;
  case ArgumentKind::Texture:
    node.text("air.texture").text("air.location_index").integer(argument.slot);
    node.integer(argument.arrayLength).text(textOf(argument.access));
    break;
  case ArgumentKind::Sampler:
    node.text("air.sampler").text("air.location_index").integer(argument.slot);
    node.integer(argument.arrayLength);
    break;
  case ArgumentKind::Builtin:
    node.text(airNameOf(argument.builtin));
    break;
  case ArgumentKind::Unsupported:
    node.text(argument.metadataKind);
    break;
  }
  node.text("air.arg_type_name").text(argument.typeName);
  node.text("air.arg_name").text(argument.name);
  if (!argument.used)
    node.text("air.arg_unused");
  return node.get();
}

NamedMDNode *freshList(Module &module, StringRef name) {
  NamedMDNode *list = module.getOrInsertNamedMetadata(name);
  list->clearOperands();
  return list;
}

/// The Itanium code of a type, as it ends a placeholder's name.
std::string itaniumCode(DataType type) {
  const auto [scalar, count] = componentsOf(type);
  std::string code;
  switch (scalar) {
  case DataType::Float:
    code = "f";
    break;
  case DataType::Half:
    code = "Dh";
    break;
  case DataType::BFloat:
    code = "DF16b";
    break;
  case DataType::Int:
    code = "i";
    break;
  case DataType::UInt:
    code = "j";
    break;
  case DataType::Short:
    code = "s";
    break;
  case DataType::UShort:
    code = "t";
    break;
  case DataType::Char:
    code = "c";
    break;
  case DataType::UChar:
    code = "h";
    break;
  case DataType::Bool:
    code = "b";
    break;
  case DataType::Long:
    code = "l";
    break;
  case DataType::ULong:
    code = "m";
    break;
  default:
    code = "v";
    break;
  }
  return count == 1 ? code : "Dv" + std::to_string(count) + "_" + code;
}

} // namespace

void writeModuleMetadata(Module &module, const ModuleMetadata &metadata) {
  LLVMContext &context = module.getContext();
  module.setModuleFlag(Module::Warning, "wchar_size", 4);
  module.setModuleFlag(Module::Max, "frame-pointer", 2);
  const std::pair<const char *, uint32_t> limits[] = {
      {"air.max_device_buffers", 31},      {"air.max_constant_buffers", 31},
      {"air.max_threadgroup_buffers", 31}, {"air.max_textures", 128},
      {"air.max_read_write_textures", 8},  {"air.max_samplers", 16}};
  for (const auto &[name, value] : limits)
    module.setModuleFlag(Module::Max, name, value);

  auto three = [&](NodeBuilder node, const std::array<uint32_t, 3> &version) {
    return node.integer(version[0]).integer(version[1]).integer(version[2]).get();
  };
  freshList(module, "llvm.ident")->addOperand(NodeBuilder(context).text(metadata.producer).get());
  freshList(module, "air.version")->addOperand(three(NodeBuilder(context), metadata.airVersion));
  freshList(module, "air.language_version")
      ->addOperand(three(NodeBuilder(context).text("Metal"), metadata.languageVersion));
  NamedMDNode *options = freshList(module, "air.compile_options");
  for (const char *option :
       {"air.compile.denorms_disable",
        metadata.fastMath ? "air.compile.fast_math_enable" : "air.compile.fast_math_disable",
        "air.compile.framebuffer_fetch_enable"})
    options->addOperand(NodeBuilder(context).text(option).get());
  if (!metadata.sourceFile.empty())
    freshList(module, "air.source_file_name")
        ->addOperand(NodeBuilder(context).text(metadata.sourceFile).get());
}

void writeKernel(Function &function, const KernelReflection &reflection,
                 std::span<const WrittenGate> gates) {
  Module &module = *function.getParent();
  LLVMContext &context = module.getContext();
  NodeBuilder arguments(context);
  for (size_t i = 0; i < reflection.arguments.size(); ++i) {
    const auto gate = std::ranges::find(gates, i, &WrittenGate::argument);
    arguments.node(
        argumentNode(context, reflection.arguments[i], gate == gates.end() ? nullptr : &*gate));
  }
  SmallVector<GlobalValue *, 4> kept;
  for (const WrittenGate &gate : gates)
    if (!is_contained(kept, gate.predicate))
      kept.push_back(gate.predicate);
  if (!kept.empty())
    appendToCompilerUsed(module, kept);
  NodeBuilder kernel(context);
  kernel.global(&function).node(MDNode::get(context, {})).node(arguments.get());
  if (reflection.maxTotalThreadsPerThreadgroup < 1024)
    kernel.node(NodeBuilder(context)
                    .text("air.max_work_group_size")
                    .integer(reflection.maxTotalThreadsPerThreadgroup)
                    .get());
  module.getOrInsertNamedMetadata(kKernelList)->addOperand(kernel.get());
}

void writeCallee(Function &function, StringRef symbol, StringRef signature) {
  Module &module = *function.getParent();
  module.getOrInsertNamedMetadata(kCalleeList)
      ->addOperand(NodeBuilder(module.getContext())
                       .global(&function)
                       .text(symbol)
                       .text(signature)
                       .get());
}

GlobalVariable *createPlaceholder(Module &module, const FunctionConstant &constant, Type *type) {
  const std::string name = "_Z" + std::to_string(constant.name.size()) + constant.name +
                           ".MTL_FC_INIT_" + std::to_string(constant.index) + "_" +
                           itaniumCode(constant.type);
  auto *placeholder = new GlobalVariable(
      module, type, /*isConstant=*/true, GlobalValue::InternalLinkage, UndefValue::get(type), name,
      /*InsertBefore=*/nullptr, GlobalValue::NotThreadLocal, kConstantSpace,
      /*isExternallyInitialized=*/true);
  placeholder->setSection(kConstantSection);
  placeholder->setAlignment(module.getDataLayout().getABITypeAlign(type));
  const std::string_view typeName = nameOf(constant.type);
  module.getOrInsertNamedMetadata(kConstantList)
      ->addOperand(NodeBuilder(module.getContext())
                       .global(placeholder)
                       .text({typeName.data(), typeName.size()})
                       .text(constant.name)
                       .integer(constant.index)
                       .flag(true)
                       .get());
  return placeholder;
}

} // namespace pewter::air::ir
