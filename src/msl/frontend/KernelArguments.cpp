// SPDX-License-Identifier: Apache-2.0
//
// Buffers without an index take the lowest free one, in order, as Apple's compiler numbers them;
// threadgroup blocks, textures and samplers each have a numbering of their own.
//
// Tested by: Reflection_test.cpp, tests/lit/msl.
#include "msl/frontend/KernelArguments.h"
#include "air/BuiltinNames.h"
#include "msl/frontend/MslTypes.h"
#include <clang/AST/Attr.h>
#include <clang/AST/GlobalDecl.h>
#include <clang/AST/DeclCXX.h>
#include <fmt/format.h>
#include <set>

namespace pewter::msl {

using namespace clang;
using air::ArgumentKind;

namespace {

struct SlotRule {
  const char *attribute;
  uint32_t count;
};
SlotRule ruleFor(ArgumentKind kind) {
  switch (kind) {
  case ArgumentKind::Buffer: return {"buffer", 31};
  case ArgumentKind::ThreadgroupMemory: return {"threadgroup", 31};
  case ArgumentKind::Texture: return {"texture", 128};
  case ArgumentKind::Sampler: return {"sampler", 16};
  default: return {"", 0};
  }
}

class ArgumentReader {
public:
  ArgumentReader(ASTContext &context, const FunctionDecl &kernel, CodeGenerator &generator,
                 Diagnostics &diagnostics, KernelEntry &entry)
      : context_(context), kernel_(kernel), generator_(generator), diagnostics_(diagnostics),
        entry_(entry) {}

  void run() {
    for (const ParmVarDecl *parameter : kernel_.parameters())
      read(*parameter);
    numberTheRest();
  }

private:
  template <class... Args>
  void error(const ParmVarDecl &parameter, fmt::format_string<Args...> format, Args &&...args) {
    diagnostics_.addError(&context_.getSourceManager(), parameter.getLocation(),
                          fmt::format(format, std::forward<Args>(args)...));
  }

  void read(const ParmVarDecl &parameter) {
    air::Argument argument;
    argument.parameter = static_cast<uint32_t>(entry_.reflection.arguments.size());
    argument.name = parameter.getNameAsString();
    argument.used = parameter.isUsed() || parameter.isReferenced();
    bindings_.push_back(nullptr);
    const QualType type = parameter.getType();
    if (type->isPointerType() || type->isReferenceType())
      readPointer(parameter, type->getPointeeType(), argument);
    else if (const llvm::StringRef name = metalTemplateName(type);
             name.starts_with("texture") || name.starts_with("depth"))
      readTexture(type, argument);
    else if (name == "array" || name == "array_ref")
      readArray(parameter, type, argument);
    else if (isSampler(type))
      argument.kind = ArgumentKind::Sampler;
    else if (name == "visible_function_table")
      readFunctionTable(argument);
    else
      readValue(parameter, argument);
    if (argument.kind == ArgumentKind::Texture || argument.kind == ArgumentKind::Sampler)
      argument.metadataKind = argument.kind == ArgumentKind::Texture ? "air.texture" : "air.sampler";
    if (argument.typeName.empty())
      argument.typeName = typeName(context_, type);
    checkAttributes(parameter, argument);
    readGate(parameter);
    entry_.reflection.arguments.push_back(std::move(argument));
  }

  /// A table is bound like a buffer: its count, and a word for each entry.
  static void readFunctionTable(air::Argument &argument) {
    argument.kind = ArgumentKind::Buffer;
    argument.addressSpace = air::AddressSpace::Constant;
    argument.access = air::Access::Read;
    argument.metadataKind = air::kFunctionTable;
  }

