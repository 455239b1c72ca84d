// SPDX-License-Identifier: Apache-2.0
//
// The order of the steps is clang's own (FrontendAction), with the token stream taken out and put back
// between preprocessor and parser. The parser is made before lexing: its constructor registers the
// pragma handlers, and they turn `#pragma unroll` into annotation tokens while we lex.
//
// Cost is bounded: a source may grow to kMostTokens tokens, and templates to kMostInstantiations and
// kMostAstBytes; clang itself bounds nesting, include depth and constant evaluation.
//
// Tested by: Compile_test.cpp, tests/lit/msl.
#include "msl/frontend/Session.h"
#include "msl/frontend/Invocation.h"
#include "msl/frontend/MacroGrowth.h"
#include "msl/frontend/MetalPragma.h"
#include "msl/frontend/SpaceCheck.h"
#include "msl/frontend/UndefinedFunctions.h"
#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExternalASTSource.h>
#include <clang/Basic/Stack.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <clang/Parse/Parser.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/TemplateInstCallback.h>
#include <clang/Serialization/ASTReader.h>
#include <clang/Serialization/ASTWriter.h>
#include <ctime>
#include <llvm/Support/thread.h>

namespace pewter::msl {

using namespace clang;

namespace {

constexpr size_t kMostTokens = 20'000'000;
constexpr size_t kMostInstantiations = 3'000'000;
constexpr double kLongestInstantiation = 30; // Seconds of this thread's own time.
constexpr size_t kMostAstBytes = 1u << 30;
constexpr size_t kLongestTypeName = 100'000; // Words.
constexpr unsigned kStackBytes = 256u << 20; // Of address space; touched only when deep.

// Not by the wall: a busy machine must not change what compiles.
double threadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// How many words the names of types have. Clang prints them (for diagnostics, and for LLVM's types), and a
/// type that names another one twice doubles with each level.
class TypeNames {
public:
  size_t wordsOf(ArrayRef<TemplateArgument> arguments) {
    size_t words = 1;
    for (const TemplateArgument &argument : arguments) {
      if (argument.getKind() == TemplateArgument::Type)
        words += wordsOf(argument.getAsType());
      else if (argument.getKind() == TemplateArgument::Pack)
        words += wordsOf(argument.getPackAsArray());
      else
        words += 1;
    }
    return std::min(words, kMost);
  }

private:
  static constexpr size_t kMost = 1u << 30; ///< Sums stay far from overflow.

  size_t wordsOf(QualType type) {
    const Type *canonical = type.getCanonicalType().getTypePtr();
    while (!canonical->getPointeeType().isNull())
      canonical = canonical->getPointeeType().getCanonicalType().getTypePtr();
    const auto *record =
        dyn_cast_or_null<ClassTemplateSpecializationDecl>(canonical->getAsCXXRecordDecl());
    if (!record)
      return 1;
    if (const auto known = words_.find(canonical); known != words_.end())
      return known->second;
    const size_t words = wordsOf(record->getTemplateArgs().asArray());
    words_[canonical] = words;
    return words;
  }

