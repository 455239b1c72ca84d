// SPDX-License-Identifier: Apache-2.0
// Tested by tests/lit/air/strip-untrusted.
#include "air/ir/StripUntrusted.h"
#include "air/Reflection.h"
#include "air/ir/AirCalls.h"
#include "air/ir/AirModule.h"
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

/// Metadata that stays: value ranges of loaded bools and what loops ask for.
bool isTrusted(unsigned kind) {
  return kind == LLVMContext::MD_range || kind == LLVMContext::MD_loop;
}

void stripInstruction(Instruction &instruction) {
  SmallVector<std::pair<unsigned, MDNode *>, 8> attached;
  instruction.getAllMetadataOtherThanDebugLoc(attached);
  for (const auto &[kind, node] : attached)
    if (!isTrusted(kind))
      instruction.setMetadata(kind, nullptr);
  if (isa<FPMathOperator>(instruction)) {
    FastMathFlags flags = instruction.getFastMathFlags();
    flags.setNoNaNs(false);
    flags.setNoInfs(false);
    instruction.copyFastMathFlags(flags); // setFastMathFlags would only add.
  }
  if (auto *load = dyn_cast<LoadInst>(&instruction);
      load && load->getPointerAddressSpace() == kConstantSpace && load->isSimple())
    load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(load->getContext(), {}));
  if (auto *call = dyn_cast<CallBase>(&instruction)) {
    const Function *callee = call->getCalledFunction();
    if (callee && callee->isIntrinsic()) {
      // Intrinsics define their own effects; of call-site attributes keep alignments of memory
      // copies.
      if (!isa<AnyMemIntrinsic>(call))
        call->setAttributes(callee->getAttributes());
      return;
    }
    call->setAttributes(AttributeList());
    if (auto *plain = dyn_cast<CallInst>(call))
      plain->setTailCallKind(CallInst::TCK_None);
  }
}

void stripFunction(Function &function) {
  LLVMContext &context = function.getContext();
  const bool convergent = function.isConvergent();
  AttrBuilder attributes(context);
  // Without no-builtins LLVM would look for memset and friends in kernel loops.
  attributes.addAttribute("no-builtins");
  attributes.addAttribute(Attribute::NoUnwind);
  if (convergent)
    attributes.addAttribute(Attribute::Convergent);
  function.setAttributes(AttributeList::get(context, AttributeList::FunctionIndex, attributes));
  function.setUnnamedAddr(GlobalValue::UnnamedAddr::None);
  function.clearMetadata();
  function.setPersonalityFn(nullptr);
  for (Instruction &instruction : make_early_inc_range(instructions(function))) {
    if (auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction)) {
      const Intrinsic::ID id = intrinsic->getIntrinsicID();
      if (id == Intrinsic::experimental_noalias_scope_decl || id == Intrinsic::assume) {
        intrinsic->eraseFromParent();
        continue;
      }
    }
    stripInstruction(instruction);
  }
}

} // namespace

PreservedAnalyses StripUntrustedPass::run(Module &module, ModuleAnalysisManager &) {
  StripDebugInfo(module);
  for (Function &function : make_early_inc_range(module)) {
    if (!function.isDeclaration()) {
      stripFunction(function);
      continue;
    }
    if (function.getName().starts_with("air.get_simdgroup_size")) {
      for (User *user : make_early_inc_range(function.users()))
        if (auto *call = dyn_cast<CallInst>(user);
            call && call->getCalledFunction() == &function && call->getType()->isIntegerTy()) {
          call->replaceAllUsesWith(ConstantInt::get(call->getType(), kSimdWidth));
          call->eraseFromParent();
        }
    }
    if (function.use_empty() && !function.getName().starts_with("air.is_function_constant"))
      function.eraseFromParent();
    else
      setCallAttributes(function);
  }
  return PreservedAnalyses::none();
}

} // namespace pewter::air::ir
