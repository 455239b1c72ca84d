// SPDX-License-Identifier: Apache-2.0
#include "air/ir/MathCall.h"
#include "air/ir/MathLibrary.h"
#include <llvm/IR/Operator.h>

namespace pewter::air::ir {
using namespace llvm;

Type *withElement(Type *type, Type *element) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector ? FixedVectorType::get(element, vector->getNumElements()) : element;
}

MathCall::MathCall(CallInst &call, const AirName &name) : name(name), call(call), build(&call) {}

FastMathFlags MathCall::permissions() const {
  FastMathFlags flags;
  if (isa<FPMathOperator>(call))
    flags = call.getFastMathFlags();
  flags.setNoNaNs(false);
  flags.setNoInfs(false);
  return flags;
}

Value *MathCall::intrinsic(Intrinsic::ID id, ArrayRef<Value *> values) {
  return build.CreateIntrinsic(id, {values[0]->getType()}, values);
}

Value *MathCall::integer(Value *like, uint64_t value) {
  return ConstantInt::get(like->getType(), value);
}

Value *MathCall::real(Value *like, double value) { return ConstantFP::get(like->getType(), value); }

Value *MathCall::spread(Value *value, Type *like) {
  auto *vector = dyn_cast<FixedVectorType>(like);
  if (!vector || value->getType()->isVectorTy())
    return value;
  return build.CreateVectorSplat(vector->getNumElements(), value);
}

Value *MathCall::widen(Value *value) {
  Type *element = value->getType()->getScalarType();
  if (!element->isHalfTy() && !element->isBFloatTy())
    return value;
  return build.CreateFPExt(value, withElement(value->getType(), build.getFloatTy()));
}

Value *MathCall::narrow(Value *value, Type *type) {
  return value->getType() == type ? value : build.CreateFPTrunc(value, type);
}

Value *MathCall::component(Value *value, int i) {
  return i < 0 || !value->getType()->isVectorTy() ? value : build.CreateExtractElement(value, i);
}

Value *MathCall::perComponent(Type *result, Type *shape, function_ref<Value *(int)> one) {
  auto *vector = dyn_cast<FixedVectorType>(shape);
  if (!vector)
    return one(-1);
  Value *whole = PoisonValue::get(result);
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    whole = build.CreateInsertElement(whole, one(static_cast<int>(i)), i);
  return whole;
}

FunctionCallee MathCall::libraryFunction(StringRef operation, FunctionType *type) {
  std::string symbol = (kFastMathPrefix + operation).str();
  if (!name.fast || !hasMathFunction(symbol))
    symbol = (kPreciseMathPrefix + operation).str();
  if (!hasMathFunction(symbol))
    symbol = operation.str(); // a soft function, named in full
  return call.getModule()->getOrInsertFunction(symbol, type);
}

Value *MathCall::library(StringRef operation, Type *result, ArrayRef<Value *> values) {
  return perComponent(result, result, [&](int i) {
    SmallVector<Value *, 3> arguments;
    SmallVector<Type *, 3> types;
    for (Value *value : values) {
      arguments.push_back(component(value, i));
      types.push_back(arguments.back()->getType());
    }
    FunctionType *type = FunctionType::get(result->getScalarType(), types, false);
    return static_cast<Value *>(build.CreateCall(libraryFunction(operation, type), arguments));
  });
}

Value *MathCall::libraryPair(StringRef operation, Value *value, Type *other, Value *&second) {
  Function *function = call.getFunction();
  IRBuilder<> entry(&function->getEntryBlock(), function->getEntryBlock().begin());
  AllocaInst *place = entry.CreateAlloca(other);
  FunctionType *type = FunctionType::get(build.getFloatTy(), {build.getFloatTy(), build.getPtrTy()}, false);
  FunctionCallee callee = libraryFunction(operation, type);
  Type *seconds = withElement(value->getType(), other);
  second = PoisonValue::get(seconds);
  return perComponent(value->getType(), value->getType(), [&](int i) {
    Value *result = build.CreateCall(callee, {component(value, i), place});
    Value *loaded = build.CreateLoad(other, place);
    second = i < 0 ? loaded : build.CreateInsertElement(second, loaded, i);
    return result;
  });
}

} // namespace pewter::air::ir