  void readPointer(const ParmVarDecl &parameter, QualType pointee, air::Argument &argument) {
    const LangAS space = pointee.getAddressSpace();
    const unsigned number = space == LangAS::Default ? 0 : toTargetAddressSpace(space);
    if (number == 0 || number > 3) {
      error(parameter,
            "{} argument '{}' of kernel '{}' needs an address space: device, constant or threadgroup",
            parameter.getType()->isPointerType() ? "pointer" : "reference", argument.name,
            kernel_.getNameAsString());
      return;
    }
    argument.addressSpace = static_cast<air::AddressSpace>(number);
    argument.kind = number == 3 ? ArgumentKind::ThreadgroupMemory : ArgumentKind::Buffer;
    argument.metadataKind = "air.buffer";
    // Apple's compiler calls memory without a type writable, const or not.
    const bool isReadOnly = number == 2 || (pointee.isConstQualified() && !pointee->isVoidType());
    argument.access = isReadOnly ? air::Access::Read : air::Access::ReadWrite;
    argument.typeName = typeName(context_, pointee);
    if (!pointee->isIncompleteType() && !pointee->isFunctionType()) {
      argument.dataSize = static_cast<uint32_t>(context_.getTypeSizeInChars(pointee).getQuantity());
      argument.dataAlignment =
          static_cast<uint32_t>(context_.getTypeAlignInChars(pointee).getQuantity());
      if (parameter.getType()->isReferenceType())
        argument.boundSize = argument.dataSize;
      argument.members = membersOf(context_, pointee);
      argument.isArgumentBuffer = isArgumentBuffer(pointee);
      if (argument.isArgumentBuffer)
        argument.metadataKind = "air.indirect_buffer";
    }
  }

  void readTexture(QualType type, air::Argument &argument) {
    argument.kind = ArgumentKind::Texture;
    argument.access = air::Access::Sample;
    const TemplateArgumentList &arguments = *metalTemplateArguments(type);
    if (arguments.size() >= 2 && arguments[1].getKind() == TemplateArgument::Integral) {
      static constexpr air::Access kAccesses[] = {air::Access::Sample, air::Access::Read,
                                                  air::Access::Write, air::Access::ReadWrite};
      argument.access = kAccesses[arguments[1].getAsIntegral().getZExtValue() & 3];
    }
  }

  void readArray(const ParmVarDecl &parameter, QualType type, air::Argument &argument) {
    const TemplateArgumentList &arguments = *metalTemplateArguments(type);
    const QualType element = arguments[0].getAsType();
    if (const llvm::StringRef name = metalTemplateName(element);
        name.starts_with("texture") || name.starts_with("depth"))
      readTexture(element, argument);
    else if (isSampler(element))
      argument.kind = ArgumentKind::Sampler;
    else
      readValue(parameter, argument);
    if (arguments.size() > 1 && arguments[1].getKind() == TemplateArgument::Integral)
      argument.arrayLength = static_cast<uint32_t>(arguments[1].getAsIntegral().getZExtValue());
  }

  void readValue(const ParmVarDecl &parameter, air::Argument &argument) {
    for (const auto *attribute : parameter.specific_attrs<AnnotateAttr>()) {
      const air::Builtin builtin = air::builtinNamed(attribute->getAnnotation().str());
      if (builtin == air::Builtin::None)
        continue;
      argument.kind = ArgumentKind::Builtin;
      argument.builtin = builtin;
      argument.metadataKind = air::airNameOf(builtin);
      checkCoordinate(parameter, argument);
      return;
    }
    if (const auto *attribute = findAnnotation(&parameter, "buffer")) {
      diagnostics_.addError(
          &context_.getSourceManager(), parameter.getLocation(),
          fmt::format("invalid type '{}' for argument '{}': a buffer is a pointer or a reference in "
                      "the device or constant address space",
                      typeName(context_, parameter.getType()), argument.name));
      static_cast<void>(attribute);
      return;
    }
    error(parameter, "argument '{}' of kernel '{}' has no attribute that says what it is bound to",
          argument.name, kernel_.getNameAsString());
  }

  void checkCoordinate(const ParmVarDecl &parameter, const air::Argument &argument) {
    const air::DataType type = dataTypeOf(context_, parameter.getType());
    const auto [scalar, count] = air::componentsOf(type);
    const bool integer = scalar == air::DataType::UInt || scalar == air::DataType::UShort;
    const llvm::StringRef kind = argument.metadataKind;
    const bool isIndex = kind.contains("_index_") || kind.contains("threads_per_simdgroup") ||
                         kind.contains("simdgroups_per") || kind.contains("quadgroups_per") ||
                         kind.contains("execution_width");
    if (!integer || count > 3 || (isIndex && count != 1))
      error(parameter, "type '{}' is not valid for attribute '{}': expected {}",
            typeName(context_, parameter.getType()), kind.drop_front(4).str(),
            isIndex ? "ushort or uint" : "ushort or uint, or a vector of two or three of them");
  }

