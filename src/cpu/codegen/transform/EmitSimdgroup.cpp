// SPDX-License-Identifier: Apache-2.0
//
// Reductions, scans and votes over the lanes of a SIMD group (or of its quads). Vectorize.h states
// the order of operations; it does not depend on the target. When several SIMD groups are merged,
// each 32 lanes are a segment of their own and the result is a vector; else it is a scalar.
#include "cpu/codegen/transform/KernelEmitter.h"
#include <llvm/IR/Constants.h>

using namespace llvm;

namespace pewter::cpu::codegen {

bool KernelEmitter::emitSimdCall(CallInst &call, StringRef name) {
  if (name.starts_with("air.get_simdgroup_size")) {
    defineUniform(call, ConstantInt::get(call.getType(), 32));
    return true;
  }
  unsigned width = name.consume_front("air.quad_") ? 4 : 32;
  if (width == 32 && !name.consume_front("air.simd_"))
    return false;
  auto [operation, rest] = name.split('.');
  bool isSigned = rest.starts_with("s.");
  if (operation.starts_with("shuffle") || operation.starts_with("broadcast"))
    return emitShuffle(call, operation, width);
  if (StringRef(operation).contains("ballot") || operation.starts_with("vote") ||
      operation == "all" || operation == "any" || operation == "is_first" ||
      operation == "active_threads_mask" || operation == "is_helper_thread")
    return emitVote(call, operation, width);
  return emitReduction(call, operation, isSigned, width);
}

Value *KernelEmitter::combine(const Reduction &reduction, Value *left, Value *right) {
  bool isFloat = left->getType()->isFPOrFPVectorTy();
  IRBuilderBase::FastMathFlagGuard guard(builder_);
  builder_.setFastMathFlags(reduction.flags);
  switch (reduction.combine) {
  case Combine::Sum:
    return isFloat ? builder_.CreateFAdd(left, right) : builder_.CreateAdd(left, right);
  case Combine::Product:
    return isFloat ? builder_.CreateFMul(left, right) : builder_.CreateMul(left, right);
  case Combine::Min:
    return isFloat ? builder_.CreateMinNum(left, right)
                   : builder_.CreateBinaryIntrinsic(
                         reduction.isSigned ? Intrinsic::smin : Intrinsic::umin, left, right);
  case Combine::Max:
    return isFloat ? builder_.CreateMaxNum(left, right)
                   : builder_.CreateBinaryIntrinsic(
                         reduction.isSigned ? Intrinsic::smax : Intrinsic::umax, left, right);
  case Combine::And:
    return builder_.CreateAnd(left, right);
  case Combine::Or:
    return builder_.CreateOr(left, right);
  case Combine::Xor:
    return builder_.CreateXor(left, right);
  }
  llvm_unreachable("every operation is handled");
}

/// The value that changes nothing, exactly: -0.0 for sums, NaN for minnum and maxnum.
Constant *KernelEmitter::identityOf(const Reduction &reduction, Type *element) {
  bool isFloat = element->isFloatingPointTy();
  unsigned bits = element->getScalarSizeInBits();
  switch (reduction.combine) {
  case Combine::Sum:
    return isFloat ? ConstantFP::getNegativeZero(element) : ConstantInt::get(element, 0);
  case Combine::Product:
    return isFloat ? ConstantFP::get(element, 1.0) : ConstantInt::get(element, 1);
  case Combine::Min:
    if (isFloat)
      return ConstantFP::getNaN(element);
    return ConstantInt::get(element, reduction.isSigned ? APInt::getSignedMaxValue(bits)
                                                        : APInt::getMaxValue(bits));
  case Combine::Max:
    if (isFloat)
      return ConstantFP::getNaN(element);
    return ConstantInt::get(element, reduction.isSigned ? APInt::getSignedMinValue(bits)
                                                        : APInt::getZero(bits));
  case Combine::And:
    return Constant::getAllOnesValue(element);
  case Combine::Or:
  case Combine::Xor:
    return Constant::getNullValue(element);
  }
  llvm_unreachable("every operation is handled");
}

Value *KernelEmitter::withInactive(Value *vector, Constant *filler) {
  if (LaneBuilder::isFull(mask_))
    return vector;
  return builder_.CreateSelect(builder_.vector(mask_), vector, builder_.splat(filler));
}

// Halves are combined until one element is left; or, where every lane needs the result, each lane
// with its partner, which gives the same bits since every operation is commutative.
Value *KernelEmitter::reduce(const Reduction &reduction, Value *vector, bool toScalar) {
  if (toScalar) {
    for (unsigned count = reduction.width / 2; count; count /= 2) {
      if (count >= 1 && count < 2) {
        vector = combine(reduction, builder_.CreateExtractElement(vector, uint64_t(0)),
                         builder_.CreateExtractElement(vector, uint64_t(1)));
        break;
      }
      vector = combine(reduction, builder_.slice(vector, 0, count),
                       builder_.slice(vector, count, count));
    }
    return vector;
  }
  for (unsigned step = reduction.width / 2; step; step /= 2)
    vector = combine(reduction, vector,
                     builder_.shuffleLanes(vector, [&](unsigned lane) { return lane ^ step; }));
  return vector;
}

Value *KernelEmitter::scan(const Reduction &reduction, Value *vector, bool isInclusive) {
  Type *element = vector->getType()->getScalarType();
  Value *neutral = builder_.splat(identityOf(reduction, element));
  auto moved = [&](Value *value, unsigned step, Value *filler) {
    SmallVector<int> mask;
    for (unsigned lane = 0; lane < lanes(); ++lane)
      mask.push_back(lane % reduction.width >= step ? int(lane - step) : int(lanes() + lane));
    return builder_.CreateShuffleVector(value, filler, mask);
  };
  for (unsigned step = 1; step < reduction.width; step *= 2)
    vector = combine(reduction, moved(vector, step, neutral), vector);
  if (isInclusive)
    return vector;
  vector = moved(vector, 1, neutral);
  // The first lane gets 0.0, not the neutral -0.0.
  if (reduction.combine == Combine::Sum && element->isFloatingPointTy())
    vector = builder_.CreateFAdd(vector, ConstantFP::get(vector->getType(), 0.0));
  return vector;
}

bool KernelEmitter::emitReduction(CallInst &call, StringRef operation, bool isSigned,
                                  unsigned width) {
  Reduction reduction;
  reduction.isSigned = isSigned;
  reduction.width = width;
  if (isa<FPMathOperator>(call))
    reduction.flags = call.getFastMathFlags();
  reduction.flags.setAllowReassoc(false);
  bool isInclusive = operation.consume_front("prefix_inclusive_");
  bool isScan = isInclusive || operation.consume_front("prefix_exclusive_");
  if (operation == "sum")
    reduction.combine = Combine::Sum;
  else if (operation == "product")
    reduction.combine = Combine::Product;
  else if (operation == "min")
    reduction.combine = Combine::Min;
  else if (operation == "max")
    reduction.combine = Combine::Max;
  else if (operation == "and")
    reduction.combine = Combine::And;
  else if (operation == "or")
    reduction.combine = Combine::Or;
  else if (operation == "xor")
    reduction.combine = Combine::Xor;
  else
    return false;
  Type *type = call.getType(), *element = type->getScalarType();
  bool isNarrowFloat = element->isHalfTy() || element->isBFloatTy();
  bool toScalar = !isScan && width == 32 && !uniformity_.model().isMerged();
  SmallVector<Value *, 4> results;
  for (unsigned i = 0; i < componentsOf(type); ++i) {
    Value *vector = vectorOf(call.getArgOperand(0), i);
    if (isNarrowFloat)
      vector = builder_.CreateFPExt(vector, builder_.vectorOf(builder_.getFloatTy()));
    vector = withInactive(vector, identityOf(reduction, vector->getType()->getScalarType()));
    Value *result = isScan ? scan(reduction, vector, isInclusive)
                           : reduce(reduction, vector, toScalar);
    if (isNarrowFloat)
      result = builder_.CreateFPTrunc(result, toScalar ? element : builder_.vectorOf(element));
    results.push_back(result);
  }
  if (!toScalar) {
    defineVectors(call, results);
    return true;
  }
  Value *whole = results[0];
  if (type->isVectorTy()) {
    whole = PoisonValue::get(type);
    for (unsigned i = 0; i < results.size(); ++i)
      whole = builder_.CreateInsertElement(whole, results[i], i);
  }
  defineUniform(call, whole);
  return true;
}

// ---- Votes.

/// The mask bits of each SIMD group, as i32.
SmallVector<Value *, 4> KernelEmitter::segmentBits(Value *bits) {
  SmallVector<Value *, 4> result;
  for (unsigned segment = 0; segment < uniformity_.model().segments(); ++segment)
    result.push_back(builder_.CreateTrunc(segment ? builder_.CreateLShr(bits, 32 * segment) : bits,
                                          builder_.getInt32Ty()));
  return result;
}

/// One scalar a segment, spread over the segment's lanes.
Value *KernelEmitter::fromSegments(ArrayRef<Value *> scalars) {
  if (scalars.size() == 1)
    return builder_.splat(scalars[0]);
  Value *vector = PoisonValue::get(FixedVectorType::get(scalars[0]->getType(), scalars.size()));
  for (unsigned i = 0; i < scalars.size(); ++i)
    vector = builder_.CreateInsertElement(vector, scalars[i], i);
  SmallVector<int> mask;
  for (unsigned lane = 0; lane < lanes(); ++lane)
    mask.push_back(int(lane / 32));
  return builder_.CreateShuffleVector(vector, mask);
}

bool KernelEmitter::emitVote(CallInst &call, StringRef operation, unsigned width) {
  Type *type = call.getType();
  auto active = segmentBits(builder_.bits(mask_));
  SmallVector<Value *, 4> chosen; // The lanes whose predicate holds.
  bool hasPredicate = operation == "all" || operation == "any" || operation == "ballot";
  if (hasPredicate) {
    const Value *argument = call.getArgOperand(0);
    Value *predicate = builder_.CreateTrunc(vectorOf(argument), builder_.maskType());
    chosen = segmentBits(builder_.CreateAnd(builder_.bitsOf(predicate), builder_.bits(mask_)));
  }
  auto firstOf = [&](Value *bits) -> Value * {
    if (width == 32)
      return builder_.CreateAnd(bits, builder_.CreateNeg(bits));
    Value *lower = builder_.CreateAnd(builder_.CreateShl(bits, 1), 0xEEEEEEEE);
    lower = builder_.CreateOr(lower, builder_.CreateAnd(builder_.CreateShl(bits, 2), 0xCCCCCCCC));
    lower = builder_.CreateOr(lower, builder_.CreateAnd(builder_.CreateShl(bits, 3), 0x88888888));
    return builder_.CreateAnd(bits, builder_.CreateNot(lower));
  };
  if (operation == "is_helper_thread") {
    defineVectors(call, {Constant::getNullValue(builder_.vectorOf(type))});
    return true;
  }
  if (operation == "is_first") {
    Value *bits = ConstantInt::get(builder_.bitsType(), 0);
    for (unsigned i = 0; i < active.size(); ++i) {
      Value *first = builder_.CreateZExt(firstOf(active[i]), builder_.bitsType());
      bits = builder_.CreateOr(bits, i ? builder_.CreateShl(first, 32 * i) : first);
    }
    Value *vector = builder_.vectorOfBits(bits);
    defineVectors(call, {builder_.CreateZExt(vector, builder_.vectorOf(type))});
    return true;
  }
  if (width == 4) {
    // Shift each quad's bits down in its own lanes.
    auto perQuad = [&](ArrayRef<Value *> segments) {
      LanePattern shifts(lanes());
      for (unsigned lane = 0; lane < lanes(); ++lane)
        shifts[lane] = lane % 32 / 4 * 4;
      Value *bits = builder_.CreateLShr(fromSegments(segments),
                                        builder_.patternVector(&shifts, builder_.getInt32Ty()));
      return builder_.CreateAnd(bits, builder_.splat(builder_.getInt32(15)));
    };
    Value *quads = perQuad(active), *result = nullptr;
    Value *held = hasPredicate ? perQuad(chosen) : nullptr;
    if (operation.starts_with("vote_"))
      held = builder_.CreateAnd(
          builder_.CreateZExtOrTrunc(vectorOf(call.getArgOperand(0)), quads->getType()), quads);
    if (operation == "ballot")
      result = held;
    else if (operation == "active_threads_mask")
      result = quads;
    else if (operation == "all" || operation == "vote_all")
      result = builder_.CreateICmpEQ(held, quads);
    else if (operation == "any" || operation == "vote_any")
      result = builder_.CreateICmpNE(held, Constant::getNullValue(held->getType()));
    else
      return false;
    defineVectors(call, {builder_.CreateZExtOrTrunc(result, builder_.vectorOf(type))});
    return true;
  }
  SmallVector<Value *, 4> results;
  for (unsigned i = 0; i < active.size(); ++i) {
    Value *held = hasPredicate ? chosen[i] : nullptr;
    if (operation.starts_with("vote_")) {
      // The argument is a ballot, the same for the whole SIMD group.
      LanePart ballot = part(call.getArgOperand(0));
      Value *bits = ballot.shape.isUniform()
                        ? ballot.scalar
                        : builder_.CreateExtractElement(
                              vectorOf(ballot),
                              uniformity_.model().isMerged()
                                  ? (Value *)builder_.getInt32(32 * i)
                                  : builder_.lowestLane(builder_.bits(mask_)));
      held = builder_.CreateAnd(builder_.CreateZExtOrTrunc(bits, builder_.getInt32Ty()), active[i]);
    }
    Value *result = nullptr;
    if (operation == "ballot")
      result = held;
    else if (operation == "active_threads_mask")
      result = active[i];
    else if (operation == "all" || operation == "vote_all")
      result = builder_.CreateICmpEQ(held, active[i]);
    else if (operation == "any" || operation == "vote_any")
      result = builder_.CreateICmpNE(held, builder_.getInt32(0));
    else
      return false;
    results.push_back(builder_.CreateZExtOrTrunc(result, type));
  }
  if (uniformity_.isUniform(&call))
    defineUniform(call, results[0]);
  else
    defineVectors(call, {fromSegments(results)});
  return true;
}

} // namespace pewter::cpu::codegen
