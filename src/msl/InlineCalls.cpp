// SPDX-License-Identifier: Apache-2.0
//
// LLVM's own pass inlines in the order of the module, callers first: a helper of six hundred kernels is
// then copied six hundred times with all its small calls in it, and each copy is taken apart anew.
//
// Tested by: Compile_test.cpp.
#include "msl/InlineCalls.h"
#include <llvm/Analysis/InlineCost.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace pewter::msl {

using namespace llvm;

namespace {

constexpr size_t kMostInstructions = 500'000;

class Inliner {
public:
  explicit Inliner(const std::function<void(Function &)> &clean) : clean_(clean) {}

  /// Without recursion: a source can nest calls as deep as it likes.
  Result<void> finish(Function *root) {
    std::vector<Visit> visits;
    if (met_.insert(root).second)
      visits.push_back({root, calleesOf(*root)});
    while (!visits.empty()) {
      Visit &visit = visits.back();
      if (visit.next < visit.callees.size()) {
        Function *callee = visit.callees[visit.next++];
        if (met_.insert(callee).second)
          visits.push_back({callee, calleesOf(*callee)});
        continue;
      }
      PEWTER_TRY_VOID(absorb(*visit.function));
      finished_.push_back(visit.function);
      visits.pop_back();
    }
    return {};
  }

  /// Callers go first, so that what they called has no use left.
  void removeUnused(const std::vector<Function *> &roots) {
    const SmallPtrSet<Function *, 16> kept(roots.begin(), roots.end());
    for (Function *function : reverse(finished_))
      if (!kept.contains(function) && function->use_empty())
        function->eraseFromParent();
  }

private:
  struct Visit {
    Function *function;
    std::vector<Function *> callees;
    size_t next = 0;
  };

  static std::vector<Function *> calleesOf(Function &function) {
    std::vector<Function *> callees;
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallBase>(&instruction))
        if (Function *callee = call->getCalledFunction(); callee && !callee->isDeclaration())
          callees.push_back(callee);
    return callees;
  }

  Result<void> absorb(Function &function) {
    std::vector<CallBase *> calls;
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallBase>(&instruction))
        if (sizes_.contains(call->getCalledFunction()))
          calls.push_back(call);
    size_t size = function.getInstructionCount();
    for (CallBase *call : calls) {
      size += sizes_.lookup(call->getCalledFunction());
      if (size > kMostInstructions)
        return fail(ErrorKind::Compile,
                    "error: function '{}' grows to more than [{}] instructions with the functions that it "
                    "calls\n",
                    demangle(function.getName().str()), kMostInstructions);
      InlineFunctionInfo info;
      static_cast<void>(InlineFunction(*call, info, /*MergeAttributes=*/true,
                                       /*CalleeAAR=*/nullptr, /*InsertLifetime=*/false));
    }
    if (function.hasNUsesOrMore(2)) // What is copied once is cleaned there.
      clean_(function);
    if (isInlineViable(function).isSuccess())
      sizes_[&function] = function.getInstructionCount();
    return {};
  }

  const std::function<void(Function &)> &clean_;
  DenseSet<Function *> met_;
  std::vector<Function *> finished_;    ///< Callees before callers.
  DenseMap<Function *, size_t> sizes_; ///< Of those that can be inlined.
};

} // namespace

Result<void> inlineCalls(const std::vector<Function *> &roots,
                         const std::function<void(Function &)> &clean) {
  Inliner inliner(clean);
  for (Function *root : roots)
    PEWTER_TRY_VOID(inliner.finish(root));
  inliner.removeUnused(roots);
  return {};
}

} // namespace pewter::msl