  void checkAttributes(const ParmVarDecl &parameter, air::Argument &argument) {
    for (const auto *attribute : parameter.specific_attrs<AnnotateAttr>()) {
      llvm::StringRef name = attribute->getAnnotation();
      name.consume_front("air.");
      if (name != "buffer" && name != "threadgroup" && name != "texture" && name != "sampler")
        continue;
      const SlotRule rule = ruleFor(argument.kind);
      if (argument.kind == ArgumentKind::Unsupported)
        continue; // Already reported.
      if (name != rule.attribute) {
        error(parameter, "attribute '{}' does not fit argument '{}' of type '{}'", name.str(),
              argument.name, parameterTypeName(parameter));
        continue;
      }
      const auto slot = integerArgument(context_, attribute);
      if (!slot || *slot < 0 || *slot + std::max(1u, argument.arrayLength) > rule.count) {
        error(parameter, "'{}' attribute of argument '{}' must be a constant between 0 and {}",
              name.str(), argument.name, rule.count - 1);
        continue;
      }
      argument.slot = static_cast<uint32_t>(*slot);
      bindings_.back() = &parameter;
      for (uint32_t i = 0; i < std::max(1u, argument.arrayLength); ++i)
        if (!taken_[static_cast<size_t>(argument.kind)].insert(argument.slot + i).second)
          error(parameter, "{} index {} is used by two arguments of kernel '{}'", name.str(),
                argument.slot + i, kernel_.getNameAsString());
    }
  }

  std::string parameterTypeName(const ParmVarDecl &parameter) const {
    return typeName(context_, parameter.getType());
  }

  void readGate(const ParmVarDecl &parameter) {
    entry_.gates.emplace_back();
    entry_.gateTypes.emplace_back();
    entry_.gateNames.emplace_back();
    const auto *attribute = findAnnotation(&parameter, "fc_enable");
    if (!attribute)
      return;
    const std::string name = stringArgument(attribute);
    IdentifierInfo &identifier = context_.Idents.get(name);
    for (NamedDecl *candidate : context_.getTranslationUnitDecl()->lookup(&identifier))
      if (auto *variable = dyn_cast<VarDecl>(candidate)) {
        entry_.gates.back() = generator_.GetMangledName(GlobalDecl(variable)).str();
        entry_.gateTypes.back() = typeName(context_, variable->getType());
        entry_.gateNames.back() = name;
        return;
      }
    error(parameter, "'{}' in attribute 'function_constant' of argument '{}' is not a constant of "
                     "the program",
          name, parameter.getNameAsString());
  }

  void numberTheRest() {
    auto &arguments = entry_.reflection.arguments;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const SlotRule rule = ruleFor(arguments[i].kind);
      if (bindings_[i] || rule.count == 0)
        continue;
      auto &taken = taken_[static_cast<size_t>(arguments[i].kind)];
      uint32_t slot = 0;
      const auto fits = [&] {
        for (uint32_t k = 0; k < std::max(1u, arguments[i].arrayLength); ++k)
          if (taken.contains(slot + k))
            return false;
        return true;
      };
      while (slot < rule.count && !fits())
        ++slot;
      arguments[i].slot = slot;
      for (uint32_t k = 0; k < std::max(1u, arguments[i].arrayLength); ++k)
        taken.insert(slot + k);
      if (slot >= rule.count) {
        error(*kernel_.getParamDecl(static_cast<unsigned>(i)),
              "kernel '{}' has more than {} {} arguments", kernel_.getNameAsString(), rule.count,
              rule.attribute);
        return;
      }
    }
  }

  ASTContext &context_;
  const FunctionDecl &kernel_;
  CodeGenerator &generator_;
  Diagnostics &diagnostics_;
  KernelEntry &entry_;
  std::set<uint32_t> taken_[8];
  std::vector<const ParmVarDecl *> bindings_; ///< Null for arguments without an index.
};

} // namespace

void readArguments(ASTContext &context, const FunctionDecl &kernel, CodeGenerator &generator,
                   Diagnostics &diagnostics, KernelEntry &entry) {
  ArgumentReader(context, kernel, generator, diagnostics, entry).run();
}

} // namespace pewter::msl
