// SPDX-License-Identifier: Apache-2.0
//
// Only the unit's own declarations are walked: walking everything would deserialise the whole
// precompiled library. Template instantiations hang below their templates.
//
// Tested by: Reflection_test.cpp, tests/lit/msl.
#include "msl/frontend/KernelTable.h"
#include "msl/frontend/KernelArguments.h"
#include "msl/frontend/MslTypes.h"
#include <clang/AST/Attr.h>
#include <clang/AST/GlobalDecl.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <fmt/format.h>
#include <llvm/IR/Module.h>
#include <map>

namespace pewter::msl {

using namespace clang;

namespace {

struct Found {
  std::vector<FunctionDecl *> kernels;
  std::vector<VarDecl *> constants;
  std::vector<FunctionDecl *> graphics;
  std::vector<FunctionDecl *> visible, exported;
};

class Finder : public RecursiveASTVisitor<Finder> {
public:
  explicit Finder(Found &found) : found_(found) {}
  bool shouldVisitTemplateInstantiations() const { return true; }
  bool TraverseStmt(Stmt *) { return true; }
  bool TraverseTypeLoc(TypeLoc, bool = true) { return true; }

  bool VisitFunctionDecl(FunctionDecl *function) {
    if (function->isDependentContext() || !function->isThisDeclarationADefinition())
      return true;
    if (findAnnotation(function, "kernel"))
      found_.kernels.push_back(function);
    bool isEntry = findAnnotation(function, "kernel");
    for (const char *stage : {"vertex", "fragment", "mesh", "object"})
      if (findAnnotation(function, stage)) {
        found_.graphics.push_back(function);
        isEntry = true;
      }
    if (isVisible(function))
      found_.visible.push_back(function);
    if (!isEntry && function->isExternallyVisible() && !isa<CXXMethodDecl>(function))
      found_.exported.push_back(function);
    return true;
  }
  bool VisitVarDecl(VarDecl *variable) {
    if (!isa<ParmVarDecl>(variable) && findAnnotation(variable, "function_constant"))
      found_.constants.push_back(variable);
    return true;
  }

private:
  static bool isVisible(const FunctionDecl *function) {
    for (const Decl *declaration : function->redecls())
      if (findAnnotation(declaration, "visible"))
        return true;
    return false;
  }

