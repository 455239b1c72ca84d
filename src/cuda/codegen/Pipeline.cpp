// SPDX-License-Identifier: Apache-2.0
// The order of the CUDA back-end. Tested by Pipeline_test.cpp and, on a GPU, by tests/kernels.
#include "cuda/codegen/Pipeline.h"
#include "cuda/codegen/target/NvptxTarget.h"
#include "cuda/codegen/transform/DotBytes.h"
#include "cuda/codegen/transform/GuardAlignment.h"
#include "cuda/codegen/transform/LowerAtomics.h"
#include "cuda/codegen/transform/LowerMatrix.h"
#include "cuda/codegen/transform/LowerSimdgroup.h"
#include "cuda/codegen/transform/MakeEntry.h"
#include "cuda/codegen/transform/PairProducts.h"
#include "cuda/codegen/transform/PlaceWait.h"
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/SROA.h>

namespace pewter::cuda::codegen {
using namespace llvm;

namespace {

/// A name that PTX accepts: letters, digits, `_` and `$`.
std::string ptxName(StringRef name) {
  std::string result = "pewter_";
  for (char c : name)
    result += isAlnum(c) || c == '_' ? c : '$';
  return result;
}

Result<void> checkNoCallsLeft(const Module &module, const std::string &kernel) {
  for (const Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty())
      return fail(ErrorKind::Unsupported, "Kernel \"{}\" calls \"{}\", which has no form in PTX.", kernel,
                  function.getName().str());
  return {};
}

Result<void> lower(air::ir::CanonicalKernel &kernel, TargetMachine &machine) {
  std::string name = kernel.function->getName().str();
  Module &module = *kernel.module;

  // Matrices first, on the kernel as it is: later steps must see fragments only.
  PEWTER_TRY_VOID(lowerMatrices(*kernel.function));
  PEWTER_TRY_VOID(makeEntry(kernel));
  kernel.function->setName(ptxName(name));
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  lowerPrefetches(module);

  PassBuilder builder(&machine);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graphs;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);

  ModulePassManager passes;
  passes.addPass(AlwaysInlinerPass());
  passes.addPass(GlobalDCEPass());
  // On the whole kernel, and before anything changes which lanes are together.
  passes.addPass(LowerSimdgroup());
  passes.addPass(LowerAtomics());
  passes.addPass(DotBytes());
  // After inlining, which shows where pointers come from.
  passes.addPass(GuardAlignment());
  // LLVM's own pipeline: here a lane is a thread, so nothing that it does to control flow hurts.
  passes.addPass(builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3));
  passes.run(module, modules);
  pairProducts(module);
  // Behind everything that could move an access across it.
  placeWait(*kernel.function, /*overlaps=*/machine.getTargetCPU() != "sm_80");

  PEWTER_TRY_VOID(checkNoCallsLeft(module, name));
  std::string problem;
  raw_string_ostream stream(problem);
  if (verifyModule(module, &stream))
    return fail(ErrorKind::Internal, "Kernel \"{}\" became invalid in the CUDA back-end: {}", name, problem);
  return {};
}

} // namespace

Result<KernelImage> compileToPtx(air::ir::CanonicalKernel kernel, const PtxOptions &options) {
  PEWTER_TRY(std::unique_ptr<TargetMachine> machine, makeNvptxTarget(options.architecture));
  PEWTER_TRY_VOID(lower(kernel, *machine));
  KernelImage image;
  image.architecture = options.architecture;
  image.entry = kernel.function->getName().str();
  image.reflection = std::move(kernel.reflection);
  PEWTER_TRY(image.ptx, emitPtx(*kernel.module, *machine));
  return image;
}

Result<Bytes> emit(air::ir::CanonicalKernel kernel, const PtxOptions &options,
                   compiler::EmitKind kind) {
  if (kind != compiler::EmitKind::VectorIr && kind != compiler::EmitKind::Assembly)
    return fail(ErrorKind::Unsupported, "Stage [{}] of kernel \"{}\" does not exist for PTX.",
                static_cast<int>(kind), kernel.reflection.name);
  PEWTER_TRY(std::unique_ptr<TargetMachine> machine, makeNvptxTarget(options.architecture));
  PEWTER_TRY_VOID(lower(kernel, *machine));
  std::string text;
  if (kind == compiler::EmitKind::VectorIr) {
    raw_string_ostream(text) << *kernel.module;
  } else {
    PEWTER_TRY(text, emitPtx(*kernel.module, *machine));
  }
  ByteView view = viewOf(text);
  return Bytes(view.begin(), view.end());
}

} // namespace pewter::cuda::codegen
