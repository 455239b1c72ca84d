// SPDX-License-Identifier: Apache-2.0
//
// Tested through tests/kernels.
#include "cpu/codegen/transform/ScalarBody.h"
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/Transforms/Utils/Cloning.h>

using namespace llvm;

namespace pewter::cpu::codegen {

bool canRunLaneByLane(const Function &kernel) {
  for (const Instruction &instruction : instructions(kernel)) {
    auto *call = dyn_cast<CallInst>(&instruction);
    if (!call)
      continue;
    const Function *callee = call->getCalledFunction();
    if (!callee || !callee->getName().starts_with("llvm."))
      return false;
  }
  return true;
}

Function *makeScalarBody(const Function &kernel, const ThreadgroupLayout &threadgroup) {
  LLVMContext &context = kernel.getContext();
  SmallVector<Type *> parameters(kernel.getFunctionType()->params());
  parameters.push_back(PointerType::get(context, 3));
  auto *type = FunctionType::get(Type::getVoidTy(context), parameters, false);
  auto *module = const_cast<Module *>(kernel.getParent());
  Function *body = Function::Create(type, GlobalValue::InternalLinkage, "pewter_lane", module);
  ValueToValueMapTy values;
  for (unsigned i = 0; i < kernel.arg_size(); ++i)
    values[kernel.getArg(i)] = body->getArg(i);
  SmallVector<ReturnInst *> returns;
  CloneFunctionInto(body, &kernel, values, CloneFunctionChangeType::LocalChangesOnly, returns);
  body->setLinkage(GlobalValue::InternalLinkage);
  body->setMetadata("air.kernel", nullptr);

  SmallVector<Constant *> variables;
  for (auto &[variable, offset] : threadgroup.offsets)
    variables.push_back(const_cast<GlobalVariable *>(variable));
  convertUsersOfConstantsToInstructions(variables, body);
  Value *memory = body->getArg(body->arg_size() - 1);
  for (auto &[variable, offset] : threadgroup.offsets) {
    Value *place = nullptr;
    for (Instruction &instruction : instructions(body))
      for (Use &operand : instruction.operands())
        if (operand.get() == variable) {
          if (!place) {
            IRBuilder<> entry(&body->getEntryBlock(), body->getEntryBlock().getFirstInsertionPt());
            place = entry.CreatePtrAdd(memory, entry.getInt64(offset));
          }
          operand.set(place);
        }
  }
  return body;
}

} // namespace pewter::cpu::codegen
