// SPDX-License-Identifier: Apache-2.0
//
// C++ would return a texel through a hidden pointer whatever we write; so the library's declarations
// take that pointer openly, and this turns it round.
//
// Tested by: tests/api/KernelTextures_test.cpp.
#include "msl/Textures.h"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/ADT/StringSwitch.h>
#include <map>

namespace pewter::msl {

using namespace llvm;

namespace {

constexpr unsigned kConstantSpace = 2;
constexpr uint64_t kStateMark = 1ull << 63;

/// "air.read_texture_2d.u.v4i32" -> <4 x i32>; null when the name says nothing.
Type *texelType(LLVMContext &context, StringRef name) {
  StringRef suffix = name.rsplit('.').second;
  const bool vector = suffix.consume_front("v4");
  Type *scalar = StringSwitch<Type *>(suffix)
                     .Case("f32", Type::getFloatTy(context))
                     .Case("f16", Type::getHalfTy(context))
                     .Case("i32", Type::getInt32Ty(context))
                     .Case("i16", Type::getInt16Ty(context))
                     .Default(nullptr);
  return scalar && vector ? FixedVectorType::get(scalar, 4) : scalar;
}

bool returnsTexel(StringRef name) {
  return name.starts_with("air.read_texture") || name.starts_with("air.read_depth") ||
         name.starts_with("air.sample_") || name.starts_with("air.gather_");
}

void turnRound(Function &declaration) {
  LLVMContext &context = declaration.getContext();
  Type *value = texelType(context, declaration.getName());
  if (!value || declaration.arg_empty() || !declaration.getReturnType()->isVoidTy())
    return;
  StructType *result = StructType::get(context, {value, Type::getInt8Ty(context)});
  SmallVector<Type *, 12> parameters(drop_begin(declaration.getFunctionType()->params()));
  const std::string name = declaration.getName().str();
  declaration.setName("");
  Function *replacement =
      Function::Create(FunctionType::get(result, parameters, false), GlobalValue::ExternalLinkage,
                       name, *declaration.getParent());
  replacement->addFnAttr(Attribute::NoUnwind);
  replacement->addFnAttr(Attribute::WillReturn);
  replacement->setMemoryEffects(MemoryEffects::readOnly());
  if (StringRef(name).starts_with("air.sample"))
    replacement->addFnAttr(Attribute::Convergent);
  for (User *user : make_early_inc_range(declaration.users())) {
    auto *call = dyn_cast<CallInst>(user);
    if (!call || call->getCalledFunction() != &declaration)
      continue;
    IRBuilder<> builder(call);
    SmallVector<Value *, 12> arguments(drop_begin(call->args()));
    CallInst *made = builder.CreateCall(replacement, arguments);
    Value *target = call->getArgOperand(0);
    builder.CreateStore(builder.CreateExtractValue(made, 0), target);
    builder.CreateStore(builder.CreateExtractValue(made, 1), builder.CreateStructGEP(result, target, 1));
    call->eraseFromParent();
  }
  if (declaration.use_empty())
    declaration.eraseFromParent();
}

/// The state word in a constant handle.
const ConstantInt *stateWord(const Value *value) {
  const auto *expression = dyn_cast<ConstantExpr>(value);
  if (!expression || expression->getOpcode() != Instruction::IntToPtr ||
      value->getType()->getPointerAddressSpace() != kConstantSpace)
    return nullptr;
  const auto *word = dyn_cast<ConstantInt>(expression->getOperand(0));
  return word && (word->getZExtValue() & kStateMark) ? word : nullptr;
}

} // namespace

void returnTexels(Module &module) {
  for (Function &function : make_early_inc_range(module))
    if (function.isDeclaration() && returnsTexel(function.getName()))
      turnRound(function);
}

void makeSamplerStates(Module &module) {
  LLVMContext &context = module.getContext();
  std::map<uint64_t, GlobalVariable *> states;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      for (Use &operand : instruction.operands()) {
        if (!operand->getType()->isPointerTy())
          continue;
        const ConstantInt *word = stateWord(operand.get());
        if (!word)
          continue;
        GlobalVariable *&state = states[word->getZExtValue()];
        if (!state) {
          auto *type = ArrayType::get(Type::getInt64Ty(context), 2);
          state = new GlobalVariable(
              module, type, /*isConstant=*/true, GlobalValue::InternalLinkage,
              ConstantDataArray::get(context, ArrayRef<uint64_t>{word->getZExtValue(), 0}),
              "__air_sampler_state", nullptr, GlobalValue::NotThreadLocal, kConstantSpace);
          state->setAlignment(Align(8));
          module.getOrInsertNamedMetadata("air.sampler_states")
              ->addOperand(MDNode::get(context, {MDString::get(context, "air.sampler_state"),
                                                 ConstantAsMetadata::get(state)}));
        }
        operand.set(state);
      }
}

} // namespace pewter::msl
