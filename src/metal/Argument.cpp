// SPDX-License-Identifier: Apache-2.0
//
// Types are known by their MSL spelling: a spelling that air::dataTypeNamed does not know is a
// struct when members are listed for it, and otherwise has no data type. Tested by
// tests/api/Reflection_test.cpp.
#include "metal/Argument.h"
#include "foundation/Collections.h"
#include "foundation/String.h"
#include <charconv>

namespace pewter::metal {
namespace {

/// What a type is made from: a struct's members, or the spelling of another type.
struct TypeData {
  MTL::DataType type = MTL::DataTypeNone;
  std::vector<air::StructMember> members; ///< Struct.
  uint32_t arrayLength = 0, stride = 0;   ///< Array.
  MTL::DataType elementType = MTL::DataTypeNone;
  std::string elementName;              ///< Array, Pointer: MSL spelling of the element.
  uint32_t alignment = 0, dataSize = 0; ///< Pointer.
  MTL::BindingAccess access = MTL::BindingAccessReadOnly;
  MTL::TextureType textureType = MTL::TextureType2D;
  bool isArgumentBuffer = false;
};

/// One class for each public type, all with the same data as their facet.
#define PEWTER_TYPE(Class, objc)                                                                   \
  class Class final : public MTL::Class {                                                          \
  public:                                                                                          \
    Class() = default;                                                                             \
    explicit Class(TypeData data) : data(std::move(data)) {}                                       \
    const char *className() const override { return objc; }                                        \
    void *facet() override { return &data; }                                                       \
    TypeData data;                                                                                 \
  };
PEWTER_TYPE(Type, "MTLType")
PEWTER_TYPE(StructType, "MTLStructType")
PEWTER_TYPE(ArrayType, "MTLArrayType")
PEWTER_TYPE(PointerType, "MTLPointerType")
PEWTER_TYPE(TextureReferenceType, "MTLTextureReferenceType")
#undef PEWTER_TYPE

class StructMember final : public MTL::StructMember {
public:
  const char *className() const override { return "MTLStructMember"; }
  air::StructMember data;
};
StructMember *implOf(const MTL::StructMember *member) {
  return static_cast<StructMember *>(const_cast<MTL::StructMember *>(member));
}

template <class Public> class BindingOf final : public Public {
public:
  explicit BindingOf(const air::Argument &argument) : data(argument) {}
  const char *className() const override { return "MTLBinding"; }
  void *facet() override { return &data; }
  air::Argument data;
};

class Argument final : public MTL::Argument {
public:
  const char *className() const override { return "MTLArgument"; }
  void *facet() override { return &data; }
  air::Argument data;
};

class FunctionReflection final : public MTL::FunctionReflection {
public:
  const char *className() const override { return "MTLFunctionReflection"; }
  foundation::Ref<NS::Array> bindings;
};

template <class T> const TypeData &typeOf(const T *type) {
  return *static_cast<TypeData *>(const_cast<T *>(type)->facet());
}
template <class T> const air::Argument &dataOf(const T *object) {
  return *static_cast<air::Argument *>(const_cast<T *>(object)->facet());
}

MTL::DataType dataTypeOf(const std::string &name, bool hasMembers) {
  if (auto type = air::dataTypeNamed(name))
    return static_cast<MTL::DataType>(*type);
  if (name.find('*') != std::string::npos)
    return MTL::DataTypePointer;
  if (name.starts_with("texture") || name.starts_with("depth"))
    return MTL::DataTypeTexture;
  if (name == "sampler")
    return MTL::DataTypeSampler;
  if (name.starts_with("visible_function_table"))
    return MTL::DataTypeVisibleFunctionTable;
  return hasMembers ? MTL::DataTypeStruct : MTL::DataTypeNone;
}

/// "const device float4 *" -> "float4".
std::string pointeeOf(std::string name) {
  name = name.substr(0, name.find('*'));
  for (std::string_view word : {"const ", "device ", "constant ", "threadgroup ", "thread "})
    for (size_t at; (at = name.find(word)) != std::string::npos;)
      name.erase(at, word.size());
  while (!name.empty() && name.back() == ' ')
    name.pop_back();
  return name;
}

MTL::BindingAccess accessOf(const air::Argument &argument) {
  switch (argument.access) {
  case air::Access::Write:
    return MTL::BindingAccessWriteOnly;
  case air::Access::ReadWrite:
    return MTL::BindingAccessReadWrite;
  default:
    return MTL::BindingAccessReadOnly;
  }
}

/// "texture2d_array<float, write>" -> Type2DArray.
MTL::TextureType textureTypeOf(std::string_view name) {
  bool array = name.find("_array") != std::string_view::npos;
  bool multisample = name.find("_ms") != std::string_view::npos;
  if (name.find("_buffer") != std::string_view::npos)
    return MTL::TextureTypeTextureBuffer;
  if (name.find("1d") != std::string_view::npos)
    return array ? MTL::TextureType1DArray : MTL::TextureType1D;
  if (name.find("3d") != std::string_view::npos)
    return MTL::TextureType3D;
  if (name.find("cube") != std::string_view::npos)
    return array ? MTL::TextureTypeCubeArray : MTL::TextureTypeCube;
  if (multisample)
    return array ? MTL::TextureType2DMultisampleArray : MTL::TextureType2DMultisample;
  return array ? MTL::TextureType2DArray : MTL::TextureType2D;
}

/// The component type between '<' and ',' or '>'.
MTL::DataType texelTypeOf(const std::string &name) {
  size_t open = name.find('<');
  if (open == std::string::npos)
    return MTL::DataTypeFloat;
  std::string inner = name.substr(open + 1, name.find_first_of(",>", open) - open - 1);
  return dataTypeOf(inner, false);
}

TypeData pointerData(const air::Argument &argument) {
  TypeData data;
  data.type = MTL::DataTypePointer;
  data.members = argument.members;
  data.elementName = argument.typeName;
  data.elementType = dataTypeOf(argument.typeName, !argument.members.empty());
  data.alignment = argument.dataAlignment;
  data.dataSize = argument.dataSize;
  data.access = accessOf(argument);
  data.isArgumentBuffer = argument.isArgumentBuffer;
  return data;
}

MTL::StructType *makeStruct(const std::vector<air::StructMember> &members) {
  if (members.empty())
    return nullptr;
  TypeData data;
  data.type = MTL::DataTypeStruct;
  data.members = members;
  return foundation::autoreleased(new StructType(std::move(data)));
}

MTL::TextureReferenceType *makeTextureReference(const std::string &name) {
  TypeData data;
  data.type = MTL::DataTypeTexture;
  data.elementType = texelTypeOf(name);
  data.elementName = name;
  data.textureType = textureTypeOf(name);
  if (name.find("read_write") != std::string::npos)
    data.access = MTL::BindingAccessReadWrite;
  else if (name.find("write") != std::string::npos)
    data.access = MTL::BindingAccessWriteOnly;
  return foundation::autoreleased(new TextureReferenceType(std::move(data)));
}

MTL::StructMember *newMember(const air::StructMember &data) {
  auto *member = new StructMember();
  member->data = data;
  return member;
}

MTL::Binding *newBinding(const air::Argument &argument) {
  switch (argument.kind) {
  case air::ArgumentKind::Buffer:
    if (argument.metadataKind == air::kFunctionTable)
      return new BindingOf<MTL::Binding>(argument);
    return new BindingOf<MTL::BufferBinding>(argument);
  case air::ArgumentKind::ThreadgroupMemory:
    return new BindingOf<MTL::ThreadgroupBinding>(argument);
  case air::ArgumentKind::Texture:
    return new BindingOf<MTL::TextureBinding>(argument);
  default:
    return new BindingOf<MTL::Binding>(argument);
  }
}

bool isBound(const air::Argument &argument) {
  return argument.kind != air::ArgumentKind::Builtin &&
         argument.kind != air::ArgumentKind::Unsupported;
}

MTL::DataType bufferTypeOf(const air::Argument &argument) {
  return dataTypeOf(argument.typeName, !argument.members.empty());
}

NS::UInteger bindingTypeOf(const air::Argument &argument) {
  switch (argument.kind) {
  case air::ArgumentKind::ThreadgroupMemory:
    return MTL::BindingTypeThreadgroupMemory;
  case air::ArgumentKind::Texture:
    return MTL::BindingTypeTexture;
  case air::ArgumentKind::Sampler:
    return MTL::BindingTypeSampler;
  default:
    return argument.metadataKind == air::kFunctionTable ? MTL::BindingTypeVisibleFunctionTable
                                                        : MTL::BindingTypeBuffer;
  }
}

} // namespace

NS::Array *newBindings(const air::KernelReflection &kernel) {
  std::vector<foundation::Ref<MTL::Binding>> list;
  for (auto &argument : kernel.arguments)
    if (isBound(argument))
      list.push_back(NS::TransferPtr(newBinding(argument)));
  return foundation::newArray(std::move(list));
}

MTL::Argument *makeArgument(const air::Argument &argument) {
  auto *made = new Argument();
  made->data = argument;
  return foundation::autoreleased(made);
}

NS::Array *newArguments(const air::KernelReflection &kernel) {
  std::vector<foundation::Ref<MTL::Argument>> list;
  for (auto &argument : kernel.arguments)
    if (isBound(argument))
      list.push_back(NS::RetainPtr(makeArgument(argument)));
  return foundation::newArray(std::move(list));
}

MTL::FunctionReflection *makeFunctionReflection(const air::KernelReflection &kernel) {
  auto *reflection = new FunctionReflection();
  reflection->bindings = NS::TransferPtr(newBindings(kernel));
  return foundation::autoreleased(reflection);
}

const air::Argument &argumentOf(const MTL::Binding *binding) { return dataOf(binding); }

} // namespace pewter::metal