  Found &found_;
};

/// Kernels of tile memory, which is part of a render pass.
bool worksOnTiles(const FunctionDecl &kernel) {
  for (const ParmVarDecl *parameter : kernel.parameters())
    if (metalTemplateName(parameter->getType()) == "imageblock")
      return true;
  return false;
}

/// The names under which a function appears: its host names, else its own.
std::vector<std::string> hostNames(const FunctionDecl *function) {
  std::vector<std::string> names;
  for (const Decl *declaration : function->redecls())
    for (const auto *attribute : declaration->specific_attrs<AnnotateAttr>())
      if (attribute->getAnnotation() == "air.host_name")
        if (std::string name = stringArgument(attribute);
            !name.empty() && std::ranges::find(names, name) == names.end())
          names.push_back(std::move(name));
  if (names.empty())
    names.push_back(function->getNameAsString());
  return names;
}

uint32_t threadLimit(ASTContext &context, const FunctionDecl *function, Diagnostics &diagnostics) {
  constexpr int64_t kMostThreads = 1024;
  for (const Decl *declaration : function->redecls())
    if (const auto *attribute =
            findAnnotation(declaration, "max_total_threads_per_threadgroup")) {
      const auto limit = integerArgument(context, attribute);
      if (!limit || *limit < 1 || *limit > kMostThreads) {
        diagnostics.addError(&context.getSourceManager(), attribute->getLocation(),
                             "'max_total_threads_per_threadgroup' takes a constant between 1 and "
                             "1024");
        return kMostThreads;
      }
      return static_cast<uint32_t>(*limit);
    }
  return kMostThreads;
}

std::string itaniumCode(air::DataType type) {
  const auto [scalar, count] = air::componentsOf(type);
  static const std::map<air::DataType, const char *> kCodes = {
      {air::DataType::Bool, "b"},   {air::DataType::Char, "c"},    {air::DataType::UChar, "h"},
      {air::DataType::Short, "s"},  {air::DataType::UShort, "t"},  {air::DataType::Int, "i"},
      {air::DataType::UInt, "j"},   {air::DataType::Long, "l"},    {air::DataType::ULong, "m"},
      {air::DataType::Float, "f"},  {air::DataType::Half, "Dh"},   {air::DataType::BFloat, "DF16b"}};
  const auto code = kCodes.find(scalar);
  const std::string one = code == kCodes.end() ? "v" : code->second;
  return count == 1 ? one : fmt::format("Dv{}_{}", count, one);
}

void readConstants(ASTContext &context, const Found &found, CodeGenerator &generator,
                   Diagnostics &diagnostics, KernelTable &table) {
  constexpr int64_t kLargestIndex = 65535;
  std::map<uint32_t, const VarDecl *> byIndex;
  for (VarDecl *variable : found.constants) {
    const SourceLocation at = variable->getLocation();
    const SourceManager *sources = &context.getSourceManager();
    const auto *attribute = findAnnotation(variable, "function_constant");
    const auto index = integerArgument(context, attribute);
    const air::DataType type = dataTypeOf(context, variable->getType());
    if (!index || *index < 0 || *index > kLargestIndex) {
      diagnostics.addError(sources, at,
                           "'function_constant' takes a constant index between 0 and 65535");
      continue;
    }
    if (type == air::DataType::None || air::sizeOf(type) == 0) {
      diagnostics.addError(sources, at,
                           fmt::format("function constant '{}' must be a scalar or a vector, not '{}'",
                                       variable->getNameAsString(),
                                       typeName(context, variable->getType())));
      continue;
    }
    const auto [other, isNew] = byIndex.emplace(static_cast<uint32_t>(*index), variable);
    if (!isNew) {
      if (other->second->getCanonicalDecl() != variable->getCanonicalDecl())
        diagnostics.addError(sources, at,
                             fmt::format("function constants '{}' and '{}' have the same index {}",
                                         other->second->getNameAsString(),
                                         variable->getNameAsString(), *index));
      continue;
    }
    ConstantEntry entry;
    entry.constant.name = variable->getNameAsString();
    entry.constant.type = type;
    entry.constant.index = static_cast<uint32_t>(*index);
    entry.symbol = generator.GetMangledName(GlobalDecl(variable)).str();
    entry.typeCode = itaniumCode(type);
    table.constants.push_back(std::move(entry));
  }
}

void readCallees(ASTContext &context, const Found &found, bool exportsFunctions,
                 CodeGenerator &generator, Diagnostics &diagnostics,
                 std::map<std::string, const FunctionDecl *> &byName, KernelTable &table) {
  std::set<const FunctionDecl *> seen;
  for (const FunctionDecl *function : found.visible) {
    if (!seen.insert(function->getCanonicalDecl()).second)
      continue;
    const std::string symbol = generator.GetMangledName(GlobalDecl(function)).str();
    // A template's instance that nobody asked for has no code.
    if (!generator.GetModule()->getFunction(symbol))
      continue;
    for (const std::string &name : hostNames(function)) {
      if (!byName.emplace(name, function).second) {
        diagnostics.addError(&context.getSourceManager(), function->getLocation(),
                             fmt::format("two functions have the name '{}'", name));
        continue;
      }
      table.callees.push_back(
          {name, symbol, typeName(context, function->getType()), /*isExport=*/false});
    }
  }
  if (!exportsFunctions)
    return;
  seen.clear();
  for (const FunctionDecl *function : found.exported) {
    if (!seen.insert(function->getCanonicalDecl()).second)
      continue;
    const std::string symbol = generator.GetMangledName(GlobalDecl(function)).str();
    const llvm::Function *code = generator.GetModule()->getFunction(symbol);
    if (code && !code->isDeclaration())
      table.callees.push_back(
          {symbol, symbol, typeName(context, function->getType()), /*isExport=*/true});
  }
}

} // namespace

KernelTable readKernelTable(ASTContext &context, const std::vector<Decl *> &declarations,
                            CodeGenerator &generator, Diagnostics &diagnostics,
                            bool exportsFunctions) {
  const SourceManager &sources = context.getSourceManager();
  Found found;
  Finder finder(found);
  for (Decl *declaration : declarations)
    if (!sources.isInSystemHeader(declaration->getLocation()))
      finder.TraverseDecl(declaration);

  KernelTable table;
  readConstants(context, found, generator, diagnostics, table);
  std::map<std::string, const FunctionDecl *> byName;
  std::set<const FunctionDecl *> seen;
  for (FunctionDecl *function : found.kernels) {
    if (!seen.insert(function->getCanonicalDecl()).second)
      continue;
    if (worksOnTiles(*function)) {
      found.graphics.push_back(function);
      continue;
    }
    const SourceLocation at = function->getLocation();
    if (!function->getReturnType()->isVoidType()) {
      diagnostics.addError(&sources, at,
                           fmt::format("kernel '{}' must return void",
                                       function->getNameAsString()));
      continue;
    }
    KernelEntry entry;
    entry.symbol = generator.GetMangledName(GlobalDecl(function)).str();
    entry.reflection.maxTotalThreadsPerThreadgroup = threadLimit(context, function, diagnostics);
    readArguments(context, *function, generator, diagnostics, entry);
    for (const std::string &name : hostNames(function)) {
      const auto [other, isNew] = byName.emplace(name, function);
      if (!isNew) {
        diagnostics.addError(&sources, at,
                             fmt::format("two kernels have the name '{}'", name));
        continue;
      }
      entry.reflection.name = name;
      table.kernels.push_back(entry);
    }
  }
  readCallees(context, found, exportsFunctions, generator, diagnostics, byName, table);
  for (const FunctionDecl *function : found.graphics) {
    const bool isVertex = findAnnotation(function, "vertex");
    if (!isVertex && !findAnnotation(function, "fragment")) {
      diagnostics.addWarning(sources, function->getLocation(),
                             fmt::format("'{}' is a function for {} and is left out of the library",
                                         function->getNameAsString(),
                                         findAnnotation(function, "kernel") ? "tiles" : "meshes"));
      continue;
    }
    for (const std::string &name : hostNames(function))
      if (byName.emplace(name, function).second)
        table.graphics.push_back({name, isVertex ? air::MetallibFunctionKind::Vertex
                                                 : air::MetallibFunctionKind::Fragment});
  }
  return table;
}

} // namespace pewter::msl
