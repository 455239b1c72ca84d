// SPDX-License-Identifier: Apache-2.0
// The canonicaliser as a table of contents. LLVM's default pipeline is not used: jump threading,
// partial redundancy elimination and loop unswitching copy code to both sides of a divergent
// branch, and a value that all lanes shared becomes a phi that no analysis recognises as shared.
#include "air/ir/Pipeline.h"
#include "air/ir/DispatchCalls.h"
#include "air/ir/ExpandMemory.h"
#include "air/ir/ExpandOverflow.h"
#include "air/ir/ExtractKernel.h"
#include "air/ir/FinishControlFlow.h"
#include "air/ir/GuardArithmetic.h"
#include "air/ir/InlineHelpers.h"
#include "air/ir/LinkFunctions.h"
#include "air/ir/LowerMath.h"
#include "air/ir/LowerTextures.h"
#include "air/ir/StripUntrusted.h"
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/BDCE.h>
#include <llvm/Transforms/Scalar/CorrelatedValuePropagation.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopDeletion.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/MemCpyOptimizer.h>
#include <llvm/Transforms/Scalar/Reassociate.h>
#include <llvm/Transforms/Scalar/SCCP.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/FixIrreducible.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LowerSwitch.h>
#include <llvm/Transforms/Utils/UnifyFunctionExitNodes.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

/// Loops are moved and unrolled, induction variables keep their width: a compare of widened
/// counters costs a vector back-end twice.
void addLoopPasses(FunctionPassManager &passes) {
  LoopPassManager rotate;
  rotate.addPass(LoopRotatePass(/*EnableHeaderDuplication=*/true, /*PrepareForLTO=*/false));
  rotate.addPass(LICMPass(LICMOptions()));
  passes.addPass(createFunctionToLoopPassAdaptor(std::move(rotate), /*UseMemorySSA=*/true));
  passes.addPass(SimplifyCFGPass());
  passes.addPass(InstCombinePass());
  LoopPassManager shape;
  shape.addPass(IndVarSimplifyPass(/*WidenIndVars=*/false));
  shape.addPass(LoopDeletionPass());
  shape.addPass(LoopFullUnrollPass(/*OptLevel=*/3));
  passes.addPass(createFunctionToLoopPassAdaptor(std::move(shape)));
}

void addCleanup(FunctionPassManager &passes) {
  passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(InstCombinePass());
  passes.addPass(SimplifyCFGPass());
}

} // namespace

void addImportPasses(ModulePassManager &passes, const CanonicalizeOptions &options) {
  passes.addPass(ExtractKernelPass({options.kernel}));
  // Each with its own constants settled; behind this they are functions like the kernel's helpers.
  passes.addPass(LinkFunctionsPass({options.linkedFunctions}));
  // Before the first pass that could believe a promise.
  passes.addPass(StripUntrustedPass());
  passes.addPass(SpecializeConstantsPass({options.constants}));
  // Before LLVM can conclude from a division that its divisor is not zero.
  passes.addPass(createModuleToFunctionPassAdaptor(GuardArithmeticPass()));
  // What the constants switched off goes before it is copied into callers.
  FunctionPassManager prune;
  prune.addPass(SROAPass(SROAOptions::ModifyCFG));
  prune.addPass(EarlyCSEPass());
  prune.addPass(SCCPPass());
  prune.addPass(SimplifyCFGPass());
  passes.addPass(createModuleToFunctionPassAdaptor(std::move(prune)));
  // Unknown names are errors only where they survived; the library's bodies are inlined with the rest.
  passes.addPass(LowerMathPass());
  passes.addPass(InlineHelpersPass());
  // On flat functions: each choice among them is made once.
  passes.addPass(DispatchCallsPass({options.maxCallStackDepth}));
  // Once a call's texture can be seen to be an argument; the simplifier folds what follows from that.
  passes.addPass(LowerTexturesPass());
}

void addSimplifyPasses(ModulePassManager &passes) {
  FunctionPassManager function;
  addCleanup(function);
  function.addPass(SCCPPass());
  function.addPass(CorrelatedValuePropagationPass());
  function.addPass(ReassociatePass());
  addLoopPasses(function);
  addCleanup(function);
  // Trip counts that scalar replacement uncovered.
  addLoopPasses(function);
  addCleanup(function);
  function.addPass(MemCpyOptPass());
  function.addPass(DSEPass());
  function.addPass(GVNPass(GVNOptions().setPRE(false).setLoadPRE(false)));
  function.addPass(SCCPPass());
  function.addPass(BDCEPass());
  function.addPass(CorrelatedValuePropagationPass());
  addCleanup(function);
  // Unroll counts that the source asks for come last, on the final bodies.
  function.addPass(
      LoopUnrollPass(LoopUnrollOptions(/*OptLevel=*/3).setPeeling(false).setRuntime(false)));
  function.addPass(ExpandMemoryPass());
  addCleanup(function);
  function.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions()), /*UseMemorySSA=*/true));
  function.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  function.addPass(ADCEPass());
  function.addPass(SimplifyCFGPass());

  function.addPass(ExpandOverflowPass());
  // The final shape; nothing behind this may form switches or merge blocks.
  function.addPass(GuardArithmeticPass());
  function.addPass(FinishControlFlowPass());
  function.addPass(LowerSwitchPass());
  function.addPass(UnifyFunctionExitNodesPass());
  function.addPass(FixIrreduciblePass());
  function.addPass(LoopSimplifyPass());
  function.addPass(LCSSAPass());
  passes.addPass(createModuleToFunctionPassAdaptor(std::move(function)));
  passes.addPass(GlobalDCEPass());
}

void registerPasses(PassBuilder &builder, const CanonicalizeOptions &options) {
  builder.registerPipelineParsingCallback(
      [options](StringRef name, ModulePassManager &passes, ArrayRef<PassBuilder::PipelineElement>) {
#define MODULE_PASS(NAME, CONSTRUCTOR)                                                             \
  if (name == NAME) {                                                                              \
    passes.addPass(CONSTRUCTOR);                                                                   \
    return true;                                                                                   \
  }
#define FUNCTION_PASS(NAME, CONSTRUCTOR)
#include "air/ir/Passes.def"
#undef MODULE_PASS
#undef FUNCTION_PASS
        if (name != "canonicalize")
          return false;
        addImportPasses(passes, options);
        addSimplifyPasses(passes);
        return true;
      });
  builder.registerPipelineParsingCallback([options](StringRef name, FunctionPassManager &passes,
                                                    ArrayRef<PassBuilder::PipelineElement>) {
#define MODULE_PASS(NAME, CONSTRUCTOR)
#define FUNCTION_PASS(NAME, CONSTRUCTOR)                                                           \
  if (name == NAME) {                                                                              \
    passes.addPass(CONSTRUCTOR);                                                                   \
    return true;                                                                                   \
  }
#include "air/ir/Passes.def"
#undef MODULE_PASS
#undef FUNCTION_PASS
    return false;
  });
}

} // namespace pewter::air::ir
