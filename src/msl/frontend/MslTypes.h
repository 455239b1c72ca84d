// SPDX-License-Identifier: Apache-2.0
//
// MSL's view of clang's types: how a type is spelt in metadata, what DataType it is, and the members
// of a struct. The prelude's classes (metal::vec, metal::matrix, metal::texture2d ...) are known here
// by name.
#pragma once
#include "air/Reflection.h"
#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclTemplate.h>

namespace pewter::msl {

/// `float4`, `packed_float3`, `char`, `MyStruct`, `device float *` -> as Apple's metadata spells it.
std::string typeName(const clang::ASTContext &context, clang::QualType type);
/// None for anything but scalars, vectors and matrices.
air::DataType dataTypeOf(const clang::ASTContext &context, clang::QualType type);
/// One entry per field; empty when the type is not a user's struct.
std::vector<air::StructMember> membersOf(const clang::ASTContext &context, clang::QualType type,
                                         unsigned depth = 0);
/// A struct is an argument buffer when a member has an [[id]], is a resource, or is such a struct.
bool isArgumentBuffer(clang::QualType type);
bool isSampler(clang::QualType type);

/// The class template's name within namespace metal ("texture2d"); "" for other types.
llvm::StringRef metalTemplateName(clang::QualType type);
/// Its argument list; null for other types.
const clang::TemplateArgumentList *metalTemplateArguments(clang::QualType type);

/// The argument of an MSL attribute (annotation "air.NAME") on a declaration.
const clang::AnnotateAttr *findAnnotation(const clang::Decl *declaration, llvm::StringRef name);
std::optional<int64_t> integerArgument(const clang::ASTContext &context,
                                       const clang::AnnotateAttr *annotation, unsigned index = 0);
std::string stringArgument(const clang::AnnotateAttr *annotation);

} // namespace pewter::msl
