// SPDX-License-Identifier: Apache-2.0
// Active lanes are those of the call's mask (LaneMasks.h). With all 32 active a reduction is a butterfly
// of five exchanges, whose result is the same in every lane because each step is commutative. With fewer, a lane of the tree may have nobody to compute it, so a separate function
// fetches all 32 values (the identity for inactive lanes) and every lane computes the tree itself:
// slow, rare, and the same bits. Costs: 5 shuffles, or 32; of 32-bit integers
// in all lanes one instruction. Tested by codegen/Pipeline_test.cpp.
#include "cuda/codegen/transform/LowerSimdgroup.h"
#include "cuda/codegen/transform/EmitWarp.h"
#include "cuda/codegen/transform/LaneMasks.h"
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace pewter::cuda::codegen {
using namespace llvm;

namespace {

enum class Combine { Sum, Product, Min, Max, And, Or, Xor };

/// One combining operation on scalars of one type; half and bfloat are computed in float.
struct Operation {
  Combine combine;
  bool isSigned = false;
  Type *type;     ///< Of the operands.
  FastMathFlags flags;

  Type *workType() const {
    return type->isHalfTy() || type->isBFloatTy() ? Type::getFloatTy(type->getContext()) : type;
  }
  Constant *identity() const {
    Type *work = workType();
    if (work->isFloatTy()) {
      switch (combine) {
      case Combine::Sum:
        return ConstantFP::getNegativeZero(work);
      case Combine::Product:
        return ConstantFP::get(work, 1.0);
      default: // minnum and maxnum ignore NaN
        return ConstantFP::getNaN(work);
      }
    }
    unsigned bits = work->getIntegerBitWidth();
    switch (combine) {
    case Combine::Product:
      return ConstantInt::get(work, 1);
    case Combine::And:
      return Constant::getAllOnesValue(work);
    case Combine::Min:
      return ConstantInt::get(work, isSigned ? APInt::getSignedMaxValue(bits) : APInt::getMaxValue(bits));
    case Combine::Max:
      return ConstantInt::get(work, isSigned ? APInt::getSignedMinValue(bits) : APInt::getMinValue(bits));
    default:
      return ConstantInt::get(work, 0);
    }
  }
  Value *apply(IRBuilder<> &builder, Value *a, Value *b) const {
    builder.setFastMathFlags(flags);
    bool isFloat = a->getType()->isFloatTy();
    switch (combine) {
    case Combine::Sum:
      return isFloat ? builder.CreateFAdd(a, b) : builder.CreateAdd(a, b);
    case Combine::Product:
      return isFloat ? builder.CreateFMul(a, b) : builder.CreateMul(a, b);
    case Combine::Min:
      return builder.CreateBinaryIntrinsic(isFloat    ? Intrinsic::minnum
                                           : isSigned ? Intrinsic::smin
                                                      : Intrinsic::umin, a, b);
    case Combine::Max:
      return builder.CreateBinaryIntrinsic(isFloat    ? Intrinsic::maxnum
                                           : isSigned ? Intrinsic::smax
                                                      : Intrinsic::umax, a, b);
    case Combine::And:
      return builder.CreateAnd(a, b);
    case Combine::Or:
      return builder.CreateOr(a, b);
    case Combine::Xor:
      return builder.CreateXor(a, b);
    }
    return nullptr;
  }
  /// The instruction that does it for all lanes, which exists for 32-bit integers.
  Intrinsic::ID wholeReduction() const {
    if (!type->isIntegerTy(32))
      return Intrinsic::not_intrinsic;
    switch (combine) {
    case Combine::Sum:
      return Intrinsic::nvvm_redux_sync_add;
    case Combine::Min:
      return isSigned ? Intrinsic::nvvm_redux_sync_min : Intrinsic::nvvm_redux_sync_umin;
    case Combine::Max:
      return isSigned ? Intrinsic::nvvm_redux_sync_max : Intrinsic::nvvm_redux_sync_umax;
    case Combine::And:
      return Intrinsic::nvvm_redux_sync_and;
    case Combine::Or:
      return Intrinsic::nvvm_redux_sync_or;
    case Combine::Xor:
      return Intrinsic::nvvm_redux_sync_xor;
    case Combine::Product:
      break;
    }
    return Intrinsic::not_intrinsic;
  }
  Value *widen(IRBuilder<> &builder, Value *value) const {
    return workType() == type ? value : builder.CreateFPExt(value, workType());
  }
  Value *narrow(IRBuilder<> &builder, Value *value) const {
    return workType() == type ? value : builder.CreateFPTrunc(value, type);
  }
};

/// What the name of a call says: "air.simd_prefix_inclusive_sum.u.v4i32".
struct CallName {
  StringRef scope;     ///< "simd" or "quad"
  StringRef operation; ///< "prefix_inclusive_sum"
  bool isSigned = false;
};

std::optional<CallName> parse(StringRef name) {
  if (!name.consume_front("air."))
    return std::nullopt;
  CallName result;
  if (name.consume_front("simd_"))
    result.scope = "simd";
  else if (name.consume_front("quad_"))
    result.scope = "quad";
  else
    return std::nullopt;
  auto [operation, suffix] = name.split('.');
  result.operation = operation;
  result.isSigned = suffix.starts_with("s.");
  return result;
}

std::optional<Combine> combineNamed(StringRef name) {
  if (name == "sum")
    return Combine::Sum;
  if (name == "product")
    return Combine::Product;
  if (name == "min")
    return Combine::Min;
  if (name == "max")
    return Combine::Max;
  if (name == "and")
    return Combine::And;
  if (name == "or")
    return Combine::Or;
  if (name == "xor")
    return Combine::Xor;
  return std::nullopt;
}

class Lowering {
public:
  Lowering(CallInst &call, CallName name, LaneMask mask)
      : call_(call), name_(name), builder_(&call), warp_(builder_),
        width_(name.scope == "quad" ? 4 : 32), mask_(mask) {}

  /// The replacement of the call, or null when its name is not known here.
  Value *lower();

private:
  /// Applies `one` to each component of vectors, or to the scalar itself.
  Value *perComponent(Value *value, const std::function<Value *(Value *)> &one) {
    auto *vector = dyn_cast<FixedVectorType>(value->getType());
    if (!vector)
      return one(value);
    Value *result = PoisonValue::get(vector);
    for (unsigned i = 0; i < vector->getNumElements(); ++i)
      result = builder_.CreateInsertElement(result, one(builder_.CreateExtractElement(value, i)), i);
    return result;
  }
  Operation operationOn(Type *type, Combine combine) {
    FastMathFlags flags;
    if (isa<FPMathOperator>(call_))
      flags = call_.getFastMathFlags();
    flags.setAllowReassoc(false);
    return {combine, name_.isSigned, type, flags};
  }
  Value *reduce(Value *value, Combine combine);
  Value *scan(Value *value, Combine combine, bool inclusive);
  /// Emits `all` where every lane of every group with an active one is active, and `some` where not; both
  /// return a value. The active lanes go one way together, so that they can wait for each other.
  Value *ifAllActive(const std::function<Value *()> &all, const std::function<Value *()> &some);
  /// The working values of all lanes of the group, by number; the identity for inactive ones.
  SmallVector<Value *> fetchAll(Value *working, const Operation &operation);

  Value *mask() { return mask_.active; }
  Value *lane() { return lane_ ? lane_ : lane_ = warp_.lane(); }
  /// Index of the group's first lane: 0, or the lane with its two low bits cleared.
  Value *base() { return width_ == 32 ? builder_.getInt32(0) : builder_.CreateAnd(lane(), ~3u); }
  Value *indexInGroup() { return width_ == 32 ? lane() : builder_.CreateAnd(lane(), 3); }
  Value *argument32(unsigned i) { return builder_.CreateZExtOrTrunc(call_.getArgOperand(i), builder_.getInt32Ty()); }
  Value *fromIndex(Value *value, Value *index) {
    Value *source = builder_.CreateAdd(base(), builder_.CreateAnd(index, width_ - 1));
    return warp_.shuffle(value, source, mask_.waited);
  }
  /// The group's active lanes as bits 0..width-1.
  Value *groupMask(Value *bits) {
    if (width_ == 32)
      return bits;
    return builder_.CreateAnd(builder_.CreateLShr(bits, base()), 15);
  }

  CallInst &call_;
  CallName name_;
  IRBuilder<> builder_;
  EmitWarp warp_;
  unsigned width_;
  LaneMask mask_;
  Value *lane_ = nullptr;
};

Value *Lowering::ifAllActive(const std::function<Value *()> &all,
                             const std::function<Value *()> &some) {
  Value *active = mask();
  lane();
  Value *isFull;
  if (width_ == 32) {
    isFull = builder_.CreateICmpEQ(active, builder_.getInt32(~0u));
  } else {
    // Groups with all four lanes, as one bit each; times 15 that is their lanes.
    Value *pairs = builder_.CreateAnd(active, builder_.CreateLShr(active, 1));
    Value *whole = builder_.CreateAnd(builder_.CreateAnd(pairs, builder_.CreateLShr(pairs, 2)), 0x11111111);
    isFull = builder_.CreateICmpEQ(builder_.CreateMul(whole, builder_.getInt32(15)), active);
  }
  Instruction *thenEnd, *elseEnd;
  SplitBlockAndInsertIfThenElse(isFull, &call_, &thenEnd, &elseEnd);
  builder_.SetInsertPoint(thenEnd);
  const LaneMask given = mask_;
  if (width_ == 32)
    mask_.waited = builder_.getInt32(~0u);
  Value *allValue = all();
  mask_ = given;
  BasicBlock *allBlock = builder_.GetInsertBlock();
  builder_.SetInsertPoint(elseEnd);
  Value *someValue = some();
  BasicBlock *someBlock = builder_.GetInsertBlock();
  builder_.SetInsertPoint(&call_);
  PHINode *phi = PHINode::Create(allValue->getType(), 2, "", call_.getParent()->begin());
  phi->addIncoming(allValue, allBlock);
  phi->addIncoming(someValue, someBlock);
  return phi;
}

SmallVector<Value *> Lowering::fetchAll(Value *working, const Operation &operation) {
  SmallVector<Value *> values;
  Value *active = groupMask(mask());
  for (unsigned i = 0; i < width_; ++i) {
    Value *value = fromIndex(working, builder_.getInt32(i));
    values.push_back(warp_.choose(warp_.maskFromBit(active, i), value, operation.identity()));
  }
  return values;
}

Value *Lowering::reduce(Value *value, Combine combine) {
  return perComponent(value, [&](Value *scalar) {
    Operation operation = operationOn(scalar->getType(), combine);
    Value *working = operation.widen(builder_, scalar);
    Value *total = ifAllActive(
        [&] {
          Value *sum = working;
          if (Intrinsic::ID id = operation.wholeReduction(); id && width_ == 32)
            return (Value *)builder_.CreateIntrinsic(id, ArrayRef<Type *>(), {working, mask_.waited});
          for (unsigned step = width_ / 2; step; step /= 2) {
            Value *other = warp_.shuffle(sum, builder_.CreateXor(lane(), step), mask_.waited);
            sum = operation.apply(builder_, sum, other);
          }
          return sum;
        },
        [&] {
          SmallVector<Value *> values = fetchAll(working, operation);
          for (unsigned step = width_ / 2; step; step /= 2)
            for (unsigned i = 0; i < step; ++i)
              values[i] = operation.apply(builder_, values[i], values[i + step]);
          return values[0];
        });
    return operation.narrow(builder_, total);
  });
}

Value *Lowering::scan(Value *value, Combine combine, bool inclusive) {
  return perComponent(value, [&](Value *scalar) {
    Operation operation = operationOn(scalar->getType(), combine);
    Value *working = operation.widen(builder_, scalar);
    Value *identity = combine == Combine::Sum && working->getType()->isFloatTy()
                          ? ConstantFP::getZero(working->getType())
                          : operation.identity();
    // An exclusive sum of floats starts from 0.0: lanes before this one that hold -0.0 give 0.0.
    auto fromIdentity = [&](Value *sum) {
      return combine == Combine::Sum && sum->getType()->isFloatTy() ? builder_.CreateFAdd(sum, identity) : sum;
    };
    Value *result = ifAllActive(
        [&] {
          Value *sum = working;
          for (unsigned step = 1; step < width_; step *= 2) {
            Value *other = fromIndex(sum, builder_.CreateSub(indexInGroup(), builder_.getInt32(step)));
            Value *has = builder_.CreateICmpUGE(indexInGroup(), builder_.getInt32(step));
            sum = builder_.CreateSelect(has, operation.apply(builder_, sum, other), sum);
          }
          if (inclusive)
            return sum;
          Value *moved = fromIndex(sum, builder_.CreateSub(indexInGroup(), builder_.getInt32(1)));
          return fromIdentity(builder_.CreateSelect(
              builder_.CreateICmpEQ(indexInGroup(), builder_.getInt32(0)), identity, moved));
        },
        [&] {
          SmallVector<Value *> values = fetchAll(working, operation);
          for (unsigned step = 1; step < width_; step *= 2)
            for (unsigned i = width_; i-- > step;)
              values[i] = operation.apply(builder_, values[i], values[i - step]);
          if (!inclusive) {
            values.insert(values.begin(), identity);
            values.pop_back();
          }
          Value *own = values[0];
          Value *place = builder_.CreateShl(builder_.getInt32(1), indexInGroup());
          for (unsigned i = 1; i < width_; ++i)
            own = warp_.choose(warp_.maskFromBit(place, i), values[i], own);
          if (!inclusive) {
            // The first active lane gets the identity of the operation itself.
            Value *below = builder_.CreateSub(builder_.CreateShl(builder_.getInt32(1), indexInGroup()),
                                              builder_.getInt32(1));
            Value *none = builder_.CreateICmpEQ(builder_.CreateAnd(groupMask(mask()), below),
                                                builder_.getInt32(0));
            own = fromIdentity(builder_.CreateSelect(none, identity, own));
          }
          return own;
        });
    return operation.narrow(builder_, result);
  });
}

Value *Lowering::lower() {
  StringRef operation = name_.operation;
  if (auto combine = combineNamed(operation))
    return reduce(call_.getArgOperand(0), *combine);
  if (operation.consume_front("prefix_")) {
    bool inclusive = operation.consume_front("inclusive_");
    if (!inclusive && !operation.consume_front("exclusive_"))
      return nullptr;
    auto combine = combineNamed(operation);
    return combine ? scan(call_.getArgOperand(0), *combine, inclusive) : nullptr;
  }
  Type *resultType = call_.getType();
  auto firstActive = [&] {
    return builder_.CreateBinaryIntrinsic(Intrinsic::cttz, groupMask(mask()), builder_.getTrue());
  };
  if (operation == "ballot" || operation == "active_threads_mask" || operation == "all" ||
      operation == "any") {
    Value *bits = operation == "active_threads_mask"
                      ? mask()
                      : warp_.ballot(builder_.CreateICmpNE(call_.getArgOperand(0), Constant::getNullValue(call_.getArgOperand(0)->getType())), mask_.waited);
    bits = groupMask(bits);
    if (operation == "all")
      return builder_.CreateICmpEQ(bits, groupMask(mask()));
    if (operation == "any")
      return builder_.CreateICmpNE(bits, builder_.getInt32(0));
    return builder_.CreateZExtOrTrunc(bits, resultType);
  }
  if (operation == "is_first")
    return builder_.CreateICmpEQ(indexInGroup(), firstActive());
  if (call_.arg_empty())
    return nullptr;
  Value *value = call_.getArgOperand(0);
  if (operation == "broadcast_first")
    return fromIndex(value, firstActive());
  if (call_.arg_size() < 2)
    return nullptr;
  if (operation == "broadcast" || operation == "shuffle")
    return fromIndex(value, argument32(1));
  if (operation == "shuffle_xor")
    return fromIndex(value, builder_.CreateXor(indexInGroup(), argument32(1)));
  bool up = operation.ends_with("_up");
  if (!up && !operation.ends_with("_down"))
    return nullptr;
  if (operation.starts_with("shuffle_rotate_")) {
    Value *delta = argument32(1);
    return fromIndex(value, up ? builder_.CreateSub(indexInGroup(), delta)
                               : builder_.CreateAdd(indexInGroup(), delta));
  }
  if (operation.starts_with("shuffle_and_fill_")) {
    // Segments of `modulo` lanes: within one the value moves; what would come from outside comes from
    // the fill value of the lane at the wrapped place.
    Value *fill = call_.getArgOperand(1), *delta = argument32(2);
    Value *modulo = call_.arg_size() > 3 ? argument32(3) : builder_.getInt32(width_);
    Value *place = builder_.CreateURem(indexInGroup(), modulo);
    Value *segment = builder_.CreateSub(indexInGroup(), place);
    Value *moved = up ? builder_.CreateSub(place, delta) : builder_.CreateAdd(place, delta);
    Value *inside = up ? builder_.CreateICmpUGE(place, delta) : builder_.CreateICmpULT(moved, modulo);
    Value *wrapped = builder_.CreateURem(
        builder_.CreateAdd(moved, builder_.CreateMul(modulo, builder_.getInt32(32))), modulo);
    Value *source = builder_.CreateAdd(segment, wrapped);
    return builder_.CreateSelect(inside, fromIndex(value, source), fromIndex(fill, source));
  }
  Value *delta = argument32(1);
  Value *index = up ? builder_.CreateSub(indexInGroup(), delta)
                    : builder_.CreateAdd(indexInGroup(), delta);
  Value *has = builder_.CreateICmpULT(index, builder_.getInt32(width_));
  return builder_.CreateSelect(has, fromIndex(value, index), value);
}

} // namespace

PreservedAnalyses LowerSimdgroup::run(Module &module, ModuleAnalysisManager &analyses) {
  auto &functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
  DenseMap<CallInst *, LaneMask> masks;
  for (Function &function : module)
    if (!function.isDeclaration())
      for (auto [call, mask] : computeLaneMasks(function, functions))
        masks[call] = mask;
  SmallVector<CallInst *> calls;
  for (Function &declaration : module) {
    if (!declaration.isDeclaration() || !declaration.getName().starts_with("air."))
      continue;
    for (User *user : declaration.users())
      if (auto *call = dyn_cast<CallInst>(user))
        calls.push_back(call);
  }
  for (CallInst *call : calls) {
    StringRef name = call->getCalledFunction()->getName();
    IRBuilder<> builder(call);
    if (name == "air.wg.barrier") {
      builder.CreateIntrinsic(Intrinsic::nvvm_barrier_cta_sync_all, ArrayRef<Type *>(), {builder.getInt32(0)});
    } else if (name == "air.simdgroup.barrier") {
      builder.CreateIntrinsic(Intrinsic::nvvm_bar_warp_sync, ArrayRef<Type *>(), {masks.at(call).waited});
    } else if (auto parsed = parse(name)) {
      Value *value = Lowering(*call, *parsed, masks.at(call)).lower();
      if (!value)
        continue; // reported by the pipeline's check for calls that are left
      call->replaceAllUsesWith(value);
    } else {
      continue;
    }
    call->eraseFromParent();
  }
  return PreservedAnalyses::none();
}

} // namespace pewter::cuda::codegen
