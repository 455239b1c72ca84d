// SPDX-License-Identifier: Apache-2.0
// Runs the passes of Pipeline.cpp and keeps the reflection in step with them.
// Tested by Canonicalize_test.cpp and, on Apple's own libraries, tests/corpus.
#include "air/ir/Canonicalize.h"
#include "air/ir/FunctionConstants.h"
#include "air/ir/MetadataReader.h"
#include "air/ir/PassError.h"
#include "air/ir/Pipeline.h"
#include "air/ir/TargetInfo.h"

namespace pewter::air::ir {
using namespace llvm;

namespace {

/// Arguments that a pipeline cannot be made with.
Result<void> checkArguments(const KernelReflection &reflection) {
  for (const Argument &argument : reflection.arguments)
    if (argument.kind == ArgumentKind::Unsupported)
      return fail(ErrorKind::Unsupported,
                  "Argument \"{}\" (parameter {}) of kernel \"{}\" is of kind \"{}\", which is not "
                  "supported.",
                  argument.name, argument.parameter, reflection.name, argument.metadataKind);
  return {};
}

} // namespace

Result<CanonicalKernel> canonicalize(std::unique_ptr<Module> module, const std::string &function,
                                     std::span<const compiler::ConstantValue> constants,
                                     std::span<const compiler::LinkedFunction> linkedFunctions,
                                     unsigned maxCallStackDepth) {
  PEWTER_TRY(std::vector<KernelMetadata> kernels, readKernels(*module));
  const auto chosen = std::ranges::find(
      kernels, function, [](const KernelMetadata &kernel) { return kernel.reflection.name; });
  if (chosen == kernels.end()) {
    std::string names;
    for (const KernelMetadata &kernel : kernels)
      names += (names.empty() ? "\"" : ", \"") + kernel.reflection.name + "\"";
    return fail(ErrorKind::Validation, "The module has no kernel \"{}\"; it has {}.", function,
                names.empty() ? "none" : names);
  }
  PEWTER_TRY_VOID(checkArguments(chosen->reflection));

  CanonicalKernel kernel;
  kernel.reflection = chosen->reflection;
  kernel.function = chosen->function;
  PEWTER_TRY(std::vector<ConstantPlaceholder> placeholders, readPlaceholders(*module));
  kernel.reflection.constants = constantsOf(*chosen, placeholders, kernels.size() == 1);

  ErrorCollector errors(module->getContext());
  CanonicalizeOptions options{function,
                              {constants.begin(), constants.end()},
                              {linkedFunctions.begin(), linkedFunctions.end()},
                              maxCallStackDepth};
  {
    AnalysisManagers analyses;
    ModulePassManager import;
    addImportPasses(import, options);
    import.run(*module, analyses.modules);
    PEWTER_TRY_VOID(errors.result());
    PEWTER_TRY(KernelMetadata specialized, readKernel(*chosen->node));
    for (const ArgumentGate &gate : specialized.gates)
      if (isGateClosed(gate))
        kernel.reflection.arguments[gate.argument].used = false;
  }
  {
    AnalysisManagers analyses;
    ModulePassManager simplify;
    addSimplifyPasses(simplify);
    simplify.run(*module, analyses.modules);
    PEWTER_TRY_VOID(errors.result());
  }
  readFeatures(*kernel.function, kernel.reflection);
  kernel.module = std::move(module);
  PEWTER_TRY_VOID(verifyCanonical(kernel));
  return kernel;
}

} // namespace pewter::air::ir
