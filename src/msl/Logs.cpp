// SPDX-License-Identifier: Apache-2.0
//
// The library's declaration takes generic pointers, because C++ gives a literal no other; the literals
// themselves lie in the constant space.
//
// Tested by: tests/api/KernelLog_test.cpp.
#include "msl/Logs.h"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

namespace pewter::msl {

using namespace llvm;

namespace {

constexpr StringRef kName = "air.os_log";
constexpr unsigned kConstantSpace = 2;

/// The literal behind a generic pointer; null when there is none.
Value *literalOf(Value *value) {
  auto *constant = dyn_cast<Constant>(value->stripPointerCasts());
  if (!constant)
    return nullptr;
  auto *type = PointerType::get(value->getContext(), kConstantSpace);
  if (constant->isNullValue())
    return ConstantPointerNull::get(type);
  return constant->getType() == type ? constant : nullptr;
}

} // namespace

Result<void> shapeLogs(Function &kernel, bool isEnabled) {
  SmallVector<CallInst *, 8> calls;
  for (Instruction &instruction : instructions(kernel))
    if (auto *call = dyn_cast<CallInst>(&instruction))
      if (Function *callee = call->getCalledFunction(); callee && callee->getName().starts_with(kName))
        calls.push_back(call);
  if (!isEnabled)
    for (CallInst *call : calls)
      call->eraseFromParent();
  if (calls.empty() || !isEnabled)
    return {};
  Module &module = *kernel.getParent();
  LLVMContext &context = kernel.getContext();
  Type *text = PointerType::get(context, kConstantSpace), *number = Type::getInt32Ty(context);
  auto *type = FunctionType::get(Type::getVoidTy(context),
                                 {text, text, number, text, PointerType::get(context, 0),
                                  Type::getInt64Ty(context)},
                                 false);
  Function *generic = calls.front()->getCalledFunction();
  if (generic->getFunctionType() != type)
    generic->setName("air.generic_os_log");
  FunctionCallee shaped = module.getOrInsertFunction(kName, type);
  cast<Function>(shaped.getCallee())->addFnAttr(Attribute::NoUnwind);
  for (CallInst *call : calls) {
    SmallVector<Value *, 6> operands(call->args());
    for (unsigned i : {0u, 1u, 3u}) {
      operands[i] = literalOf(operands[i]);
      if (!operands[i])
        return fail(ErrorKind::Compile,
                    "error: kernel '{}' logs with a {} that is not a string literal\n",
                    kernel.getName().str(), i == 3 ? "format" : "subsystem or category");
    }
    IRBuilder<>(call).CreateCall(shaped, operands);
    call->eraseFromParent();
  }
  return {};
}

} // namespace pewter::msl
