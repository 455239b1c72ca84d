// SPDX-License-Identifier: Apache-2.0
//
// The attribute __attribute__((air_method_as(N))), which the token rewriter writes for an address
// space behind a method's parameter list (`operator float() const device`). clang parses such
// qualifiers only in C++ for OpenCL; this handler puts the space on the implicit object parameter.
//
// Both the type and its TypeSourceInfo must say so: class-template instantiation rebuilds the
// method's type from the latter, and without it all overloads of one member would collide.
//
// Tested by: Compile_test.cpp (one conversion operator per space, each with a different result).
#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/Sema/ParsedAttr.h>
#include <clang/Sema/Sema.h>
#include <cstring>

namespace {

using namespace clang;

QualType withObjectSpace(ASTContext &context, const FunctionProtoType *type, LangAS space) {
  FunctionProtoType::ExtProtoInfo info = type->getExtProtoInfo();
  info.TypeQuals.addAddressSpace(space);
  return context.getFunctionType(type->getReturnType(), type->getParamTypes(), info);
}

struct MethodSpaceAttribute : ParsedAttrInfo {
  MethodSpaceAttribute() {
    NumArgs = 1;
    static constexpr Spelling kSpellings[] = {{ParsedAttr::AS_GNU, "air_method_as"}};
    Spellings = kSpellings;
  }

  AttrHandling handleDeclAttribute(Sema &sema, Decl *decl,
                                   const ParsedAttr &attribute) const override {
    FunctionDecl *function = decl->getAsFunction();
    if (!function || !attribute.isArgExpr(0))
      return AttributeNotApplied;
    const auto number = attribute.getArgAsExpr(0)->getIntegerConstantExpr(sema.Context);
    const auto *type = function->getType()->getAs<FunctionProtoType>();
    if (!number || !type || type->getMethodQuals().hasAddressSpace())
      return AttributeNotApplied;
    const LangAS space = getLangASFromTargetAS(number->getExtValue());
    if (TypeSourceInfo *written = function->getTypeSourceInfo()) {
      const TypeLoc old = written->getTypeLoc();
      if (const auto *oldType = dyn_cast<FunctionProtoType>(old.getTypePtr())) {
        TypeSourceInfo *replaced = sema.Context.CreateTypeSourceInfo(
            withObjectSpace(sema.Context, oldType, space), old.getFullDataSize());
        std::memcpy(replaced->getTypeLoc().getOpaqueData(), old.getOpaqueData(),
                    old.getFullDataSize());
        function->setTypeSourceInfo(replaced);
      }
    }
    function->setType(withObjectSpace(sema.Context, type, space));
    return AttributeApplied;
  }
};

ParsedAttrInfoRegistry::Add<MethodSpaceAttribute> registration("air_method_as",
                                                               "address space of the object");

} // namespace
