// SPDX-License-Identifier: Apache-2.0
//
// Reflection of a kernel's arguments.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDataType.hpp"
#include "MTLDefines.hpp"
#include "MTLTexture.hpp"

namespace MTL {

class Argument;
class ArrayType;
class Binding;
class BufferBinding;
class PointerType;
class StructMember;
class StructType;
class TextureBinding;
class TextureReferenceType;
class ThreadgroupBinding;
class Type;

enum IndexType : NS::UInteger {
  IndexTypeUInt16 = 0,
  IndexTypeUInt32 = 1,
};

enum BindingType : NS::Integer {
  BindingTypeBuffer = 0,
  BindingTypeThreadgroupMemory = 1,
  BindingTypeTexture = 2,
  BindingTypeSampler = 3,
  BindingTypeImageblockData = 16,
  BindingTypeImageblock = 17,
  BindingTypeVisibleFunctionTable = 24,
  BindingTypePrimitiveAccelerationStructure = 25,
  BindingTypeInstanceAccelerationStructure = 26,
  BindingTypeIntersectionFunctionTable = 27,
  BindingTypeObjectPayload = 34,
  BindingTypeTensor = 37,
};

enum ArgumentType : NS::UInteger {
  ArgumentTypeBuffer = 0,
  ArgumentTypeThreadgroupMemory = 1,
  ArgumentTypeTexture = 2,
  ArgumentTypeSampler = 3,
  ArgumentTypeImageblockData = 16,
  ArgumentTypeImageblock = 17,
  ArgumentTypeVisibleFunctionTable = 24,
  ArgumentTypePrimitiveAccelerationStructure = 25,
  ArgumentTypeInstanceAccelerationStructure = 26,
  ArgumentTypeIntersectionFunctionTable = 27,
};

enum BindingAccess : NS::UInteger {
  BindingAccessReadOnly = 0,
  BindingAccessReadWrite = 1,
  BindingAccessWriteOnly = 2,
  ArgumentAccessReadOnly = 0,
  ArgumentAccessReadWrite = 1,
  ArgumentAccessWriteOnly = 2,
};

/// A value type.
class _MTL_EXPORT Type : public NS::Referencing<Type> {
public:
  static Type *alloc();
  Type *init();
  DataType dataType() const;
};

/// A member of a struct.
class _MTL_EXPORT StructMember : public NS::Referencing<StructMember> {
public:
  static StructMember *alloc();
  StructMember *init();
  NS::UInteger argumentIndex() const;
  ArrayType *arrayType();
  DataType dataType() const;
  NS::String *name() const;
  NS::UInteger offset() const;
  PointerType *pointerType();
  StructType *structType();
  TextureReferenceType *textureReferenceType();
};

/// A struct.
class _MTL_EXPORT StructType : public NS::Referencing<StructType, Type> {
public:
  static StructType *alloc();
  StructType *init();
  StructMember *memberByName(const NS::String *name);
  NS::Array *members() const;
};

/// An array with a fixed length.
class _MTL_EXPORT ArrayType : public NS::Referencing<ArrayType, Type> {
public:
  static ArrayType *alloc();
  ArrayType *init();
  NS::UInteger argumentIndexStride() const;
  NS::UInteger arrayLength() const;
  ArrayType *elementArrayType();
  PointerType *elementPointerType();
  StructType *elementStructType();
  TextureReferenceType *elementTextureReferenceType();
  DataType elementType() const;
  NS::UInteger stride() const;
};

/// A pointer into device, constant or threadgroup memory.
class _MTL_EXPORT PointerType : public NS::Referencing<PointerType, Type> {
public:
  static PointerType *alloc();
  PointerType *init();
  BindingAccess access() const;
  NS::UInteger alignment() const;
  NS::UInteger dataSize() const;
  ArrayType *elementArrayType();
  bool elementIsArgumentBuffer() const;
  StructType *elementStructType();
  DataType elementType() const;
};

/// A texture inside a struct.
class _MTL_EXPORT TextureReferenceType : public NS::Referencing<TextureReferenceType, Type> {
public:
  static TextureReferenceType *alloc();
  TextureReferenceType *init();
  BindingAccess access() const;
  bool isDepthTexture() const;
  DataType textureDataType() const;
  TextureType textureType() const;
};

/// An argument, in the older form of reflection.
class _MTL_EXPORT Argument : public NS::Referencing<Argument> {
public:
  static Argument *alloc();
  Argument *init();
  BindingAccess access() const;
  bool active() const;
  bool isActive() const;
  NS::UInteger arrayLength() const;
  NS::UInteger bufferAlignment() const;
  NS::UInteger bufferDataSize() const;
  DataType bufferDataType() const;
  PointerType *bufferPointerType() const;
  StructType *bufferStructType() const;
  bool isDepthTexture() const;
  NS::UInteger index() const;
  NS::String *name() const;
  DataType textureDataType() const;
  TextureType textureType() const;
  NS::UInteger threadgroupMemoryAlignment() const;
  NS::UInteger threadgroupMemoryDataSize() const;
  ArgumentType type() const;
};

/// An argument of a kernel that the host binds.
class _MTL_EXPORT Binding : public NS::Referencing<Binding> {
public:
  BindingAccess access() const;
  bool argument() const;
  bool isArgument() const;
  NS::UInteger index() const;
  NS::String *name() const;
  BindingType type() const;
  bool used() const;
  bool isUsed() const;
};

/// A buffer argument.
class _MTL_EXPORT BufferBinding : public NS::Referencing<BufferBinding, Binding> {
public:
  NS::UInteger bufferAlignment() const;
  NS::UInteger bufferDataSize() const;
  DataType bufferDataType() const;
  PointerType *bufferPointerType() const;
  StructType *bufferStructType() const;
};

/// A threadgroup memory argument.
class _MTL_EXPORT ThreadgroupBinding : public NS::Referencing<ThreadgroupBinding, Binding> {
public:
  NS::UInteger threadgroupMemoryAlignment() const;
  NS::UInteger threadgroupMemoryDataSize() const;
};

/// A texture argument.
class _MTL_EXPORT TextureBinding : public NS::Referencing<TextureBinding, Binding> {
public:
  NS::UInteger arrayLength() const;
  bool depthTexture() const;
  bool isDepthTexture() const;
  DataType textureDataType() const;
  TextureType textureType() const;
};

} // namespace MTL