  llvm::DenseMap<const Type *, size_t> words_;
};

/// Ends runaway template instantiation with a fatal error, after which clang instantiates no more.
class InstantiationLimit : public TemplateInstantiationCallback {
public:
  InstantiationLimit(DiagnosticsEngine &engine, const ASTContext &context)
      : engine_(engine), ast_(context) {}
  void initialize(const Sema &) override {}
  void finalize(const Sema &) override {}
  void atTemplateBegin(const Sema &, const Sema::CodeSynthesisContext &context) override {
    if (reported_)
      return;
    bool tooMuch = ++count_ > kMostInstantiations;
    if ((count_ & 1023) == 0)
      tooMuch |= threadSeconds() - start_ > kLongestInstantiation ||
                 ast_.getASTAllocatedMemory() > kMostAstBytes;
    if (const auto *type = dyn_cast_or_null<ClassTemplateSpecializationDecl>(context.Entity))
      tooMuch |= names_.wordsOf(type->getTemplateArgs().asArray()) > kLongestTypeName;
    if (!tooMuch)
      return;
    reported_ = true;
    const unsigned id = engine_.getCustomDiagID(
        DiagnosticsEngine::Fatal, "the program instantiates too many or too large templates (%0)");
    engine_.Report(context.PointOfInstantiation, id) << static_cast<unsigned>(count_);
  }
  void atTemplateEnd(const Sema &, const Sema::CodeSynthesisContext &) override {}

private:
  DiagnosticsEngine &engine_;
  const ASTContext &ast_;
  TypeNames names_;
  size_t count_ = 0;
  bool reported_ = false;
  double start_ = threadSeconds();
};

std::optional<Tokens> lexAll(Preprocessor &preprocessor, Diagnostics &diagnostics) {
  Tokens tokens;
  for (;;) {
    Token token;
    preprocessor.Lex(token);
    tokens.push_back(token);
    if (token.is(tok::eof))
      return tokens;
    if (tokens.size() > kMostTokens) {
      diagnostics.addError(&preprocessor.getSourceManager(), token.getLocation(),
                           "the source grows to more than 20000000 tokens");
      return std::nullopt;
    }
  }
}

/// Parses the prepared translation unit and gives each declaration to the consumer.
bool parse(CompilerInstance &instance, const Repairs &repairs, Diagnostics &diagnostics,
           std::vector<Decl *> &declarations) {
  Sema &sema = instance.getSema();
  Preprocessor &preprocessor = instance.getPreprocessor();
  ASTConsumer &consumer = instance.getASTConsumer();
  sema.TemplateInstCallbacks.push_back(
      std::make_unique<InstantiationLimit>(instance.getDiagnostics(), instance.getASTContext()));
  Parser parser(preprocessor, sema, /*SkipFunctionBodies=*/false);
  preprocessor.AddPragmaHandler(makeMetalPragma());
  preprocessor.EnterMainSourceFile();
  if (ExternalASTSource *external = instance.getASTContext().getExternalSource())
    external->StartTranslationUnit(&consumer);

  preprocessor.addPPCallbacks(makeMacroGrowth(preprocessor, kMostTokens));
  std::optional<Tokens> tokens = lexAll(preprocessor, diagnostics);
  if (!tokens || instance.getDiagnostics().hasFatalErrorOccurred())
    return false;
  const Tokens rewritten = TokenRewriter(preprocessor, repairs).rewrite(std::move(*tokens));
  preprocessor.EnterTokenStream(rewritten, /*DisableMacroExpansion=*/true, /*IsReinject=*/false);

  consumer.Initialize(instance.getASTContext());
  parser.Initialize();
  Parser::DeclGroupPtrTy group;
  Sema::ModuleImportState imports = Sema::ModuleImportState::NotACXX20Module;
  for (bool atEnd = parser.ParseFirstTopLevelDecl(group, imports);
       !atEnd && !diagnostics.isHopeless();
       atEnd = parser.ParseTopLevelDecl(group, imports)) {
    if (!group)
      continue;
    for (Decl *declaration : group.get())
      declarations.push_back(declaration);
    consumer.HandleTopLevelDecl(group.get());
  }
  consumer.HandleTranslationUnit(instance.getASTContext());
  return true;
}

/// As FrontendAction::EndSourceFile: semantic analysis first, then its consumer, then what both use.
void tearDown(CompilerInstance &instance) {
  instance.getDiagnostics().getClient()->EndSourceFile();
  if (instance.hasPreprocessor())
    instance.getPreprocessor().EndSourceFile();
  instance.setSema(nullptr);
  instance.setASTConsumer(nullptr);
  instance.setASTReader(nullptr);
  instance.setASTContext(nullptr);
  instance.setPreprocessor(nullptr);
  instance.setSourceManager(nullptr);
  instance.setFileManager(nullptr);
}

/// Ours lie in /pewter, in memory.
std::vector<std::string> includedFiles(const SourceManager &sources) {
  std::vector<std::string> files;
  for (auto file = sources.fileinfo_begin(); file != sources.fileinfo_end(); ++file)
    if (llvm::StringRef name = file->first.getName(); !name.starts_with("/pewter/"))
      files.push_back(name.str());
  std::ranges::sort(files);
  return files;
}

bool begin(CompilerInstance &instance, const compiler::SourceRequest &request,
           const Prelude &prelude, Diagnostics &diagnostics, TranslationUnitKind kind) {
  if (!configure(instance, request, prelude, diagnostics))
    return false;
  instance.createFileManager();
  instance.createSourceManager();
  instance.createPreprocessor(kind);
  Preprocessor &preprocessor = instance.getPreprocessor();
  diagnostics.BeginSourceFile(instance.getLangOpts(), &preprocessor);
  instance.createASTContext();
  if (prelude.precompiled.empty())
    preprocessor.getBuiltinInfo().initializeBuiltins(preprocessor.getIdentifierTable(),
                                                     instance.getLangOpts());
  return true;
}

} // namespace

std::unique_ptr<FrontendOutput> runFrontend(const compiler::SourceRequest &request,
                                            const Prelude &prelude, const Repairs &repairs,
                                            Diagnostics &diagnostics, llvm::LLVMContext &context) {
  CompilerInstance instance;
  if (!begin(instance, request, prelude, diagnostics, TU_Complete))
    return nullptr;
  auto owned = CreateLLVMCodeGen(instance, request.fileName, context);
  CodeGenerator *generator = owned.get();
  instance.setASTConsumer(std::move(owned));
  instance.createPCHExternalASTSource("/pewter/prelude.pch", DisableValidationForModuleKind::All,
                                      /*AllowPCHWithCompilerErrors=*/false,
                                      /*DeserializationListener=*/nullptr,
                                      /*OwnDeserializationListener=*/false);
  if (!instance.getASTContext().getExternalSource()) {
    diagnostics.addError(nullptr, {}, "the precompiled standard library cannot be read");
    tearDown(instance);
    return nullptr;
  }
  instance.createSema(TU_Complete, nullptr);
  Preprocessor &preprocessor = instance.getPreprocessor();
  preprocessor.setPredefines(preprocessor.getPredefines() + predefinesOf(request));
  SourceManager &sources = instance.getSourceManager();
  sources.setMainFileID(sources.createFileID(
      llvm::MemoryBuffer::getMemBuffer(request.source, request.fileName), SrcMgr::C_User));

  auto output = std::make_unique<FrontendOutput>();
  std::vector<Decl *> declarations;
  const bool parsed = parse(instance, repairs, diagnostics, declarations);
  if (parsed && diagnostics.errors() == 0)
    checkSpaces(instance.getASTContext(), declarations, diagnostics);
  if (parsed && diagnostics.errors() == 0)
    output->kernels = readKernelTable(instance.getASTContext(), declarations, *generator, diagnostics,
                                      request.isDynamic);
  if (parsed && diagnostics.errors() == 0)
    output->kernels.undefined =
        findUndefined(instance.getASTContext(), declarations, *generator);
  if (parsed && diagnostics.errors() == 0)
    output->module = generator->ReleaseModule();
  output->dependencies = includedFiles(sources);
  tearDown(instance);
  if (!output->module)
    return nullptr;
  return output;
}

std::string precompile(std::string_view preludeText, Diagnostics &diagnostics) {
  CompilerInstance instance;
  compiler::SourceRequest request;
  request.mathMode = compiler::MathMode::Safe;
  const Prelude prelude{preludeText, {}};
  if (!begin(instance, request, prelude, diagnostics, TU_Prefix))
    return "";
  auto buffer = std::make_shared<PCHBuffer>();
  instance.setASTConsumer(std::make_unique<PCHGenerator>(
      instance.getPreprocessor(), instance.getModuleCache(), "prelude.pch", "", buffer,
      instance.getCodeGenOpts(), instance.getFrontendOpts().ModuleFileExtensions,
      /*AllowASTWithErrors=*/false, /*IncludeTimestamps=*/false));
  instance.createSema(TU_Prefix, nullptr);
  const auto file = instance.getFileManager().getFileRef(kPreludePath);
  SourceManager &sources = instance.getSourceManager();
  // A system header: its warnings are not the user's, and no note may point into it.
  sources.setMainFileID(sources.createFileID(*file, SourceLocation(), SrcMgr::C_System));
  std::vector<Decl *> declarations;
  const bool parsed = parse(instance, Repairs(), diagnostics, declarations);
  std::string result;
  if (parsed && diagnostics.errors() == 0)
    result.assign(buffer->Data.begin(), buffer->Data.end());
  tearDown(instance);
  return result;
}

void withDeepStack(const std::function<void()> &work) {
  llvm::thread thread(std::optional<unsigned>(kStackBytes), [&work] {
    clang::noteBottomOfStack(/*ForceSet=*/true);
    work();
  });
  thread.join();
}

} // namespace pewter::msl
