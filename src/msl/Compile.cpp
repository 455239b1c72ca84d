// SPDX-License-Identifier: Apache-2.0
//
// Two places in a program need rewriting that only the compiler can find (TokenRewriter.h): when a run
// fails at such places, one more run rewrites them. Each run finds all places that it reaches, but a
// repaired one may uncover others, hence a few rounds.
//
// Tested by: Compile_test.cpp, tests/lit/msl.
#include "msl/Compile.h"
#include "msl/EmbeddedPrelude.h"
#include "msl/Package.h"
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticHandler.h>

namespace pewter::msl {

namespace {

constexpr int kMostRuns = 4;

/// Passes remark on loops that cannot be unrolled and the like; none of it is for the user.
struct SilentHandler : llvm::DiagnosticHandler {
  bool handleDiagnostics(const llvm::DiagnosticInfo &) override { return true; }
};

Result<compiler::LibraryImage> compileHere(const compiler::SourceRequest &request) {
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<SilentHandler>());
  context.setDiscardValueNames(true); // A tenth of the time, for nobody.
  const Prelude prelude = embeddedPrelude();
  std::unique_ptr<FrontendOutput> output;
  std::string diagnosticText;
  Repairs repairs;
  for (int run = 0; run < kMostRuns && !output; ++run) {
    Diagnostics diagnostics;
    output = runFrontend(request, prelude, repairs, diagnostics, context);
    diagnosticText = diagnostics.text();
    const size_t before = repairs.size();
    repairs.conditionals.insert(diagnostics.repairs().conditionals.begin(),
                                diagnostics.repairs().conditionals.end());
    repairs.texts |= diagnostics.repairs().texts;
    repairs.casts.insert(diagnostics.repairs().casts.begin(), diagnostics.repairs().casts.end());
    if (!output && repairs.size() == before)
      break;
  }
  if (!output)
    return fail(ErrorKind::Compile, "{}", diagnosticText);
  PEWTER_TRY(std::vector<LoweredFunction> kernels,
             lower(std::move(output->module), std::move(output->kernels), request));
  PEWTER_TRY(Bytes metallib, packLibrary(kernels, request));
  return compiler::LibraryImage{std::move(metallib), std::move(diagnosticText),
                                std::move(output->dependencies)};
}

} // namespace

Result<compiler::LibraryImage> compileSource(const compiler::SourceRequest &request) {
  Result<compiler::LibraryImage> result = fail(ErrorKind::Internal, "The compiler did not run.");
  withDeepStack([&] { result = compileHere(request); });
  return result;
}

} // namespace pewter::msl
