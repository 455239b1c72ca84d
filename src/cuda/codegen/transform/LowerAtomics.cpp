// SPDX-License-Identifier: Apache-2.0
// Names: air.atomic.{global|local}.OP[.s|.u].TYPE (docs: AIR, atomics). Operand forms differ between
// AIR versions only behind the ones used here. Tested by codegen/Pipeline_test.cpp.
#include "cuda/codegen/transform/LowerAtomics.h"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace pewter::cuda::codegen {
using namespace llvm;

namespace {

std::optional<AtomicRMWInst::BinOp> operationNamed(StringRef name, bool isUnsigned, bool isFloat) {
  if (name == "xchg")
    return AtomicRMWInst::Xchg;
  if (name == "add")
    return isFloat ? AtomicRMWInst::FAdd : AtomicRMWInst::Add;
  if (name == "sub")
    return isFloat ? AtomicRMWInst::FSub : AtomicRMWInst::Sub;
  if (name == "min")
    return isFloat ? AtomicRMWInst::FMin : isUnsigned ? AtomicRMWInst::UMin : AtomicRMWInst::Min;
  if (name == "max")
    return isFloat ? AtomicRMWInst::FMax : isUnsigned ? AtomicRMWInst::UMax : AtomicRMWInst::Max;
  if (name == "and")
    return AtomicRMWInst::And;
  if (name == "or")
    return AtomicRMWInst::Or;
  if (name == "xor")
    return AtomicRMWInst::Xor;
  return std::nullopt;
}

/// Emits the replacement; null when the name is not known.
Value *lower(CallInst &call, StringRef name, bool &handled) {
  IRBuilder<> builder(&call);
  LLVMContext &context = call.getContext();
  SyncScope::ID device = context.getOrInsertSyncScopeID("device");
  SyncScope::ID block = context.getOrInsertSyncScopeID("block");
  handled = true;
  if (name.starts_with("fence")) {
    auto *scope = dyn_cast<ConstantInt>(call.getArgOperand(2));
    bool isBlock = scope && scope->getZExtValue() <= 1;
    return builder.CreateFence(AtomicOrdering::SequentiallyConsistent, isBlock ? block : device);
  }
  bool isLocal = name.consume_front("local.");
  if (!isLocal && !name.consume_front("global.")) {
    handled = false;
    return nullptr;
  }
  Value *pointer = call.getArgOperand(0);
  isLocal |= pointer->getType()->getPointerAddressSpace() == 3;
  SyncScope::ID scope = isLocal ? block : device;
  auto [operation, suffix] = name.split('.');
  const DataLayout &layout = call.getModule()->getDataLayout();
  if (operation == "load") {
    auto *load = builder.CreateAlignedLoad(call.getType(), pointer, Align(layout.getTypeStoreSize(call.getType())));
    load->setAtomic(AtomicOrdering::Monotonic, scope);
    return load;
  }
  if (operation == "store") {
    Value *value = call.getArgOperand(1);
    auto *store = builder.CreateAlignedStore(value, pointer, Align(layout.getTypeStoreSize(value->getType())));
    store->setAtomic(AtomicOrdering::Monotonic, scope);
    return store;
  }
  if (operation == "cmpxchg") {
    // cmpxchg.weak(object, expected *, desired, ...): returns the old value and writes it to *expected.
    Value *expectedPointer = call.getArgOperand(1), *desired = call.getArgOperand(2);
    Type *type = desired->getType();
    Value *expected = builder.CreateLoad(type, expectedPointer);
    Value *pair = builder.CreateAtomicCmpXchg(pointer, expected, desired, MaybeAlign(layout.getTypeStoreSize(type)),
                                              AtomicOrdering::Monotonic, AtomicOrdering::Monotonic, scope);
    Value *old = builder.CreateExtractValue(pair, 0);
    builder.CreateStore(old, expectedPointer);
    return old;
  }
  Value *value = call.getArgOperand(1);
  auto rmw = operationNamed(operation, suffix.starts_with("u."), value->getType()->isFloatingPointTy());
  if (!rmw) {
    handled = false;
    return nullptr;
  }
  return builder.CreateAtomicRMW(*rmw, pointer, value, MaybeAlign(layout.getTypeStoreSize(value->getType())),
                                 AtomicOrdering::Monotonic, scope);
}

} // namespace

PreservedAnalyses LowerAtomics::run(Module &module, ModuleAnalysisManager &) {
  SmallVector<CallInst *> calls;
  for (Function &declaration : module)
    if (declaration.isDeclaration() && declaration.getName().starts_with("air.atomic."))
      for (User *user : declaration.users())
        if (auto *call = dyn_cast<CallInst>(user))
          calls.push_back(call);
  for (CallInst *call : calls) {
    StringRef name = call->getCalledFunction()->getName();
    name.consume_front("air.atomic.");
    bool handled;
    Value *value = lower(*call, name, handled);
    if (!handled)
      continue;
    if (!call->getType()->isVoidTy())
      call->replaceAllUsesWith(value);
    call->eraseFromParent();
  }
  return PreservedAnalyses::none();
}

} // namespace pewter::cuda::codegen
