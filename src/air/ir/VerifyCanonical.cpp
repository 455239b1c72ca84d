// SPDX-License-Identifier: Apache-2.0
// Checks the form that Canonicalize.h states, so that a back-end may rely on it without looking.
#include "air/ir/AirCalls.h"
#include "air/ir/AirModule.h"
#include "air/ir/Canonicalize.h"
#include "air/ir/GuardArithmetic.h"
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/raw_ostream.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

bool isPlainIntrinsic(Intrinsic::ID id) {
  switch (id) {
  case Intrinsic::fabs:
  case Intrinsic::copysign:
  case Intrinsic::fma:
  case Intrinsic::fmuladd:
  case Intrinsic::sqrt:
  case Intrinsic::floor:
  case Intrinsic::ceil:
  case Intrinsic::trunc:
  case Intrinsic::rint:
  case Intrinsic::nearbyint:
  case Intrinsic::roundeven:
  case Intrinsic::round:
  case Intrinsic::minnum:
  case Intrinsic::maxnum:
  case Intrinsic::minimum:
  case Intrinsic::maximum:
  case Intrinsic::minimumnum:
  case Intrinsic::maximumnum:
  case Intrinsic::canonicalize:
  case Intrinsic::is_fpclass:
  case Intrinsic::abs:
  case Intrinsic::smin:
  case Intrinsic::smax:
  case Intrinsic::umin:
  case Intrinsic::umax:
  case Intrinsic::scmp:
  case Intrinsic::ucmp:
  case Intrinsic::sadd_sat:
  case Intrinsic::uadd_sat:
  case Intrinsic::ssub_sat:
  case Intrinsic::usub_sat:
  case Intrinsic::sshl_sat:
  case Intrinsic::ushl_sat:
  case Intrinsic::fshl:
  case Intrinsic::fshr:
  case Intrinsic::ctpop:
  case Intrinsic::ctlz:
  case Intrinsic::cttz:
  case Intrinsic::bitreverse:
  case Intrinsic::bswap:
  case Intrinsic::fptosi_sat:
  case Intrinsic::fptoui_sat:
  case Intrinsic::vector_reduce_add:
  case Intrinsic::vector_reduce_mul:
  case Intrinsic::vector_reduce_and:
  case Intrinsic::vector_reduce_or:
  case Intrinsic::vector_reduce_xor:
  case Intrinsic::vector_reduce_smax:
  case Intrinsic::vector_reduce_smin:
  case Intrinsic::vector_reduce_umax:
  case Intrinsic::vector_reduce_umin:
  case Intrinsic::vector_reduce_fadd:
  case Intrinsic::memcpy:
  case Intrinsic::memmove:
  case Intrinsic::memset:
  case Intrinsic::prefetch:
    return true;
  default:
    return false;
  }
}

std::string textOf(const Value &value) {
  std::string text;
  raw_string_ostream stream(text);
  value.print(stream);
  return StringRef(text).trim().str();
}

class CanonicalVerifier {
public:
  explicit CanonicalVerifier(const CanonicalKernel &kernel)
      : kernel_(kernel), function_(*kernel.function) {}

  Result<void> run() {
    PEWTER_TRY_VOID(verifyAirModule(*kernel_.module));
    PEWTER_TRY_VOID(checkGlobals());
    PEWTER_TRY_VOID(checkSignature());
    PEWTER_TRY_VOID(checkControlFlow());
    for (const Instruction &instruction : instructions(function_))
      PEWTER_TRY_VOID(checkInstruction(instruction));
    return {};
  }

private:
  std::unexpected<Error> problem(const std::string &what) const {
    return fail(ErrorKind::Unsupported, "Kernel \"{}\" {}.", function_.getName().str(), what);
  }

