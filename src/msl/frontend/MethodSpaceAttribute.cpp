// SPDX-License-Identifier: Apache-2.0
//
// The attribute __attribute__((air_method_as(N))), which the token rewriter writes for an address
// space behind a method's parameter list (`operator float() const device`). clang parses such
// qualifiers only in C++ for OpenCL; this handler puts the space on the implicit object parameter.
//
// The object parameter also becomes `__restrict`. Clang compares the spaces of an object without one (in
// thread memory) and of a method only where their other qualifiers differ; without this a method for
// device objects would be called on a thread's. 0 stands for thread, and for methods beside such
// overloads that name no space: `__restrict` and nothing else. Lowering takes back what the
// qualifier promises.
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

QualType withObjectSpace(ASTContext &context, const FunctionProtoType *type, LangAS space,
                         bool isRestrict) {
  FunctionProtoType::ExtProtoInfo info = type->getExtProtoInfo();
  if (space != LangAS::Default)
    info.TypeQuals.addAddressSpace(space);
  if (isRestrict)
    info.TypeQuals.addRestrict();
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
    const LangAS space =
        *number == 0 ? LangAS::Default : getLangASFromTargetAS(number->getExtValue());
    // Constructors have no such qualifier: they are chosen by the space of what they make.
    const bool isRestrict = !isa<CXXConstructorDecl>(function) && !isa<CXXDestructorDecl>(function);
    if (TypeSourceInfo *written = function->getTypeSourceInfo()) {
      const TypeLoc old = written->getTypeLoc();
      if (const auto *oldType = dyn_cast<FunctionProtoType>(old.getTypePtr())) {
        TypeSourceInfo *replaced = sema.Context.CreateTypeSourceInfo(
            withObjectSpace(sema.Context, oldType, space, isRestrict), old.getFullDataSize());
        std::memcpy(replaced->getTypeLoc().getOpaqueData(), old.getOpaqueData(),
                    old.getFullDataSize());
        function->setTypeSourceInfo(replaced);
      }
    }
    function->setType(withObjectSpace(sema.Context, type, space, isRestrict));
    return AttributeApplied;
  }
};

ParsedAttrInfoRegistry::Add<MethodSpaceAttribute> registration("air_method_as",
                                                               "address space of the object");

} // namespace
