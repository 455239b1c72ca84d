// SPDX-License-Identifier: Apache-2.0
// Tested by tests/lit/air/extract-kernel.
#include "air/ir/ExtractKernel.h"
#include "air/ir/FunctionConstants.h"
#include "air/ir/PassError.h"
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

/// Removes stores of the initialisers to globals that only they touch.
void pruneInitializers(Module &module, const SmallPtrSetImpl<const GlobalVariable *> &kept) {
  SmallPtrSet<const Function *, 4> initializers;
  for (Function *function : staticInitializers(module))
    initializers.insert(function);
  bool changed = !initializers.empty();
  while (changed) {
    changed = false;
    for (GlobalVariable &global : module.globals()) {
      if (kept.contains(&global) || global.use_empty() || !global.hasLocalLinkage())
        continue;
      const bool onlyStored = all_of(global.users(), [&](const User *user) {
        const auto *store = dyn_cast<StoreInst>(user);
        return store && store->getPointerOperand() == &global &&
               store->getValueOperand() != &global && initializers.contains(store->getFunction());
      });
      if (!onlyStored)
        continue;
      for (User *user : make_early_inc_range(global.users())) {
        auto *store = cast<StoreInst>(user);
        Value *value = store->getValueOperand();
        store->eraseFromParent();
        RecursivelyDeleteTriviallyDeadInstructions(value);
      }
      changed = true;
    }
  }
}

} // namespace

PreservedAnalyses ExtractKernelPass::run(Module &module, ModuleAnalysisManager &manager) {
  auto kernels = readKernels(module);
  if (!kernels) {
    report(module.getContext(), kernels.error());
    return PreservedAnalyses::all();
  }
  const auto chosen =
      options_.kernel.empty() && kernels->size() == 1
          ? kernels->begin()
          : std::ranges::find(*kernels, options_.kernel,
                              [](const KernelMetadata &kernel) { return kernel.reflection.name; });
  if (chosen == kernels->end()) {
    report(module.getContext(), ErrorKind::Validation,
           "Module \"{}\" has {} kernels, and none is named \"{}\".", module.getModuleIdentifier(),
           kernels->size(), options_.kernel);
    return PreservedAnalyses::all();
  }

  NamedMDNode *list = module.getNamedMetadata(kKernelList);
  list->clearOperands();
  list->addOperand(chosen->node);
  for (const char *name : {"air.vertex", "air.fragment", "air.visible", "air.mesh", "air.object"})
    if (NamedMDNode *other = module.getNamedMetadata(name))
      other->eraseFromParent();

  SmallPtrSet<const GlobalVariable *, 8> predicates;
  SmallVector<GlobalValue *, 8> kept;
  for (const ArgumentGate &gate : chosen->gates)
    if (predicates.insert(gate.predicate).second)
      kept.push_back(gate.predicate);
  for (const char *name : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable *used = module.getGlobalVariable(name))
      used->eraseFromParent();
  if (!kept.empty())
    appendToCompilerUsed(module, kept);

  for (GlobalObject &object : module.global_objects()) {
    object.setComdat(nullptr);
    object.setVisibility(GlobalValue::DefaultVisibility);
    object.setDSOLocal(false);
    if (&object == chosen->function)
      object.setLinkage(GlobalValue::ExternalLinkage);
    else if (!object.isDeclaration() && !object.getName().starts_with("llvm."))
      object.setLinkage(GlobalValue::InternalLinkage);
  }
  chosen->function->setCallingConv(CallingConv::C);
  // Twice: what other kernels read must be gone before stores to it count as useless.
  GlobalDCEPass().run(module, manager);
  pruneInitializers(module, predicates);
  GlobalDCEPass().run(module, manager);

  // Nodes of constants whose placeholder is gone.
  if (NamedMDNode *constants = module.getNamedMetadata(kConstantList)) {
    SmallVector<MDNode *, 16> alive;
    for (MDNode *node : constants->operands())
      if (globalAt<GlobalVariable>(*node, 0))
        alive.push_back(node);
    if (alive.empty()) {
      constants->eraseFromParent();
    } else {
      constants->clearOperands();
      for (MDNode *node : alive)
        constants->addOperand(node);
    }
  }
  return PreservedAnalyses::none();
}

} // namespace pewter::air::ir