  Result<void> checkGlobals() const {
    for (const Function &function : *kernel_.module)
      if (!function.isDeclaration() && &function != &function_)
        return problem("still has the helper \"" + function.getName().str() + "\"");
    for (const GlobalVariable &global : kernel_.module->globals()) {
      if (global.getName().starts_with("llvm."))
        return problem("still has the global \"" + global.getName().str() + "\"");
      const unsigned space = global.getAddressSpace();
      const bool constant =
          space == kConstantSpace && global.isConstant() && global.hasInitializer();
      if (!constant && space != kThreadgroupSpace)
        return problem("uses global \"" + global.getName().str() + "\" in address space " +
                       std::to_string(space) +
                       ", which is neither a constant nor a threadgroup variable");
    }
    if (!kernel_.module->alias_empty() || !kernel_.module->ifunc_empty())
      return problem("uses an alias or an ifunc");
    return {};
  }

  Result<void> checkSignature() const {
    if (!function_.hasExternalLinkage() || function_.getCallingConv() != CallingConv::C ||
        !function_.getReturnType()->isVoidTy() || function_.isVarArg())
      return problem("is not an external void function of the C convention");
    if (kernel_.reflection.arguments.size() != function_.arg_size())
      return problem("has " + std::to_string(function_.arg_size()) + " parameters, but " +
                     std::to_string(kernel_.reflection.arguments.size()) + " are described");
    return {};
  }

  Result<void> checkControlFlow() {
    unsigned returns = 0;
    for (const BasicBlock &block : function_) {
      const Instruction *end = block.getTerminator();
      if (isa<ReturnInst>(end))
        ++returns;
      else if (!isa<BranchInst>(end))
        return problem("has a terminator that is neither a branch nor a return: " + textOf(*end));
    }
    if (returns == 0)
      return problem("never returns: it has a loop without an exit");
    if (returns > 1)
      return problem("returns in " + std::to_string(returns) + " places");
    Function &function = const_cast<Function &>(function_);
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    ReversePostOrderTraversal<const Function *> order(&function_);
    if (containsIrreducibleCFG<const BasicBlock *>(order, loops))
      return problem("has irreducible control flow");
    for (const BasicBlock &block : function_)
      if (!dominators.isReachableFromEntry(&block))
        return problem("has an unreachable block");
    for (const Loop *loop : loops.getLoopsInPreorder())
      if (!loop->isLoopSimplifyForm() || !loop->isRecursivelyLCSSAForm(dominators, loops))
        return problem("has a loop that is not in simplified form");
    return {};
  }

  Result<void> checkInstruction(const Instruction &instruction) const {
    if (isa<FPMathOperator>(instruction) && (instruction.hasNoNaNs() || instruction.hasNoInfs()))
      return problem("has an operation that ignores NaN or infinity: " + textOf(instruction));
    if (isa<AddrSpaceCastInst>(instruction))
      return problem("casts between address spaces: " + textOf(instruction));
    for (unsigned kind :
         {LLVMContext::MD_tbaa, LLVMContext::MD_alias_scope, LLVMContext::MD_noalias})
      if (instruction.getMetadata(kind))
        return problem("has alias metadata: " + textOf(instruction));
    if (instruction.isIntDivRem() && !isSafeDivision(cast<BinaryOperator>(instruction)))
      return problem("has a division that may fault: " + textOf(instruction));
    if (const auto *alloca = dyn_cast<AllocaInst>(&instruction))
      if (!alloca->isStaticAlloca())
        return problem("allocates thread memory of a size not known before it runs: " +
                       textOf(instruction));
    if (const auto *call = dyn_cast<CallBase>(&instruction)) {
      const Function *callee = call->getCalledFunction();
      if (!callee)
        return problem("makes an indirect call: " + textOf(instruction));
      const bool expected = callee->isIntrinsic() ? isPlainIntrinsic(callee->getIntrinsicID())
                                                  : isLeftToBackEnds(classify(*callee));
      if (!expected)
        return problem("calls \"" + callee->getName().str() + "\", which is not supported");
    }
    return {};
  }

  const CanonicalKernel &kernel_;
  const Function &function_;
};

} // namespace

Result<void> verifyCanonical(const CanonicalKernel &kernel) {
  return CanonicalVerifier(kernel).run();
}

} // namespace pewter::air::ir
