// SPDX-License-Identifier: Apache-2.0
//
// Tested by: Reflection_test.cpp.
#include "msl/frontend/MslTypes.h"
#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/Expr.h>
#include <fmt/format.h>

namespace pewter::msl {

using namespace clang;

namespace {

std::string scalarName(const BuiltinType *type) {
  switch (type->getKind()) {
  case BuiltinType::Void: return "void";
  case BuiltinType::Bool: return "bool";
  case BuiltinType::Char_S:
  case BuiltinType::SChar: return "char";
  case BuiltinType::Char_U:
  case BuiltinType::UChar: return "uchar";
  case BuiltinType::Short: return "short";
  case BuiltinType::UShort: return "ushort";
  case BuiltinType::Int: return "int";
  case BuiltinType::UInt: return "uint";
  case BuiltinType::Long:
  case BuiltinType::LongLong: return "long";
  case BuiltinType::ULong:
  case BuiltinType::ULongLong: return "ulong";
  case BuiltinType::Half:
  case BuiltinType::Float16: return "half";
  case BuiltinType::BFloat16: return "bfloat";
  case BuiltinType::Float: return "float";
  case BuiltinType::Double: return "double";
  default: return "";
  }
}

const ClassTemplateSpecializationDecl *metalSpecialization(QualType type) {
  const auto *record = dyn_cast_or_null<ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl());
  if (!record)
    return nullptr;
  const auto *space = dyn_cast<NamespaceDecl>(record->getDeclContext()->getEnclosingNamespaceContext());
  return space && space->getName() == "metal" ? record : nullptr;
}

const char *spacePrefix(QualType pointee) {
  switch (pointee.getAddressSpace()) {
  case LangAS::Default: return "";
  default: break;
  }
  switch (toTargetAddressSpace(pointee.getAddressSpace())) {
  case 1: return "device ";
  case 2: return "constant ";
  case 3: return "threadgroup ";
  default: return "";
  }
}

std::string accessName(const ASTContext &context, const TemplateArgument &argument) {
  static constexpr const char *kNames[] = {"sample", "read", "write", "read_write"};
  if (argument.getKind() != TemplateArgument::Integral)
    return "sample";
  const uint64_t value = argument.getAsIntegral().getZExtValue();
  return value < 4 ? kNames[value] : "sample";
}

} // namespace

llvm::StringRef metalTemplateName(QualType type) {
  const auto *record = metalSpecialization(type);
  return record ? record->getName() : llvm::StringRef();
}

const TemplateArgumentList *metalTemplateArguments(QualType type) {
  const auto *record = metalSpecialization(type);
  return record ? &record->getTemplateArgs() : nullptr;
}

std::string typeName(const ASTContext &context, QualType type) {
  type = type.getCanonicalType().getUnqualifiedType();
  if (const auto *array = context.getAsConstantArrayType(type))
    return typeName(context, array->getElementType());
  if (const auto *enumeration = type->getAs<EnumType>())
    return enumeration->getDecl()->getNameAsString();
  if (const auto *builtin = type->getAs<BuiltinType>())
    if (std::string name = scalarName(builtin); !name.empty())
      return name;
  if (type->isPointerType() || type->isReferenceType()) {
    const QualType pointee = type->getPointeeType();
    return fmt::format("{}{}{}", spacePrefix(pointee), typeName(context, pointee),
                       type->isPointerType() ? "*" : "&");
  }
  if (const auto *function = type->getAs<FunctionProtoType>()) {
    std::string parameters;
    for (const QualType parameter : function->getParamTypes())
      parameters += (parameters.empty() ? "" : ", ") + typeName(context, parameter);
    return fmt::format("{}({})", typeName(context, function->getReturnType()), parameters);
  }
  if (const auto *record = metalSpecialization(type)) {
    const TemplateArgumentList &arguments = record->getTemplateArgs();
    const llvm::StringRef name = record->getName();
    const auto scalar = [&] { return typeName(context, arguments[0].getAsType()); };
    const auto number = [&](unsigned i) { return arguments[i].getAsIntegral().getZExtValue(); };
    if (name == "vec")
      return fmt::format("{}{}", scalar(), number(1));
    if (name == "packed_vec")
      return fmt::format("packed_{}{}", scalar(), number(1));
    if (name == "matrix")
      return fmt::format("{}{}x{}", scalar(), number(1), number(2));
    if (name == "_atomic")
      return fmt::format("atomic_{}", scalar());
    if (name == "visible_function_table")
      return fmt::format("visible_function_table<{}>", scalar());
    if (name == "array")
      return fmt::format("array<{}, {}>", scalar(), number(1));
    if ((name.starts_with("texture") || name.starts_with("depth")) && arguments.size() >= 2)
      return fmt::format("{}<{}, {}>", name.str(), scalar(), accessName(context, arguments[1]));
  }
  if (const auto *record = type->getAsCXXRecordDecl()) {
    // typedef struct { ... } Name;
    if (const TypedefNameDecl *alias = record->getTypedefNameForAnonDecl())
      return alias->getNameAsString();
    return record->getNameAsString();
  }
  return type.getAsString(context.getPrintingPolicy());
}

