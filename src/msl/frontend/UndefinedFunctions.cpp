// SPDX-License-Identifier: Apache-2.0
//
// Tested by: tests/lit/msl, tests/api/DynamicLibrary_test.cpp.
#include "msl/frontend/UndefinedFunctions.h"
#include "msl/frontend/MslTypes.h"
#include <clang/AST/Attr.h>
#include <clang/AST/GlobalDecl.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <fmt/format.h>
#include <llvm/IR/Module.h>

namespace pewter::msl {

using namespace clang;

namespace {

bool isUndefined(const llvm::Function &function) {
  return function.isDeclaration() && !function.use_empty() && !function.isIntrinsic() &&
         !function.getName().starts_with("air.");
}

class UseFinder : public RecursiveASTVisitor<UseFinder> {
public:
  UseFinder(ASTContext &context, CodeGenerator &generator,
            std::map<std::string, UndefinedFunction> &found)
      : context_(context), generator_(generator), found_(found) {}
  bool shouldVisitTemplateInstantiations() const { return true; }
  bool TraverseTypeLoc(TypeLoc, bool = true) { return true; }
  bool TraverseAttr(Attr *) { return true; }

  bool VisitDeclRefExpr(DeclRefExpr *use) {
    note(dyn_cast<FunctionDecl>(use->getDecl()), use->getLocation());
    return true;
  }
  bool VisitMemberExpr(MemberExpr *use) {
    note(dyn_cast<FunctionDecl>(use->getMemberDecl()), use->getMemberLoc());
    return true;
  }

private:
  void note(const FunctionDecl *function, SourceLocation at) {
    const SourceManager &sources = context_.getSourceManager();
    if (!function || function->isDependentContext() || function->isDefined() ||
        isa<CXXConstructorDecl, CXXDestructorDecl>(function) ||
        sources.isInSystemHeader(sources.getExpansionLoc(at)))
      return;
    const auto entry = found_.find(generator_.GetMangledName(GlobalDecl(function)).str());
    if (entry == found_.end() || !entry->second.diagnostic.empty())
      return;
    for (const FunctionDecl *declaration : function->redecls())
      entry->second.isExternal |= declaration->getStorageClass() == SC_Extern ||
                                  findAnnotation(declaration, "visible") != nullptr;
    entry->second.diagnostic = Diagnostics::formatted(
        "error", &sources, at,
        fmt::format("function '{}' is used but not defined; one of another library is declared "
                    "'extern' or [[visible]]",
                    function->getNameAsString()));
  }

  ASTContext &context_;
  CodeGenerator &generator_;
  std::map<std::string, UndefinedFunction> &found_;
};

} // namespace

std::map<std::string, UndefinedFunction> findUndefined(ASTContext &context,
                                                       const std::vector<Decl *> &declarations,
                                                       CodeGenerator &generator) {
  std::map<std::string, UndefinedFunction> found;
  for (const llvm::Function &function : *generator.GetModule())
    if (isUndefined(function))
      found[function.getName().str()] = {};
  if (found.empty())
    return found;
  UseFinder finder(context, generator, found);
  for (Decl *declaration : declarations)
    if (!context.getSourceManager().isInSystemHeader(declaration->getLocation()))
      finder.TraverseDecl(declaration);
  return found;
}

} // namespace pewter::msl
