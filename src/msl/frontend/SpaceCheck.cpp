// SPDX-License-Identifier: Apache-2.0
//
// Which memory variables and pointers are in. Objects of class type are left alone: their methods, copies and assignments are what the hook is
// for. What remains is a pointer conversion, and a reference to a scalar, where no method is called.
//
// Tested by: tests/lit/msl.
#include "msl/frontend/SpaceCheck.h"
#include "msl/frontend/MslTypes.h"
#include <clang/AST/RecursiveASTVisitor.h>
#include <fmt/format.h>

namespace pewter::msl {

using namespace clang;

namespace {

class SpaceVisitor : public RecursiveASTVisitor<SpaceVisitor> {
public:
  SpaceVisitor(ASTContext &context, Diagnostics &diagnostics)
      : context_(context), diagnostics_(diagnostics) {}
  bool shouldVisitTemplateInstantiations() const { return true; }
  bool TraverseTypeLoc(TypeLoc, bool = true) { return true; }
  bool TraverseAttr(Attr *) { return true; }

  // The object of `p->method()` is converted to what `this` is.
  bool VisitMemberExpr(MemberExpr *member) {
    objects_.insert(member->getBase());
    return true;
  }

  // What a program keeps between calls is constant: nothing else has a place.
  bool VisitVarDecl(VarDecl *variable) {
    const SourceManager &sources = context_.getSourceManager();
    const SourceLocation at = variable->getLocation();
    if (!variable->hasGlobalStorage() || variable->isInvalidDecl() ||
        variable->getType()->isDependentType() || variable->getType()->isReferenceType() ||
        sources.isInSystemHeader(sources.getExpansionLoc(at)))
      return true;
    const QualType type = context_.getBaseElementType(variable->getType());
    const LangAS space = type.getAddressSpace();
    const unsigned number = space == LangAS::Default ? 0 : toTargetAddressSpace(space);
    std::string problem;
    if ((number == 0 && !type.isConstQualified() && !variable->isConstexpr()) || number == 1)
      problem = fmt::format("{} '{}' must reside in constant address space",
                            variable->isLocalVarDecl() ? "static variable" : "program scope variable",
                            variable->getNameAsString());
    else if (number == 3 && !variable->isLocalVarDecl())
      problem = fmt::format("threadgroup variable '{}' must be declared inside a function",
                            variable->getNameAsString());
    if (!problem.empty() && reported_.insert(sources.getFileLoc(at).getRawEncoding()).second)
      diagnostics_.addError(&sources, at, problem);
    return true;
  }

  bool VisitImplicitCastExpr(ImplicitCastExpr *cast) {
    if (cast->getCastKind() != CK_AddressSpaceConversion || cast->isPartOfExplicitCast() ||
        objects_.contains(cast))
      return true;
    const QualType from = cast->getSubExpr()->getType(), to = cast->getType();
    const bool pointer = from->isPointerType() && to->isPointerType();
    const QualType source = pointer ? from->getPointeeType() : from;
    const QualType target = pointer ? to->getPointeeType() : to;
    // A reference to const binds to a copy instead.
    if (!pointer && (source->isRecordType() || target.isConstQualified()))
      return true;
    if (target.getAddressSpace() != LangAS::Default || source.getAddressSpace() == LangAS::Default)
      return true;
    const SourceManager &sources = context_.getSourceManager();
    const SourceLocation at = cast->getBeginLoc();
    if (sources.isInSystemHeader(sources.getExpansionLoc(at)) ||
        !reported_.insert(sources.getFileLoc(at).getRawEncoding()).second)
      return true;
    static constexpr const char *kSpaces[] = {"thread", "device", "constant", "threadgroup"};
    const unsigned space = toTargetAddressSpace(source.getAddressSpace());
    diagnostics_.addError(
        &sources, at,
        fmt::format("a {} to {} memory cannot be used as a {} to thread memory ('thread {} {}')",
                    pointer ? "pointer" : "reference", space < 4 ? kSpaces[space] : "other",
                    pointer ? "pointer" : "reference", typeName(context_, target),
                    pointer ? "*" : "&"));
    return true;
  }

private:
  ASTContext &context_;
  Diagnostics &diagnostics_;
  llvm::SmallPtrSet<const Expr *, 32> objects_;
  std::set<unsigned> reported_; ///< Each instantiation of a template would report again.
};

} // namespace

void checkSpaces(ASTContext &context, const std::vector<Decl *> &declarations,
                 Diagnostics &diagnostics) {
  SpaceVisitor visitor(context, diagnostics);
  for (Decl *declaration : declarations)
    if (!context.getSourceManager().isInSystemHeader(declaration->getLocation()))
      visitor.TraverseDecl(declaration);
}

} // namespace pewter::msl
