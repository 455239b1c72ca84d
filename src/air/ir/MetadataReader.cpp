// SPDX-License-Identifier: Apache-2.0
// Reads `!air.kernel`. Operands are keyed by strings, and which keys are present depends on the AIR
// version, so everything after the kind is looked up by name. Tested by MetadataWriter_test.cpp.
#include "air/ir/MetadataReader.h"
#include "air/ir/AirCalls.h"
#include "air/BuiltinNames.h"
#include "air/ir/FunctionConstants.h"
#include "air/ir/Reachability.h"
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

/// Where one of the by-name keys of an argument node stands; 0 when it is absent.
unsigned positionOf(const MDNode &node, StringRef key, unsigned from) {
  for (unsigned i = from; i < node.getNumOperands(); ++i)
    if (stringAt(node, i) == key)
      return i;
  return 0;
}

std::optional<uint32_t> valueOf(const MDNode &node, StringRef key, unsigned from) {
  if (unsigned at = positionOf(node, key, from))
    return integerAt(node, at + 1);
  return std::nullopt;
}

StringRef textValueOf(const MDNode &node, StringRef key, unsigned from) {
  if (unsigned at = positionOf(node, key, from))
    return stringAt(node, at + 1);
  return {};
}

void readMembers(const MDNode &node, std::vector<StructMember> &members, unsigned depth = 0) {
  for (unsigned i = 0; i + 4 < node.getNumOperands();) {
    StructMember member;
    const auto offset = integerAt(node, i), size = integerAt(node, i + 1),
               length = integerAt(node, i + 2);
    if (!offset || !size || !length)
      return;
    member.offset = *offset;
    member.size = *size;
    member.arrayLength = *length;
    member.typeName = stringAt(node, i + 3).str();
    member.name = stringAt(node, i + 4).str();
    i += 5;
    if (stringAt(node, i) == "air.indirect_argument") {
      if (const MDNode *nested = nodeAt(node, i + 1)) {
        member.argumentIndex = valueOf(*nested, "air.location_index", 0).value_or(0);
        member.pointeeSize = valueOf(*nested, "air.arg_type_size", 0).value_or(0);
        const unsigned at = positionOf(*nested, "air.struct_type_info", 0);
        if (const MDNode *inner = at ? nodeAt(*nested, at + 1) : nullptr;
            inner && depth < kDeepestMember)
          readMembers(*inner, member.members, depth + 1);
      }
      i += 2;
    }
    members.push_back(std::move(member));
  }
}

Access accessOf(const MDNode &node, unsigned from) {
  for (unsigned i = from; i < node.getNumOperands(); ++i) {
    const StringRef text = stringAt(node, i);
    if (text == "air.read_write")
      return Access::ReadWrite;
    if (text == "air.read")
      return Access::Read;
    if (text == "air.write")
      return Access::Write;
    if (text == "air.sample")
      return Access::Sample;
  }
  return Access::ReadWrite;
}

Result<void> readPointer(const MDNode &node, unsigned from, const Function &function,
                         Argument &argument) {
  const unsigned location = positionOf(node, "air.location_index", from);
  const auto slot = integerAt(node, location + 1);
  if (!location || !slot)
    return fail(ErrorKind::Compile, "Argument {} of kernel \"{}\" ({}) has no air.location_index.",
                argument.parameter, function.getName().str(), argument.metadataKind);
  argument.slot = *slot;
  argument.arrayLength = integerAt(node, location + 2).value_or(1);
  argument.access = accessOf(node, from);
  Type *type = function.getArg(argument.parameter)->getType();
  if (!type->isPointerTy())
    return fail(ErrorKind::Compile, "Argument {} of kernel \"{}\" ({}) is not a pointer parameter.",
                argument.parameter, function.getName().str(), argument.metadataKind);
  // Before AIR 2.5 the parameter's type is the only place that says the space.
  const uint32_t space =
      valueOf(node, "air.address_space", from).value_or(type->getPointerAddressSpace());
  if (space != type->getPointerAddressSpace() || space < kDeviceSpace || space > kThreadgroupSpace)
    return fail(ErrorKind::Unsupported,
                "Argument {} of kernel \"{}\" is in address space [{}]; 1 (device), 2 (constant) "
                "or 3 (threadgroup) is expected.",
                argument.parameter, function.getName().str(), space);
  argument.addressSpace = static_cast<AddressSpace>(space);
  argument.dataSize = valueOf(node, "air.arg_type_size", from).value_or(0);
  argument.dataAlignment = valueOf(node, "air.arg_type_align_size", from).value_or(0);
  argument.boundSize = valueOf(node, "air.buffer_size", from).value_or(0);
  if (unsigned at = positionOf(node, "air.struct_type_info", from))
    if (const MDNode *members = nodeAt(node, at + 1))
      readMembers(*members, argument.members);
  return {};
}