air::DataType dataTypeOf(const ASTContext &context, QualType type) {
  if (const auto *enumeration = type->getAs<EnumType>())
    type = enumeration->getDecl()->getIntegerType();
  return air::dataTypeNamed(typeName(context, type)).value_or(air::DataType::None);
}

bool isArgumentBuffer(QualType type) {
  const CXXRecordDecl *record = type->getAsCXXRecordDecl();
  if (!record || !record->hasDefinition() || !metalTemplateName(type).empty() || isSampler(type))
    return false;
  for (const FieldDecl *field : record->fields()) {
    QualType element = field->getType();
    while (const ArrayType *array = element->getAsArrayTypeUnsafe())
      element = array->getElementType();
    if (metalTemplateName(element) == "array")
      element = (*metalTemplateArguments(element))[0].getAsType();
    const llvm::StringRef name = metalTemplateName(element);
    if (findAnnotation(field, "id") || name.starts_with("texture") || name.starts_with("depth") ||
        name == "visible_function_table" || isSampler(element) || isArgumentBuffer(element))
      return true;
    if (element->isPointerType() && element->getPointeeType().getAddressSpace() != LangAS::Default)
      return true;
  }
  return false;
}

bool isSampler(QualType type) {
  const CXXRecordDecl *record = type->getAsCXXRecordDecl();
  return record && record->getName() == "sampler" && record->getDeclContext()->isNamespace();
}

std::vector<air::StructMember> membersOf(const ASTContext &context, QualType type, unsigned depth) {
  std::vector<air::StructMember> members;
  const CXXRecordDecl *record = type->getAsCXXRecordDecl();
  if (!record || !record->hasDefinition() || metalSpecialization(type) || record->isUnion())
    return members;
  uint32_t nextId = 0;
  for (const FieldDecl *field : record->fields()) {
    air::StructMember member;
    member.name = field->getNameAsString();
    member.offset = static_cast<uint32_t>(context.getFieldOffset(field) / 8);
    QualType element = field->getType();
    if (const auto *array = context.getAsConstantArrayType(element)) {
      member.arrayLength = static_cast<uint32_t>(array->getSize().getZExtValue());
      element = array->getElementType();
    } else if (metalTemplateName(element) == "array") {
      const TemplateArgumentList &arguments = *metalTemplateArguments(element);
      member.arrayLength = static_cast<uint32_t>(arguments[1].getAsIntegral().getZExtValue());
      element = arguments[0].getAsType();
    }
    member.typeName = typeName(context, element);
    member.size = static_cast<uint32_t>(context.getTypeSizeInChars(element).getQuantity());
    if (const auto *id = findAnnotation(field, "id"))
      nextId = static_cast<uint32_t>(integerArgument(context, id).value_or(nextId));
    member.argumentIndex = nextId;
    const QualType pointee = element->isPointerType() ? element->getPointeeType() : QualType();
    const QualType nested = pointee.isNull() ? element : pointee;
    uint32_t ids = 1;
    if (depth < air::kDeepestMember && isArgumentBuffer(nested)) {
      member.members = membersOf(context, nested, depth + 1);
      if (pointee.isNull())
        ids = air::idsOf(member.members);
      else
        member.pointeeSize =
            static_cast<uint32_t>(context.getTypeSizeInChars(pointee).getQuantity());
    }
    nextId += ids * std::max(1u, member.arrayLength);
    members.push_back(std::move(member));
  }
  return members;
}

const AnnotateAttr *findAnnotation(const Decl *declaration, llvm::StringRef name) {
  for (const auto *attribute : declaration->specific_attrs<AnnotateAttr>()) {
    llvm::StringRef text = attribute->getAnnotation();
    if (text.consume_front("air.") && text == name)
      return attribute;
  }
  return nullptr;
}

std::optional<int64_t> integerArgument(const ASTContext &context, const AnnotateAttr *annotation,
                                       unsigned index) {
  if (!annotation || annotation->args_size() <= index)
    return std::nullopt;
  const Expr *expression = annotation->args_begin()[index];
  Expr::EvalResult result;
  if (expression->isValueDependent() || !expression->EvaluateAsRValue(result, context) ||
      !result.Val.isInt())
    return std::nullopt;
  const llvm::APSInt &value = result.Val.getInt();
  return value.isSigned() ? value.getSExtValue() : static_cast<int64_t>(value.getZExtValue());
}

std::string stringArgument(const AnnotateAttr *annotation) {
  if (!annotation || annotation->args_size() == 0)
    return "";
  const Expr *expression = annotation->args_begin()[0]->IgnoreParenImpCasts();
  if (const auto *constant = dyn_cast<ConstantExpr>(expression))
    expression = constant->getSubExpr()->IgnoreParenImpCasts();
  const auto *literal = dyn_cast<StringLiteral>(expression);
  return literal ? literal->getString().str() : "";
}

} // namespace pewter::msl