using namespace pewter::metal;
using pewter::foundation::autoreleased;
using pewter::foundation::makeString;

namespace MTL {

Type *Type::alloc() { return new pewter::metal::Type(); }
Type *Type::init() { return this; }
DataType Type::dataType() const { return typeOf(this).type; }

StructMember *StructMember::alloc() { return new pewter::metal::StructMember(); }
StructMember *StructMember::init() { return this; }
NS::String *StructMember::name() const { return makeString(implOf(this)->data.name); }
NS::UInteger StructMember::offset() const { return implOf(this)->data.offset; }
NS::UInteger StructMember::argumentIndex() const { return implOf(this)->data.argumentIndex; }
DataType StructMember::dataType() const {
  auto &data = implOf(this)->data;
  return data.arrayLength ? DataTypeArray : dataTypeOf(data.typeName, false);
}
StructType *StructMember::structType() { return nullptr; }
ArrayType *StructMember::arrayType() {
  auto &member = implOf(this)->data;
  if (!member.arrayLength)
    return nullptr;
  TypeData data;
  data.type = DataTypeArray;
  data.arrayLength = member.arrayLength;
  data.stride = member.size;
  data.elementName = member.typeName;
  data.elementType = dataTypeOf(member.typeName, false);
  return autoreleased(new pewter::metal::ArrayType(std::move(data)));
}
PointerType *StructMember::pointerType() {
  auto &member = implOf(this)->data;
  if (member.typeName.find('*') == std::string::npos)
    return nullptr;
  TypeData data;
  data.type = DataTypePointer;
  data.elementName = pointeeOf(member.typeName);
  data.elementType = dataTypeOf(data.elementName, false);
  data.access = member.typeName.find("const") == std::string::npos ? BindingAccessReadWrite
                                                                   : BindingAccessReadOnly;
  return autoreleased(new pewter::metal::PointerType(std::move(data)));
}
TextureReferenceType *StructMember::textureReferenceType() {
  auto &name = implOf(this)->data.typeName;
  return dataTypeOf(name, false) == DataTypeTexture ? makeTextureReference(name) : nullptr;
}

StructType *StructType::alloc() { return new pewter::metal::StructType(); }
StructType *StructType::init() { return this; }
NS::Array *StructType::members() const {
  std::vector<pewter::foundation::Ref<StructMember>> list;
  for (auto &member : typeOf(this).members)
    list.push_back(NS::TransferPtr(newMember(member)));
  return pewter::foundation::makeArray(std::move(list));
}
StructMember *StructType::memberByName(const NS::String *name) {
  for (auto &member : typeOf(this).members)
    if (member.name == pewter::foundation::textOf(name))
      return autoreleased(newMember(member));
  return nullptr;
}

ArrayType *ArrayType::alloc() { return new pewter::metal::ArrayType(); }
ArrayType *ArrayType::init() { return this; }
NS::UInteger ArrayType::argumentIndexStride() const { return 1; }
NS::UInteger ArrayType::arrayLength() const { return typeOf(this).arrayLength; }
NS::UInteger ArrayType::stride() const { return typeOf(this).stride; }
DataType ArrayType::elementType() const { return typeOf(this).elementType; }
ArrayType *ArrayType::elementArrayType() { return nullptr; }
StructType *ArrayType::elementStructType() { return nullptr; }
PointerType *ArrayType::elementPointerType() { return nullptr; }
TextureReferenceType *ArrayType::elementTextureReferenceType() {
  return elementType() == DataTypeTexture ? makeTextureReference(typeOf(this).elementName)
                                          : nullptr;
}

PointerType *PointerType::alloc() { return new pewter::metal::PointerType(); }
PointerType *PointerType::init() { return this; }
BindingAccess PointerType::access() const { return typeOf(this).access; }
NS::UInteger PointerType::alignment() const { return typeOf(this).alignment; }
NS::UInteger PointerType::dataSize() const { return typeOf(this).dataSize; }
ArrayType *PointerType::elementArrayType() { return nullptr; }
bool PointerType::elementIsArgumentBuffer() const { return typeOf(this).isArgumentBuffer; }
StructType *PointerType::elementStructType() { return makeStruct(typeOf(this).members); }
DataType PointerType::elementType() const { return typeOf(this).elementType; }

TextureReferenceType *TextureReferenceType::alloc() {
  return new pewter::metal::TextureReferenceType();
}
TextureReferenceType *TextureReferenceType::init() { return this; }
BindingAccess TextureReferenceType::access() const { return typeOf(this).access; }
bool TextureReferenceType::isDepthTexture() const {
  return typeOf(this).elementName.starts_with("depth");
}
DataType TextureReferenceType::textureDataType() const { return typeOf(this).elementType; }
TextureType TextureReferenceType::textureType() const { return typeOf(this).textureType; }

BindingAccess Binding::access() const { return accessOf(dataOf(this)); }
bool Binding::argument() const { return true; }
bool Binding::isArgument() const { return true; }
NS::UInteger Binding::index() const { return dataOf(this).slot; }
NS::String *Binding::name() const { return makeString(dataOf(this).name); }
BindingType Binding::type() const { return static_cast<BindingType>(bindingTypeOf(dataOf(this))); }
bool Binding::used() const { return dataOf(this).used; }
bool Binding::isUsed() const { return dataOf(this).used; }

NS::UInteger BufferBinding::bufferAlignment() const { return dataOf(this).dataAlignment; }
NS::UInteger BufferBinding::bufferDataSize() const { return dataOf(this).dataSize; }
DataType BufferBinding::bufferDataType() const { return bufferTypeOf(dataOf(this)); }
PointerType *BufferBinding::bufferPointerType() const {
  return autoreleased(new pewter::metal::PointerType(pointerData(dataOf(this))));
}
StructType *BufferBinding::bufferStructType() const { return makeStruct(dataOf(this).members); }

NS::UInteger ThreadgroupBinding::threadgroupMemoryAlignment() const {
  return dataOf(this).dataAlignment;
}
NS::UInteger ThreadgroupBinding::threadgroupMemoryDataSize() const { return dataOf(this).dataSize; }

NS::UInteger TextureBinding::arrayLength() const { return dataOf(this).arrayLength; }
bool TextureBinding::depthTexture() const { return isDepthTexture(); }
bool TextureBinding::isDepthTexture() const { return dataOf(this).typeName.starts_with("depth"); }
DataType TextureBinding::textureDataType() const { return texelTypeOf(dataOf(this).typeName); }
TextureType TextureBinding::textureType() const { return textureTypeOf(dataOf(this).typeName); }

Argument *Argument::alloc() { return new pewter::metal::Argument(); }
Argument *Argument::init() { return this; }
BindingAccess Argument::access() const { return accessOf(dataOf(this)); }
bool Argument::active() const { return dataOf(this).used; }
bool Argument::isActive() const { return dataOf(this).used; }
NS::UInteger Argument::arrayLength() const { return dataOf(this).arrayLength; }
NS::UInteger Argument::bufferAlignment() const { return dataOf(this).dataAlignment; }
NS::UInteger Argument::bufferDataSize() const { return dataOf(this).dataSize; }
DataType Argument::bufferDataType() const { return bufferTypeOf(dataOf(this)); }
PointerType *Argument::bufferPointerType() const {
  return autoreleased(new pewter::metal::PointerType(pointerData(dataOf(this))));
}
StructType *Argument::bufferStructType() const { return makeStruct(dataOf(this).members); }
NS::UInteger Argument::index() const { return dataOf(this).slot; }
bool Argument::isDepthTexture() const { return dataOf(this).typeName.starts_with("depth"); }
NS::String *Argument::name() const { return makeString(dataOf(this).name); }
DataType Argument::textureDataType() const { return texelTypeOf(dataOf(this).typeName); }
TextureType Argument::textureType() const { return textureTypeOf(dataOf(this).typeName); }
NS::UInteger Argument::threadgroupMemoryAlignment() const { return dataOf(this).dataAlignment; }
NS::UInteger Argument::threadgroupMemoryDataSize() const { return dataOf(this).dataSize; }
ArgumentType Argument::type() const {
  return static_cast<ArgumentType>(bindingTypeOf(dataOf(this)));
}

FunctionReflection *FunctionReflection::alloc() { return new pewter::metal::FunctionReflection(); }
FunctionReflection *FunctionReflection::init() { return this; }
NS::Array *FunctionReflection::bindings() const {
  return static_cast<const pewter::metal::FunctionReflection *>(this)->bindings.get();
}

} // namespace MTL