Result<Argument> readArgument(const MDNode &node, const Function &function,
                              GlobalVariable *&predicate) {
  Argument argument;
  const auto parameter = integerAt(node, 0);
  if (!parameter || *parameter >= function.arg_size())
    return fail(ErrorKind::Compile,
                "An argument node of kernel \"{}\" has no parameter index below [{}].",
                function.getName().str(), function.arg_size());
  argument.parameter = *parameter;
  unsigned at = 1;
  predicate = nullptr;
  if (stringAt(node, at) == "air.function_constant") {
    if (const MDNode *gate = nodeAt(node, at + 1))
      predicate = globalAt<GlobalVariable>(*gate, 0);
    if (!predicate)
      return fail(ErrorKind::Compile,
                  "Argument {} of kernel \"{}\" has a gate without a predicate.",
                  argument.parameter, function.getName().str());
    at += 2;
  }
  const StringRef kind = stringAt(node, at);
  argument.metadataKind = kind.str();
  argument.typeName = textValueOf(node, "air.arg_type_name", at + 1).str();
  argument.name = textValueOf(node, "air.arg_name", at + 1).str();
  argument.used = positionOf(node, "air.arg_unused", at + 1) == 0;

  if (kind == "air.buffer" || kind == "air.indirect_buffer" || kind == kFunctionTable) {
    PEWTER_TRY_VOID(readPointer(node, at + 1, function, argument));
    argument.isArgumentBuffer = kind == "air.indirect_buffer";
    argument.kind = argument.addressSpace == AddressSpace::Threadgroup
                        ? ArgumentKind::ThreadgroupMemory
                        : ArgumentKind::Buffer;
  } else if (kind == "air.texture" || kind == "air.sampler") {
    PEWTER_TRY_VOID(readPointer(node, at + 1, function, argument));
    argument.kind = kind == "air.texture" ? ArgumentKind::Texture : ArgumentKind::Sampler;
    if (argument.kind == ArgumentKind::Sampler)
      argument.access = Access::Read;
  } else if (const Builtin builtin = builtinNamed(kind); builtin != Builtin::None) {
    argument.kind = ArgumentKind::Builtin;
    argument.builtin = builtin;
    Type *type = function.getArg(argument.parameter)->getType();
    const auto *vector = dyn_cast<FixedVectorType>(type);
    if (!type->getScalarType()->isIntegerTy() || (vector && vector->getNumElements() > 3))
      return fail(ErrorKind::Compile,
                  "Argument {} of kernel \"{}\" ({}) is not an integer or a vector of up to three.",
                  argument.parameter, function.getName().str(), argument.metadataKind);
  } else if (kind.empty()) {
    return fail(ErrorKind::Compile, "Argument {} of kernel \"{}\" has no kind.", argument.parameter,
                function.getName().str());
  }
  return argument;
}

} // namespace

