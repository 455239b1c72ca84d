// SPDX-License-Identifier: Apache-2.0
// A group of products stands where its last member stood, so nothing in between may use a result of the others.
// Tested by codegen/Pipeline_test.cpp.
#include "cuda/codegen/transform/PairProducts.h"
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

namespace pewter::cuda::codegen {
using namespace llvm;

namespace {

constexpr StringLiteral kPrefix = "pewter.product.";

CallInst *productOf(Value *value) {
  auto *call = dyn_cast<CallInst>(value);
  return call && call->getCalledFunction() && call->getCalledFunction()->getName().starts_with(kPrefix) ? call
                                                                                                          : nullptr;
}

/// The product behind `product`: it adds to its sum, alone and in the same block.
CallInst *behind(CallInst *product) {
  CallInst *next = product->hasOneUse() ? productOf(*product->user_begin()) : nullptr;
  return next && next->getParent() == product->getParent() && next->getArgOperand(2) == product &&
                 next->getCalledFunction() == product->getCalledFunction()
             ? next
             : nullptr;
}

/// The order of instructions of one block.
class Pairing {
public:
  explicit Pairing(BasicBlock &block) : block_(block) {}
  void run();

private:
  /// Whether the members may stand where the last of them does.
  bool mayMove(ArrayRef<CallInst *> members) const {
    CallInst *last = *max_element(members, [](CallInst *a, CallInst *b) { return a->comesBefore(b); });
    for (CallInst *member : members)
      for (User *user : member->users()) {
        auto *instruction = cast<Instruction>(user);
        if (!is_contained(members, instruction) && instruction->getParent() == &block_ &&
            !isa<PHINode>(instruction) && !last->comesBefore(instruction))
          return false;
      }
    return true;
  }
  /// Columns of two products, one below the other; `second` may be null, for zeros.
  void emit(CallInst *upper, CallInst *lower, CallInst *upperBehind, CallInst *lowerBehind);

  BasicBlock &block_;
  SmallPtrSet<CallInst *, 32> done_;
};

void Pairing::emit(CallInst *upper, CallInst *lower, CallInst *upperBehind, CallInst *lowerBehind) {
  SmallVector<CallInst *, 4> members;
  for (CallInst *member : {upper, lower, upperBehind, lowerBehind})
    if (member)
      members.push_back(member);
  CallInst *last = *max_element(members, [](CallInst *a, CallInst *b) { return a->comesBefore(b); });
  IRBuilder<> builder(last);
  Type *factors = upper->getArgOperand(0)->getType();
  const bool isHalf = cast<VectorType>(factors)->getElementType()->isHalfTy();
  auto word = [&](Value *fragment) { return isHalf ? fragment : builder.CreateBitCast(fragment, builder.getInt32Ty()); };
  auto rows = [&](CallInst *product) {
    return word(product ? product->getArgOperand(0) : Constant::getNullValue(factors));
  };
  SmallVector<Value *> arguments = {rows(upper), rows(lower)};
  Intrinsic::ID id = isHalf ? Intrinsic::nvvm_mma_m16n8k8_row_col_f32_f32 : Intrinsic::nvvm_mma_m16n8k8_row_col_bf16;
  if (upperBehind) {
    id = isHalf ? Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32 : Intrinsic::nvvm_mma_m16n8k16_row_col_bf16;
    arguments.append({rows(upperBehind), rows(lowerBehind)});
  }
  arguments.push_back(word(upper->getArgOperand(1)));
  if (upperBehind)
    arguments.push_back(word(upperBehind->getArgOperand(1)));
  for (CallInst *product : {upper, lower})
    for (uint64_t i = 0; i < 2; ++i)
      arguments.push_back(product ? builder.CreateExtractElement(product->getArgOperand(2), i)
                                  : ConstantFP::get(builder.getFloatTy(), 0));
  Value *sums = builder.CreateIntrinsic(id, ArrayRef<Type *>(), arguments);
  auto replace = [&](CallInst *product, unsigned first) {
    if (!product)
      return;
    Value *fragment = PoisonValue::get(product->getType());
    for (unsigned i = 0; i < 2; ++i)
      fragment = builder.CreateInsertElement(fragment, builder.CreateExtractValue(sums, first + i), uint64_t(i));
    product->replaceAllUsesWith(fragment);
  };
  replace(upperBehind ? upperBehind : upper, 0);
  replace(upperBehind ? lowerBehind : lower, 2);
  for (CallInst *member : {upperBehind, lowerBehind, upper, lower})
    if (member)
      member->eraseFromParent();
}

void Pairing::run() {
  SmallVector<CallInst *> products;
  for (Instruction &instruction : block_)
    if (CallInst *product = productOf(&instruction))
      products.push_back(product);
  for (size_t i = 0; i < products.size(); ++i) {
    CallInst *upper = products[i];
    if (done_.contains(upper))
      continue;
    CallInst *next = behind(upper);
    CallInst *pair = nullptr, *fourth = nullptr;
    auto finish = [&](ArrayRef<CallInst *> members) { done_.insert(members.begin(), members.end()); };
    for (size_t k = i + 1; k < products.size() && !fourth; ++k) {
      CallInst *lower = products[k];
      if (done_.contains(lower) || lower->getArgOperand(1) != upper->getArgOperand(1) || lower == next ||
          lower->getArgOperand(2) == upper || lower->getCalledFunction() != upper->getCalledFunction())
        continue;
      CallInst *after = next ? behind(lower) : nullptr;
      if (after && !done_.contains(after) && !done_.contains(next) && after->getArgOperand(1) == next->getArgOperand(1) &&
          mayMove({upper, lower, next, after})) {
        pair = lower, fourth = after;
      } else if (!pair && mayMove({upper, lower})) {
        pair = lower;
      }
    }
    if (fourth) {
      finish({upper, pair, next, fourth});
      emit(upper, pair, next, fourth);
    } else {
      finish({upper});
      if (pair)
        finish({pair});
      emit(upper, pair, nullptr, nullptr);
    }
  }
}

} // namespace

Value *emitProduct(IRBuilder<> &builder, Value *a, Value *b, Value *sum) {
  Module &module = *builder.GetInsertBlock()->getModule();
  const bool isHalf = cast<VectorType>(a->getType())->getElementType()->isHalfTy();
  auto *type = FunctionType::get(sum->getType(), {a->getType(), b->getType(), sum->getType()}, false);
  auto *product = cast<Function>(module.getOrInsertFunction((kPrefix + (isHalf ? "f16" : "bf16")).str(), type).getCallee());
  product->setDoesNotAccessMemory();
  product->setDoesNotThrow();
  product->setWillReturn();
  product->setConvergent();
  return builder.CreateCall(product, {a, b, sum});
}

void pairProducts(Module &module) {
  for (Function &function : module)
    for (BasicBlock &block : function)
      Pairing(block).run();
  for (Function &function : make_early_inc_range(module))
    if (function.getName().starts_with(kPrefix) && function.use_empty())
      function.eraseFromParent();
}

} // namespace pewter::cuda::codegen
