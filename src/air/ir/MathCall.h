// SPDX-License-Identifier: Apache-2.0
//
// MathCall: one call that LowerMath replaces, with a builder in front of it, and the small emitters that
// the families share. Each family is a function from a MathCall to the value that stands for it, or
// null when the operation or its types are not of the family.
#pragma once
#include "air/ir/AirName.h"
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

namespace pewter::air::ir {

class MathCall {
public:
  MathCall(llvm::CallInst &call, const AirName &name);

  const AirName &name;
  llvm::CallInst &call;
  llvm::IRBuilder<> build;

  bool is(llvm::StringRef operation) const { return name.operation == operation; }
  unsigned count() const { return call.arg_size(); }
  llvm::Value *arg(unsigned i) const { return call.getArgOperand(i); }
  llvm::Type *type() const { return call.getType(); }

  /// The call's permissions for an operation that has no precise form of its own, or is fast.
  llvm::FastMathFlags permissions() const;

  llvm::Value *intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value *> values);
  llvm::Value *select(llvm::Value *condition, llvm::Value *yes, llvm::Value *no) {
    return build.CreateSelect(condition, yes, no);
  }
  /// A constant of `like`'s type, in every component.
  llvm::Value *integer(llvm::Value *like, uint64_t value);
  llvm::Value *real(llvm::Value *like, double value);
  /// `value` in every component when `like` is a vector and it is not.
  llvm::Value *spread(llvm::Value *value, llvm::Type *like);

  /// float (or a vector of it) from half or bfloat, and back.
  llvm::Value *widen(llvm::Value *value);
  llvm::Value *narrow(llvm::Value *value, llvm::Type *type);

  /// The function of the math library, once per component. Pointer operands are scalars' addresses.
  llvm::Value *library(llvm::StringRef operation, llvm::Type *result,
                       llvm::ArrayRef<llvm::Value *> values);
  /// The same for functions with a second result; returns it in `second`, of scalar type `other`.
  llvm::Value *libraryPair(llvm::StringRef operation, llvm::Value *value, llvm::Type *other,
                           llvm::Value *&second);

  /// Calls `one` for each component index, or once with a null index for scalars.
  llvm::Value *perComponent(llvm::Type *result, llvm::Type *shape,
                            llvm::function_ref<llvm::Value *(int)> one);
  /// Component i of a vector; the value itself when i is negative or it is a scalar.
  llvm::Value *component(llvm::Value *value, int i);

private:
  llvm::FunctionCallee libraryFunction(llvm::StringRef operation, llvm::FunctionType *type);
};

/// `type` with the same number of components and another element.
llvm::Type *withElement(llvm::Type *type, llvm::Type *element);

llvm::Value *lowerFloatOperation(MathCall &math);   // LowerFloat.cpp
llvm::Value *lowerIntegerOperation(MathCall &math); // LowerInteger.cpp
llvm::Value *lowerConversion(MathCall &math);       // LowerConversion.cpp
llvm::Value *lowerPacking(MathCall &math);          // LowerPacking.cpp

} // namespace pewter::air::ir
