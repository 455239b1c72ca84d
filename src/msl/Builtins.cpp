// SPDX-License-Identifier: Apache-2.0
//
// Tested by: Compile_test.cpp, tests/conformance (Halves.TakeBuiltinsOfTheCompiler).
#include "msl/Builtins.h"
#include <llvm/ADT/StringSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace pewter::msl {

using namespace llvm;

namespace {

/// The flag of an addition or subtraction is read from its result, that of a product from a wider one.
Value *withOverflow(IRBuilder<> &builder, const WithOverflowInst &call) {
  Value *a = call.getLHS(), *b = call.getRHS();
  Value *result = nullptr, *overflow = nullptr;
  if (call.getBinaryOp() == Instruction::Mul) {
    Type *wide = a->getType()->getExtendedType();
    const auto widened = [&](Value *value) {
      return call.isSigned() ? builder.CreateSExt(value, wide) : builder.CreateZExt(value, wide);
    };
    Value *product = builder.CreateMul(widened(a), widened(b));
    result = builder.CreateTrunc(product, a->getType());
    overflow = builder.CreateICmpNE(product, widened(result));
  } else {
    const bool isSum = call.getBinaryOp() == Instruction::Add;
    result = isSum ? builder.CreateAdd(a, b) : builder.CreateSub(a, b);
    if (!call.isSigned()) {
      overflow = isSum ? builder.CreateICmpULT(result, a) : builder.CreateICmpULT(a, b);
    } else {
      Value *changed = builder.CreateXor(a, result);
      Value *other = isSum ? builder.CreateXor(b, result) : builder.CreateXor(a, b);
      overflow = builder.CreateICmpSLT(builder.CreateAnd(changed, other),
                                       Constant::getNullValue(a->getType()));
    }
  }
  Value *both = builder.CreateInsertValue(PoisonValue::get(call.getType()), result, 0);
  return builder.CreateInsertValue(both, overflow, 1);
}

Value *replacement(IRBuilder<> &builder, const IntrinsicInst &call) {
  switch (call.getIntrinsicID()) {
  case Intrinsic::expect:
  case Intrinsic::expect_with_probability:
    return call.getArgOperand(0);
  case Intrinsic::is_constant:
    return builder.getFalse();
  case Intrinsic::sadd_with_overflow:
  case Intrinsic::uadd_with_overflow:
  case Intrinsic::ssub_with_overflow:
  case Intrinsic::usub_with_overflow:
  case Intrinsic::smul_with_overflow:
  case Intrinsic::umul_with_overflow:
    return withOverflow(builder, cast<WithOverflowInst>(call));
  default:
    return nullptr;
  }
}

/// llvm.exp.f32 -> air.mode_exp.f32
void renameMathFunctions(Module &module) {
  static const StringSet<> kNames = {"acos", "asin", "atan", "atan2", "cos",  "cosh", "exp",  "exp10", "exp2",
                                     "log",  "log10", "log2", "pow",  "sin", "sinh", "tan",  "tanh"};
  for (Function &function : make_early_inc_range(module)) {
    StringRef name = function.getName();
    if (!name.consume_front("llvm.") || !kNames.contains(name.split('.').first))
      continue;
    auto *called = cast<Function>(
        module.getOrInsertFunction(("air.mode_" + name).str(), function.getFunctionType())
            .getCallee());
    called->setDoesNotAccessMemory();
    called->setDoesNotThrow();
    function.replaceAllUsesWith(called);
    function.eraseFromParent();
  }
}

} // namespace

void lowerBuiltins(Module &module) {
  renameMathFunctions(module);
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function)))
      if (auto *call = dyn_cast<IntrinsicInst>(&instruction)) {
        IRBuilder<> builder(call);
        if (Value *value = replacement(builder, *call)) {
          call->replaceAllUsesWith(value);
          call->eraseFromParent();
        }
      }
}

void returnAtTraps(Function &entry) {
  for (BasicBlock &block : entry)
    if (auto *end = dyn_cast<UnreachableInst>(block.getTerminator()))
      if (auto *call = dyn_cast_or_null<IntrinsicInst>(end->getPrevNode());
          call && call->getIntrinsicID() == Intrinsic::trap) {
        call->eraseFromParent();
        end->eraseFromParent();
        ReturnInst::Create(entry.getContext(), &block);
      }
}

} // namespace pewter::msl
