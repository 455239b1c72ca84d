// SPDX-License-Identifier: Apache-2.0
// Calls are taken from a work list; inlining a callee adds the calls through pointers that it makes, each
// with the functions that led to it. Cost: the product of the choices along a chain of calls, which is
// limited in instructions like everything that is inlined.
// Tested by tests/lit/air/dispatch-calls and tests/api/FunctionPointers_test.cpp.
#include "air/ir/DispatchCalls.h"
#include "air/ir/LinkFunctions.h"
#include "air/ir/MetadataReader.h"
#include "air/ir/PassError.h"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Scalar/InferAddressSpaces.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

constexpr size_t kMaxInstructions = 1 << 20;

bool isCallThroughPointer(const CallBase &call) {
  return !call.getCalledFunction() && !call.isInlineAsm();
}

class CallDispatcher {
public:
  CallDispatcher(Function &kernel, unsigned depth)
      : kernel_(kernel), module_(*kernel.getParent()), depth_(std::max(depth, 1u)) {}

  bool run() {
    numberFunctions();
    for (Instruction &instruction : instructions(kernel_))
      if (auto *call = dyn_cast<CallInst>(&instruction); call && isCallThroughPointer(*call))
        work_.push_back({call, {}});
    const bool changed = !work_.empty();
    while (!work_.empty()) {
      Pending pending = std::move(work_.back());
      work_.pop_back();
      if (!dispatch(pending))
        return changed;
    }
    for (Function *function : numbered_)
      if (function->use_empty())
        function->eraseFromParent();
    return changed;
  }

private:
  struct Pending {
    CallInst *call;
    std::vector<Function *> path; ///< The numbered functions that it was inlined from.
  };

  void numberFunctions() {
    if (NamedMDNode *table = module_.getNamedMetadata(kTableList)) {
      for (const MDNode *node : table->operands())
        if (auto *function = globalAt<Function>(*node, 0))
          numbered_.push_back(function);
      table->eraseFromParent();
    }
    tableSize_ = numbered_.size();
    for (Function &function : module_)
      if (!function.isDeclaration() && &function != &kernel_ && function.hasAddressTaken() &&
          !is_contained(numbered_, &function))
        numbered_.push_back(&function);
    for (size_t i = 0; i < numbered_.size(); ++i) {
      Function *function = numbered_[i];
      Constant *number = ConstantExpr::getIntToPtr(
          ConstantInt::get(Type::getInt64Ty(module_.getContext()), numberOf(i)),
          function->getType());
      function->replaceUsesWithIf(number, [&](Use &use) {
        const auto *call = dyn_cast<CallBase>(use.getUser());
        return !call || !call->isCallee(&use);
      });
    }
  }

  /// What stands in tables has its position, from 1. Other numbers are even: a pointer to a member function
  /// says by its lowest bit that the function is virtual.
  uint64_t numberOf(size_t index) const {
    constexpr uint64_t kFirstOwn = uint64_t(1) << 32;
    return index < tableSize_ ? index + 1 : kFirstOwn + 2 * (index - tableSize_);
  }

  bool mayCall(const Pending &pending, Function *function) const {
    return function->getFunctionType() == pending.call->getFunctionType() &&
           std::ranges::count(pending.path, function) < depth_;
  }

  bool dispatch(const Pending &pending) {
    CallInst *call = pending.call;
    std::vector<std::pair<uint64_t, Function *>> choices;
    for (size_t i = 0; i < numbered_.size(); ++i)
      if (mayCall(pending, numbered_[i]))
        choices.emplace_back(numberOf(i), numbered_[i]);
    LLVMContext &context = module_.getContext();
    BasicBlock *head = call->getParent();
    BasicBlock *tail = head->splitBasicBlock(call);
    BasicBlock *otherwise = BasicBlock::Create(context, "", &kernel_, tail);
    BranchInst::Create(tail, otherwise);
    head->getTerminator()->eraseFromParent();
    IRBuilder<> builder(head);
    Type *word = Type::getInt64Ty(context);
    SwitchInst *choose =
        builder.CreateSwitch(builder.CreatePtrToInt(call->getCalledOperand(), word), otherwise,
                             static_cast<unsigned>(choices.size()));
    PHINode *result = nullptr;
    if (!call->getType()->isVoidTy()) {
      result = PHINode::Create(call->getType(), static_cast<unsigned>(choices.size() + 1), "");
      result->insertBefore(tail->begin());
      result->addIncoming(Constant::getNullValue(call->getType()), otherwise);
    }
    std::vector<CallInst *> direct;
    for (const auto &[number, function] : choices) {
      BasicBlock *block = BasicBlock::Create(context, "", &kernel_, tail);
      auto *copy = cast<CallInst>(call->clone());
      copy->setCalledFunction(function);
      copy->insertInto(block, block->end());
      BranchInst::Create(tail, block);
      choose->addCase(cast<ConstantInt>(ConstantInt::get(word, number)), block);
      if (result)
        result->addIncoming(copy, block);
      direct.push_back(copy);
    }
    if (result)
      call->replaceAllUsesWith(result);
    call->eraseFromParent();
    for (size_t i = 0; i < direct.size(); ++i)
      if (!absorb(*direct[i], *choices[i].second, pending.path))
        return false;
    return true;
  }

  bool absorb(CallInst &call, Function &callee, std::vector<Function *> path) {
    if (kernel_.getInstructionCount() + callee.getInstructionCount() > kMaxInstructions) {
      report(module_.getContext(), ErrorKind::Unsupported,
             "Function \"{}\" has more than [{}] instructions once the functions are inlined that it "
             "calls through pointers.",
             kernel_.getName().str(), kMaxInstructions);
      return false;
    }
    InlineFunctionInfo info;
    const InlineResult done = InlineFunction(call, info, /*MergeAttributes=*/false,
                                             /*CalleeAAR=*/nullptr, /*InsertLifetime=*/true);
    if (!done.isSuccess()) {
      report(module_.getContext(), ErrorKind::Unsupported,
             "Function \"{}\", called through a pointer, cannot be inlined: {}.",
             callee.getName().str(), done.getFailureReason());
      return false;
    }
    path.push_back(&callee);
    for (CallBase *inlined : info.InlinedCallSites)
      if (auto *next = dyn_cast<CallInst>(inlined); next && isCallThroughPointer(*next))
        work_.push_back({next, path});
    return true;
  }

  Function &kernel_;
  Module &module_;
  const unsigned depth_;
  std::vector<Function *> numbered_;
  size_t tableSize_ = 0; ///< How many of them are the table's.
  std::vector<Pending> work_;
};

} // namespace

PreservedAnalyses DispatchCallsPass::run(Module &module, ModuleAnalysisManager &manager) {
  auto kernels = readKernels(module);
  if (!kernels || kernels->size() != 1)
    return PreservedAnalyses::all(); // Reported before.
  Function &kernel = *kernels->front().function;
  if (!CallDispatcher(kernel, options_.maxCallStackDepth).run())
    return PreservedAnalyses::none();
  // Objects that callers kept for callees are values now, and pointers to anywhere have become concrete.
  auto &functions = manager.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
  functions.clear();
  FunctionPassManager passes;
  passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  passes.addPass(InferAddressSpacesPass(0));
  passes.run(kernel, functions);
  return PreservedAnalyses::none();
}

} // namespace pewter::air::ir