Result<KernelMetadata> readKernel(MDNode &node) {
  KernelMetadata kernel;
  kernel.node = &node;
  kernel.function = globalAt<Function>(node, 0);
  if (!kernel.function || kernel.function->isDeclaration())
    return fail(ErrorKind::Compile, "A node of !air.kernel does not name a defined function.");
  Function &function = *kernel.function;
  KernelReflection &reflection = kernel.reflection;
  reflection.name = function.getName().str();
  if (!function.getReturnType()->isVoidTy() || function.isVarArg())
    return fail(ErrorKind::Compile, "Kernel \"{}\" does not return void.", reflection.name);
  const MDNode *arguments = nodeAt(node, 2);
  if (!arguments)
    return fail(ErrorKind::Compile, "Kernel \"{}\" has no argument list.", reflection.name);

  std::vector<bool> seen(function.arg_size());
  for (unsigned i = 0; i < arguments->getNumOperands(); ++i) {
    const MDNode *argumentNode = nodeAt(*arguments, i);
    if (!argumentNode)
      return fail(ErrorKind::Compile, "Kernel \"{}\" has a null argument node.", reflection.name);
    GlobalVariable *predicate = nullptr;
    PEWTER_TRY(Argument argument, readArgument(*argumentNode, function, predicate));
    if (seen[argument.parameter])
      return fail(ErrorKind::Compile, "Parameter {} of kernel \"{}\" is described twice.",
                  argument.parameter, reflection.name);
    seen[argument.parameter] = true;
    reflection.arguments.push_back(std::move(argument));
  }
  for (size_t i = 0; i < seen.size(); ++i)
    if (!seen[i])
      return fail(ErrorKind::Compile, "Parameter {} of kernel \"{}\" is not described.", i,
                  reflection.name);
  std::ranges::sort(reflection.arguments, {}, &Argument::parameter);
  for (unsigned i = 0; i < arguments->getNumOperands(); ++i) {
    const MDNode *argumentNode = nodeAt(*arguments, i);
    if (stringAt(*argumentNode, 1) == "air.function_constant")
      kernel.gates.push_back(
          {*integerAt(*argumentNode, 0), globalAt<GlobalVariable>(*nodeAt(*argumentNode, 2), 0)});
  }
  for (unsigned i = 3; i < node.getNumOperands(); ++i)
    if (const MDNode *attribute = nodeAt(node, i);
        attribute && stringAt(*attribute, 0) == "air.max_work_group_size")
      if (const auto limit = integerAt(*attribute, 1); limit && *limit)
        reflection.maxTotalThreadsPerThreadgroup = std::min(*limit, 1024u);
  return kernel;
}

bool isGateClosed(const ArgumentGate &gate) {
  return gate.predicate->hasInitializer() && gate.predicate->getInitializer()->isNullValue();
}

Result<std::vector<KernelMetadata>> readKernels(const Module &module) {
  std::vector<KernelMetadata> kernels;
  if (const NamedMDNode *list = module.getNamedMetadata(kKernelList))
    for (const MDNode *constNode : list->operands()) {
      auto *node = const_cast<MDNode *>(constNode);
      PEWTER_TRY(KernelMetadata kernel, readKernel(*node));
      kernels.push_back(std::move(kernel));
    }
  return kernels;
}

std::vector<CalleeMetadata> readCallees(const Module &module) {
  std::vector<CalleeMetadata> callees;
  if (const NamedMDNode *list = module.getNamedMetadata(kCalleeList))
    for (const MDNode *node : list->operands()) {
      auto *function = globalAt<Function>(*node, 0);
      if (!function || function->isDeclaration())
        continue;
      StringRef symbol = stringAt(*node, 1);
      if (symbol.empty())
        symbol = function->getName();
      callees.push_back({function, symbol.str(), stringAt(*node, 2).str()});
    }
  return callees;
}

void readFeatures(const Function &kernel, KernelReflection &reflection) {
  const Module &module = *kernel.getParent();
  const Reachable reachable = reachableFrom(kernel);
  reflection.usesThreadgroupBarrier = false;
  reflection.usesSimdgroupOperations = false;
  for (const Function *function : reachable.functions) {
    switch (classify(*function)) {
    case AirCall::Barrier:
      if (function->getName().starts_with("air.simdgroup"))
        reflection.usesSimdgroupOperations = true;
      else
        reflection.usesThreadgroupBarrier = true;
      break;
    case AirCall::CrossLane:
    case AirCall::MatrixValue:
    case AirCall::MatrixLoad:
    case AirCall::MatrixStore:
      reflection.usesSimdgroupOperations = true;
      break;
    default:
      break;
    }
  }
  uint64_t bytes = 0;
  for (const GlobalVariable *global : reachable.globals)
    if (global->getAddressSpace() == kThreadgroupSpace) {
      bytes = alignTo(bytes, global->getAlign().valueOrOne());
      bytes += module.getDataLayout().getTypeAllocSize(global->getValueType());
    }
  reflection.staticThreadgroupBytes = static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX));
}

Result<std::vector<KernelReflection>> reflectKernels(const Module &module) {
  PEWTER_TRY(std::vector<KernelMetadata> kernels, readKernels(module));
  PEWTER_TRY(std::vector<ConstantPlaceholder> placeholders, readPlaceholders(module));
  std::vector<KernelReflection> reflections;
  for (KernelMetadata &kernel : kernels) {
    readFeatures(*kernel.function, kernel.reflection);
    kernel.reflection.constants = constantsOf(kernel, placeholders, kernels.size() == 1);
    reflections.push_back(std::move(kernel.reflection));
  }
  return reflections;
}

} // namespace pewter::air::ir
