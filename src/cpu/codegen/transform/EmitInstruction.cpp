// SPDX-License-Identifier: Apache-2.0
//
// Instructions of the emitter, by the shape of their result:
//   uniform  the scalar instruction is cloned.
//   pattern  it is cloned on the lane-0 values, without flags: lane 0 may be inactive.
//   varying  it is written once per component on <lanes x T>, with its fast-math flags.
// What has no vector form is done lane by lane.
#include "cpu/abi/DotAbi.h"
#include "cpu/codegen/transform/KernelEmitter.h"
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

using namespace llvm;

namespace pewter::cpu::codegen {

void KernelEmitter::emitInstruction(Instruction &instruction) {
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return emitLoad(*load);
  if (auto *store = dyn_cast<StoreInst>(&instruction))
    return emitStore(*store);
  if (auto *call = dyn_cast<CallInst>(&instruction))
    return emitCall(*call);
  if (auto *alloca = dyn_cast<AllocaInst>(&instruction)) {
    const PrivateLayout &layout = uniformity_.memory().layoutOf(*alloca);
    uint64_t bytes = layout_.getTypeAllocSize(alloca->getAllocatedType()).getFixedValue();
    if (layout.kind == PrivateLayout::Interleaved)
      bytes *= lanes();
    else if (layout.kind == PrivateLayout::Separate)
      bytes = layout.stride * lanes();
    AllocaInst *memory = layout.kind == PrivateLayout::Shared
                             ? stack(alloca->getAllocatedType(), alloca->getName())
                             : stack(ArrayType::get(builder_.getInt8Ty(), bytes), alloca->getName());
    memory->setAlignment(std::max(Align(32), alloca->getAlign()));
    LaneValue value{memory, {}};
    if (layout.kind == PrivateLayout::Separate) {
      LanePart part;
      part.shape = uniformity_.shapeOf(alloca)[0];
      part.scalar = memory;
      value = {nullptr, {part}};
    }
    return define(instruction, value);
  }
  if (auto *address = dyn_cast<GetElementPtrInst>(&instruction))
    return emitAddress(*address);
  if (isa<InsertElementInst, ExtractElementInst, ShuffleVectorInst>(instruction))
    return emitElement(instruction);
  if (uniformity_.isUniform(&instruction))
    return emitUniform(instruction);
  if (!emitPattern(instruction))
    emitVarying(instruction);
}

void KernelEmitter::emitUniform(Instruction &instruction) {
  SmallVector<Value *, 4> operands;
  bool fromLaneZero = false;
  for (Value *operand : instruction.operands()) {
    if (isa<Function>(operand)) {
      operands.push_back(operand);
      continue;
    }
    LaneValue value = get(operand);
    if (!value.whole) {
      // Uniform although an operand is not: the analysis folded it, or compares equal patterns.
      const ValueShape &shapes = uniformity_.shapeOf(&instruction);
      if (shapes.size() == 1 && shapes[0].constant)
        return defineUniform(instruction,
                             ConstantInt::get(instruction.getType(), uint64_t(shapes[0].base), true,
                                              /*ImplicitTrunc=*/true));
      LanePart first = part(value, 0);
      if (shapes.size() != 1 || !first.scalar)
        failAt("uniform instruction with a varying operand", instruction);
      operands.push_back(first.scalar); // Lane 0 stands for all: the low bits do not matter.
      fromLaneZero = true;
      continue;
    }
    operands.push_back(value.whole);
  }
  Instruction *clone = instruction.clone();
  for (unsigned i = 0; i < operands.size(); ++i)
    clone->setOperand(i, operands[i]);
  clone->dropUnknownNonDebugMetadata({LLVMContext::MD_range, LLVMContext::MD_fpmath});
  if (fromLaneZero)
    clone->dropPoisonGeneratingAnnotations();
  builder_.Insert(clone);
  defineUniform(instruction, clone);
}

/// True when every component is at most a pattern; then the result is defined.
bool KernelEmitter::emitPattern(Instruction &instruction) {
  const ValueShape &shapes = uniformity_.shapeOf(&instruction);
  if (any_of(shapes, [](const Shape &shape) { return shape.isVarying(); }) ||
      instruction.getType()->isPointerTy())
    return false;
  Type *element = instruction.getType()->getScalarType();
  LaneValue result;
  for (unsigned i = 0; i < shapes.size(); ++i) {
    LanePart part;
    part.shape = shapes[i];
    if (shapes[i].constant) {
      part.scalar = ConstantInt::get(element, uint64_t(shapes[i].base), true, true);
      result.parts.push_back(part);
      continue;
    }
    SmallVector<LanePart, 3> operands;
    for (Value *operand : instruction.operands()) {
      unsigned count = componentsOf(operand->getType());
      if (count != 1 && count != shapes.size())
        return false;
      operands.push_back(this->part(operand, count == 1 ? 0 : i));
      if (!operands.back().scalar)
        return false;
      if (operands.back().distance)
        part.distance = operands.back().distance;
    }
    if (auto *cast = dyn_cast<CastInst>(&instruction);
        cast && (isa<ZExtInst>(cast) || isa<SExtInst>(cast))) {
      part.scalar = extendPattern(*cast, operands[0], part);
    } else {
      Instruction *clone = instruction.clone();
      if (componentsOf(instruction.getType()) != 1)
        clone->mutateType(element);
      for (unsigned k = 0; k < operands.size(); ++k)
        clone->setOperand(k, operands[k].scalar);
      clone->dropPoisonGeneratingAnnotations();
      clone->dropUnknownNonDebugMetadata();
      builder_.Insert(clone);
      part.scalar = clone;
    }
    if (!part.shape.wraps())
      part.distance = nullptr;
    result.parts.push_back(part);
  }
  define(instruction, std::move(result));
  return true;
}

// NoWrap.cpp says when ext(base + pattern) = ext(base) + pattern; by flags only for active lanes, so
// then the base is worked out from the lowest of them.
Value *KernelEmitter::extendPattern(CastInst &cast, const LanePart &operand, LanePart &result) {
  bool isSigned = isa<SExtInst>(cast), byFlags = false;
  Type *wide = cast.getType()->getScalarType();
  auto extend = [&](Value *value) {
    return isSigned ? builder_.CreateSExt(value, wide) : builder_.CreateZExt(value, wide);
  };
  if (!operand.shape.isPattern())
    return extend(operand.scalar);
  if (result.shape.wraps()) {
    // Start from the smallest lane; `distance` is the room above it.
    Type *narrow = operand.scalar->getType();
    unsigned bits = narrow->getIntegerBitWidth();
    int64_t low = operand.shape.minimum();
    Value *lowest = builder_.CreateAdd(operand.scalar,
                                       ConstantInt::get(narrow, uint64_t(low), true, true));
    APInt top = isSigned ? APInt::getSignedMaxValue(bits) : APInt::getMaxValue(bits);
    Value *room = builder_.CreateSub(ConstantInt::get(narrow, top), lowest);
    result.distance = builder_.CreateZExt(room, builder_.getInt64Ty());
    return builder_.CreateSub(extend(lowest), ConstantInt::get(wide, uint64_t(low), true, true));
  }
  bool exact = uniformity_.extendsExactly(cast.getOperand(0), isSigned, byFlags);
  if (!byFlags || !exact || LaneBuilder::isFull(mask_) || operand.shape.isDisjoint())
    return extend(operand.scalar);
  Value *lane = builder_.lowestLane(builder_.bits(mask_));
  Constant *table = builder_.patternVector(operand.shape.pattern, builder_.getInt64Ty());
  Value *step = builder_.CreateExtractElement(table, lane);
  Value *narrow = builder_.CreateTrunc(step, operand.scalar->getType());
  Value *own = extend(builder_.CreateAdd(operand.scalar, narrow));
  return builder_.CreateSub(own, builder_.CreateSExtOrTrunc(step, wide));
}

// ---- Addresses.

void KernelEmitter::emitAddress(GetElementPtrInst &address) {
  const Shape &shape = uniformity_.shapeOf(&address)[0];
  const PrivateLayout *memory =
      address.getAddressSpace() == 0 ? uniformity_.memory().layoutOf(&address) : nullptr;
  int64_t spread = memory && memory->kind == PrivateLayout::Interleaved ? lanes() : 1;
  if (shape.isUniform() && spread == 1)
    return emitUniform(address);

  LanePart base = part(address.getPointerOperand());
  Type *wide = builder_.getInt64Ty();
  Value *offset = nullptr;        // Scalar bytes.
  Value *vectorOffset = nullptr;  // <lanes x i64> bytes.
  Value *narrowIndex = nullptr;   // <lanes x i32>, the only varying index so far.
  uint64_t narrowScale = 1;
  Value *distance = base.distance;
  auto addScalar = [&](Value *value) {
    offset = offset ? builder_.CreateAdd(offset, value) : value;
  };
  auto addVector = [&](Value *value) {
    vectorOffset = vectorOffset ? builder_.CreateAdd(vectorOffset, value) : value;
  };
  auto type = gep_type_begin(address);
  for (unsigned i = 1; i < address.getNumOperands(); ++i, ++type) {
    Value *index = address.getOperand(i);
    if (StructType *record = type.getStructTypeOrNull()) {
      uint64_t field = cast<ConstantInt>(index)->getZExtValue();
      uint64_t bytes = layout_.getStructLayout(record)->getElementOffset(field);
      if (bytes)
        addScalar(builder_.getInt64(bytes * spread));
      continue;
    }
    uint64_t stride = type.getSequentialElementStride(layout_).getFixedValue() * spread;
    LanePart step = part(index);
    if (!step.shape.isVarying()) {
      Value *scalar = builder_.CreateSExtOrTrunc(step.scalar, wide);
      auto *literal = dyn_cast<ConstantInt>(scalar);
      if (!literal || !literal->isZero())
        addScalar(builder_.CreateMul(scalar, builder_.getInt64(stride)));
      if (step.distance)
        distance = step.distance;
      if (shape.isVarying() && step.shape.isPattern()) {
        LanePart scaled = step;
        scaled.scalar = builder_.getInt64(0);
        scaled.shape.constant = false;
        addVector(builder_.CreateMul(vectorOf(scaled), builder_.splat(builder_.getInt64(stride))));
      }
      continue;
    }
    // A sign-extended 32-bit index can go to a gather as it is.
    auto *extension = dyn_cast<SExtInst>(index);
    auto *unsignedExtension = dyn_cast<ZExtInst>(index);
    Value *source = extension ? extension->getOperand(0)
                    : unsignedExtension && (unsignedExtension->hasNonNeg() ||
                                            unsignedExtension->getSrcTy()->getIntegerBitWidth() < 32)
                        ? unsignedExtension->getOperand(0)
                        : nullptr;
    bool scalable = stride == 1 || stride == 2 || stride == 4 || stride == 8;
    auto *extensionInstruction = dyn_cast<Instruction>(index);
    bool near = source && extensionInstruction->getParent() == address.getParent() &&
                source->getType()->getIntegerBitWidth() <= 32;
    if (near && scalable && !narrowIndex && !vectorOffset && base.shape.isUniform() &&
        !base.vector) {
      Value *narrow = vectorOf(source);
      Type *target = builder_.vectorOf(builder_.getInt32Ty());
      narrowIndex = extension ? builder_.CreateSExt(narrow, target)
                              : builder_.CreateZExt(narrow, target);
      narrowScale = stride;
      continue;
    }
    Value *offsets = builder_.CreateSExtOrTrunc(vectorOf(step), builder_.vectorOf(wide));
    addVector(stride == 1 ? offsets
                          : builder_.CreateMul(offsets, builder_.splat(builder_.getInt64(stride))));
  }
  LanePart result;
  result.shape = shape;
  result.scalar = offset ? builder_.CreatePtrAdd(base.scalar, offset) : base.scalar;
  if (shape.wraps())
    result.distance = distance;
  if (shape.isVarying()) {
    if (narrowIndex && !vectorOffset) {
      result.vector = narrowIndex;
      result.scale = unsigned(narrowScale);
    } else {
      if (narrowIndex)
        addVector(builder_.CreateMul(
            builder_.CreateSExt(narrowIndex, builder_.vectorOf(wide)),
            builder_.splat(builder_.getInt64(narrowScale))));
      if (base.vector && !vectorOffset) {
        result.vector = base.vector;
        result.scale = base.scale;
      } else {
        if (!base.shape.isUniform())
          addVector(wideOffsets(base));
        result.vector =
            vectorOffset ? vectorOffset : Constant::getNullValue(builder_.vectorOf(wide));
      }
    }
  }
  LaneValue value;
  if (shape.isUniform())
    value.whole = result.scalar;
  else
    value.parts.push_back(result);
  define(address, std::move(value));
}

// ---- Elements of vectors.

void KernelEmitter::emitElement(Instruction &instruction) {
  auto *extract = dyn_cast<ExtractElementInst>(&instruction);
  auto *insert = dyn_cast<InsertElementInst>(&instruction);
  Value *vectorOperand = instruction.getOperand(0);
  if (isMatrixType(vectorOperand->getType()) || isMatrixType(instruction.getType())) {
    Value *indexOperand = instruction.getOperand(extract ? 1 : 2);
    auto *index = extract || insert ? dyn_cast<ConstantInt>(indexOperand) : nullptr;
    if (!extract && !insert)
      return emitUniform(instruction);
    Value *matrix = uniform(vectorOperand);
    if (extract && index)
      return defineVectors(instruction, {matrixElement(matrix, index->getZExtValue() & 1)});
    if (extract) {
      Value *odd = builder_.CreateTrunc(vectorOf(indexOperand), builder_.maskType());
      return defineVectors(instruction, {builder_.CreateSelect(odd, matrixElement(matrix, 1),
                                                               matrixElement(matrix, 0))});
    }
    Value *values = vectorOf(insert->getOperand(1));
    if (index)
      return defineUniform(instruction,
                           withMatrixElement(matrix, values, index->getZExtValue() & 1));
    Value *odd = builder_.CreateTrunc(vectorOf(indexOperand), builder_.maskType());
    for (unsigned i = 0; i < 2; ++i) {
      Value *chosen = builder_.CreateSelect(i ? odd : builder_.CreateNot(odd), values,
                                            matrixElement(matrix, i));
      matrix = withMatrixElement(matrix, chosen, i);
    }
    return defineUniform(instruction, matrix);
  }
  if (uniformity_.isUniform(&instruction)) {
    bool operandsUniform = all_of(instruction.operands(), [&](const Use &use) {
      return uniformity_.isUniform(use.get());
    });
    if (operandsUniform)
      return emitUniform(instruction);
  }
  auto finish = [&](LaneValue value) {
    if (uniformity_.isUniform(&instruction)) {
      if (any_of(value.parts, [](const LanePart &part) { return !part.scalar; }))
        failAt("uniform element of a varying one", instruction);
      Value *whole = value.parts[0].scalar;
      if (instruction.getType()->isVectorTy()) {
        whole = PoisonValue::get(instruction.getType());
        for (unsigned i = 0; i < value.parts.size(); ++i)
          whole = builder_.CreateInsertElement(whole, value.parts[i].scalar, i);
      }
      value = {whole, {}};
    }
    define(instruction, std::move(value));
  };
  // The analysis may know less of a component than is at hand; the slot wants what it knows.
  auto asShape = [&](LanePart given, unsigned index) {
    const Shape &shape = uniformity_.shapeOf(&instruction)[index];
    if (shape.isVarying() && !given.vector) {
      Value *vector = vectorOf(given);
      given = {};
      given.vector = vector;
    }
    given.shape = shape;
    return given;
  };
  if (auto *shuffle = dyn_cast<ShuffleVectorInst>(&instruction)) {
    unsigned width = componentsOf(vectorOperand->getType());
    LaneValue result;
    for (unsigned i = 0; i < shuffle->getShuffleMask().size(); ++i) {
      int index = shuffle->getMaskValue(i);
      LanePart chosen;
      if (index < 0)
        chosen.scalar = PoisonValue::get(instruction.getType()->getScalarType());
      else
        chosen = part(shuffle->getOperand(unsigned(index) < width ? 0 : 1), index % width);
      result.parts.push_back(asShape(chosen, i));
    }
    return finish(std::move(result));
  }
  Value *indexOperand = instruction.getOperand(extract ? 1 : 2);
  unsigned width = componentsOf(vectorOperand->getType());
  if (auto *index = dyn_cast<ConstantInt>(indexOperand); index && index->getZExtValue() < width) {
    if (extract)
      return finish({nullptr, {asShape(part(vectorOperand, index->getZExtValue()), 0)}});
    LaneValue result;
    for (unsigned i = 0; i < width; ++i)
      result.parts.push_back(asShape(i == index->getZExtValue() ? part(insert->getOperand(1))
                                                                : part(vectorOperand, i),
                                     i));
    return finish(std::move(result));
  }
  auto isIndex = [&](unsigned i) -> Value * {
    Constant *literal = ConstantInt::get(indexOperand->getType(), i);
    if (uniformity_.isUniform(indexOperand))
      return builder_.CreateICmpEQ(uniform(indexOperand), literal);
    return builder_.CreateICmpEQ(vectorOf(indexOperand), builder_.splat(literal));
  };
  if (extract) {
    Value *result = vectorOf(vectorOperand, 0);
    for (unsigned i = 1; i < width; ++i)
      result = builder_.CreateSelect(isIndex(i), vectorOf(vectorOperand, i), result);
    return defineVectors(instruction, {result});
  }
  SmallVector<Value *, 4> results;
  for (unsigned i = 0; i < width; ++i)
    results.push_back(builder_.CreateSelect(isIndex(i), vectorOf(insert->getOperand(1)),
                                            vectorOf(vectorOperand, i)));
  defineVectors(instruction, results);
}

// ---- Varying instructions.

void KernelEmitter::emitVarying(Instruction &instruction) {
  if (auto *select = dyn_cast<SelectInst>(&instruction))
    return emitSelect(*select);
  if (auto *compare = dyn_cast<CmpInst>(&instruction))
    return emitCompare(*compare);
  if (auto *cast = dyn_cast<CastInst>(&instruction))
    return emitCast(*cast);
  if (auto *binary = dyn_cast<BinaryOperator>(&instruction))
    return emitBinary(*binary);
  if (auto *freeze = dyn_cast<FreezeInst>(&instruction))
    return emitFreeze(*freeze);
  if (auto *unary = dyn_cast<UnaryOperator>(&instruction)) {
    SmallVector<Value *, 4> results;
    for (unsigned i = 0; i < componentsOf(unary->getType()); ++i)
      results.push_back(builder_.CreateFNegFMF(vectorOf(unary->getOperand(0), i), unary));
    return defineVectors(instruction, results);
  }
  emitLaneByLane(instruction);
}

void KernelEmitter::emitBinary(BinaryOperator &operation) {
  SmallVector<Value *, 4> results;
  for (unsigned i = 0; i < componentsOf(operation.getType()); ++i) {
    Value *left = vectorOf(operation.getOperand(0), i);
    Value *right = vectorOf(operation.getOperand(1), i);
    if (operation.isIntDivRem()) {
      results.push_back(divide(operation.getOpcode(), left, right));
      continue;
    }
    Value *result = builder_.CreateBinOp(operation.getOpcode(), left, right);
    if (auto *created = dyn_cast<Instruction>(result))
      created->copyIRFlags(&operation);
    results.push_back(result);
  }
  defineVectors(operation, results);
}

// Integer division has no vector instruction. Up to 16 bits the float quotient is exact after
// truncation, up to 32 bits the double one: the quotient's distance to the next integer is at least
// 1/divisor, far above the rounding error. 64 bits are left to LLVM, which goes lane by lane.
// Inactive lanes divide by one, so that nothing traps.
Value *KernelEmitter::divide(unsigned opcode, Value *left, Value *right) {
  auto operation = Instruction::BinaryOps(opcode);
  if (auto *constant = dyn_cast<Constant>(right)) {
    auto *literal = dyn_cast_or_null<ConstantInt>(constant->getSplatValue());
    if (literal && !literal->isZero() && !literal->isMinusOne())
      return builder_.CreateBinOp(operation, left, right);
  }
  Type *type = left->getType();
  unsigned bits = type->getScalarSizeInBits();
  if (!LaneBuilder::isFull(mask_))
    right = builder_.CreateSelect(builder_.vector(mask_), right, ConstantInt::get(type, 1));
  if (bits > 32)
    return builder_.CreateBinOp(operation, left, right);
  bool isSigned = operation == Instruction::SDiv || operation == Instruction::SRem;
  bool isRemainder = operation == Instruction::SRem || operation == Instruction::URem;
  Type *real = builder_.vectorOf(bits <= 16 ? builder_.getFloatTy() : builder_.getDoubleTy());
  Type *integer = builder_.vectorOf(bits <= 16 ? builder_.getInt32Ty()
                                    : isSigned ? builder_.getInt32Ty()
                                               : builder_.getInt64Ty());
  left = builder_.CreateFreeze(left);
  right = builder_.CreateFreeze(right);
  auto toReal = [&](Value *value) {
    return isSigned ? builder_.CreateSIToFP(value, real) : builder_.CreateUIToFP(value, real);
  };
  FastMathFlags strict;
  IRBuilderBase::FastMathFlagGuard guard(builder_);
  builder_.setFastMathFlags(strict);
  Value *quotient = builder_.CreateFDiv(toReal(left), toReal(right));
  if (bits <= 16) {
    quotient = builder_.CreateTrunc(builder_.CreateFPToSI(quotient, integer), type);
  } else if (isSigned) {
    // INT_MIN / -1 does not fit; the saturating form wraps to the right bits after a fix-up.
    quotient = builder_.CreateIntrinsic(Intrinsic::fptosi_sat, {type, real}, {quotient});
    quotient = builder_.CreateFreeze(quotient);
    Value *overflow = builder_.CreateAnd(
        builder_.CreateICmpEQ(left, ConstantInt::get(type, APInt::getSignedMinValue(32))),
        builder_.CreateICmpEQ(right, Constant::getAllOnesValue(type)));
    quotient = builder_.CreateSelect(overflow, left, quotient);
  } else {
    quotient = builder_.CreateIntrinsic(Intrinsic::fptoui_sat, {type, real}, {quotient});
  }
  if (!isRemainder)
    return quotient;
  return builder_.CreateSub(left, builder_.CreateMul(quotient, right));
}

void KernelEmitter::emitSelect(SelectInst &select) {
  if (select.getType()->isPointerTy())
    return emitPointerSelect(select);
  if (uniformity_.isUniform(select.getCondition()) && !select.getCondition()->getType()->isVectorTy()) {
    // One scalar decides for all lanes.
    Value *condition = uniform(select.getCondition());
    SmallVector<Value *, 4> results;
    for (unsigned i = 0; i < componentsOf(select.getType()); ++i)
      results.push_back(builder_.CreateSelect(condition, vectorOf(select.getTrueValue(), i),
                                              vectorOf(select.getFalseValue(), i)));
    return defineVectors(select, results);
  }
  SmallVector<Value *, 4> results;
  bool perComponent = select.getCondition()->getType()->isVectorTy();
  for (unsigned i = 0; i < componentsOf(select.getType()); ++i) {
    Value *result = builder_.CreateSelect(vectorOf(select.getCondition(), perComponent ? i : 0),
                                          vectorOf(select.getTrueValue(), i),
                                          vectorOf(select.getFalseValue(), i));
    if (auto *created = dyn_cast<Instruction>(result); created && isa<FPMathOperator>(created))
      created->copyFastMathFlags(&select);
    results.push_back(result);
  }
  defineVectors(select, results);
}

void KernelEmitter::emitPointerSelect(SelectInst &select) {
  LanePart left = part(select.getTrueValue()), right = part(select.getFalseValue());
  const Shape &shape = uniformity_.shapeOf(&select)[0];
  if (uniformity_.isUniform(select.getCondition())) {
    Value *condition = uniform(select.getCondition());
    LanePart result;
    result.shape = shape;
    result.scalar = builder_.CreateSelect(condition, left.scalar, right.scalar);
    if (shape.isVarying())
      result.vector = builder_.CreateSelect(condition, wideOffsets(left), wideOffsets(right));
    return define(select, {nullptr, {result}});
  }
  Value *condition = vectorOf(select.getCondition());
  if (left.scalar == right.scalar)
    return define(select, {nullptr,
                           {pointerPart(left.scalar,
                                        builder_.CreateSelect(condition, wideOffsets(left),
                                                              wideOffsets(right)))}});
  Value *addresses = builder_.CreateSelect(condition, fullAddresses(left), fullAddresses(right));
  Value *null = ConstantPointerNull::get(cast<PointerType>(select.getType()));
  define(select, {nullptr, {pointerPart(null, addresses)}});
}

void KernelEmitter::emitCompare(CmpInst &compare) {
  SmallVector<Value *, 4> results;
  bool pointers = compare.getOperand(0)->getType()->isPointerTy();
  for (unsigned i = 0; i < componentsOf(compare.getType()); ++i) {
    auto operand = [&](unsigned n) {
      LanePart side = part(compare.getOperand(n), i);
      return pointers ? fullAddresses(side) : vectorOf(side);
    };
    Value *left = operand(0), *right = operand(1);
    Value *result = builder_.CreateCmp(compare.getPredicate(), left, right);
    if (auto *created = dyn_cast<Instruction>(result); created && isa<FCmpInst>(created))
      created->copyFastMathFlags(&compare);
    results.push_back(result);
  }
  defineVectors(compare, results);
}

void KernelEmitter::emitCast(CastInst &cast) {
  Type *from = cast.getSrcTy(), *to = cast.getDestTy();
  if (isa<PtrToIntInst>(cast)) {
    Value *addresses = fullAddresses(part(cast.getOperand(0)));
    return defineVectors(cast, {builder_.CreateZExtOrTrunc(addresses, builder_.vectorOf(to))});
  }
  if (isa<IntToPtrInst>(cast)) {
    Value *addresses = builder_.CreateZExtOrTrunc(vectorOf(cast.getOperand(0)),
                                                  builder_.vectorOf(builder_.getInt64Ty()));
    Value *null = ConstantPointerNull::get(llvm::cast<PointerType>(to));
    return define(cast, {nullptr, {pointerPart(null, addresses)}});
  }
  if (to->isPointerTy())
    return define(cast, get(cast.getOperand(0)));
  if (isa<BitCastInst>(cast) && componentsOf(from) != componentsOf(to))
    return emitBitCast(cast);
  SmallVector<Value *, 4> results;
  for (unsigned i = 0; i < componentsOf(to); ++i) {
    Value *result = builder_.CreateCast(cast.getOpcode(), vectorOf(cast.getOperand(0), i),
                                        builder_.vectorOf(to->getScalarType()));
    if (auto *created = dyn_cast<Instruction>(result))
      created->copyIRFlags(&cast);
    results.push_back(result);
  }
  defineVectors(cast, results);
}

// Between element counts: shifts and masks inside each lane.
void KernelEmitter::emitBitCast(CastInst &cast) {
  Type *from = cast.getSrcTy()->getScalarType(), *to = cast.getDestTy()->getScalarType();
  unsigned fromBits = from->getPrimitiveSizeInBits(), toBits = to->getPrimitiveSizeInBits();
  auto integers = [&](Value *value, unsigned bits) {
    return builder_.CreateBitCast(value, builder_.vectorOf(builder_.getIntNTy(bits)));
  };
  SmallVector<Value *, 4> results;
  if (fromBits > toBits) {
    unsigned ratio = fromBits / toBits;
    for (unsigned i = 0; i < componentsOf(cast.getDestTy()); ++i) {
      Value *source = integers(vectorOf(cast.getOperand(0), i / ratio), fromBits);
      Value *shifted = builder_.CreateLShr(source, uint64_t(i % ratio) * toBits);
      Value *narrow =
          builder_.CreateTrunc(shifted, builder_.vectorOf(builder_.getIntNTy(toBits)));
      results.push_back(builder_.CreateBitCast(narrow, builder_.vectorOf(to)));
    }
    return defineVectors(cast, results);
  }
  unsigned ratio = toBits / fromBits;
  Type *wide = builder_.vectorOf(builder_.getIntNTy(toBits));
  for (unsigned i = 0; i < componentsOf(cast.getDestTy()); ++i) {
    Value *combined = nullptr;
    for (unsigned k = 0; k < ratio; ++k) {
      Value *source = builder_.CreateZExt(
          integers(vectorOf(cast.getOperand(0), i * ratio + k), fromBits), wide);
      source = builder_.CreateShl(source, uint64_t(k) * fromBits);
      combined = combined ? builder_.CreateOr(combined, source) : source;
    }
    results.push_back(builder_.CreateBitCast(combined, builder_.vectorOf(to)));
  }
  defineVectors(cast, results);
}

void KernelEmitter::emitFreeze(FreezeInst &freeze) {
  if (freeze.getType()->isPointerTy()) {
    auto [base, offsets] = address(part(freeze.getOperand(0)));
    return define(freeze, {nullptr, {pointerPart(builder_.CreateFreeze(base),
                                                 builder_.CreateFreeze(offsets))}});
  }
  SmallVector<Value *, 4> results;
  for (unsigned i = 0; i < componentsOf(freeze.getType()); ++i)
    results.push_back(builder_.CreateFreeze(vectorOf(freeze.getOperand(0), i)));
  defineVectors(freeze, results);
}

// ---- Calls.

void KernelEmitter::emitCall(CallInst &call) {
  Function *callee = call.getCalledFunction();
  if (!callee)
    return unsupported(call, "an indirect call");
  StringRef name = callee->getName();
  if (call.isLifetimeStartOrEnd() || isa<DbgInfoIntrinsic>(call) || isa<AssumeInst>(call) ||
      name == "llvm.experimental.noalias.scope.decl")
    return;
  if (isa<MemIntrinsic>(call))
    return emitMemoryIntrinsic(call);
  if (call.getIntrinsicID() == Intrinsic::prefetch)
    return emitPrefetch(call);
  if (name.starts_with("air.wg.barrier") || name.starts_with("air.simdgroup.barrier"))
    return emitBarrier(call, name);
  if (name.starts_with("air.simdgroup_matrix")) {
    if (!emitMatrixCall(call, name))
      unsupported(call, "a matrix operation");
    return;
  }
  if (name.starts_with("air.atomic.")) {
    if (!emitAtomicCall(call, name))
      unsupported(call, "an atomic operation");
    return;
  }
  if (name.starts_with("air.simd_") || name.starts_with("air.quad_") ||
      name.starts_with("air.get_simdgroup_size")) {
    if (!emitSimdCall(call, name))
      unsupported(call, "a SIMD-group operation");
    return;
  }
  if (name.starts_with("air.os_log"))
    return emitLog(call);
  const bool isDot = name.starts_with(kDotPrefix);
  if (!name.starts_with("llvm.") && !isDot)
    return unsupported(call, "a function");
  if (uniformity_.isUniform(&call))
    return emitUniform(call);
  if (isDot)
    return emitDot(call);
  auto id = callee->getIntrinsicID();
  if (call.getType()->isVoidTy() || call.getType()->isStructTy() || call.getType()->isPointerTy())
    return emitLaneByLane(call);
  SmallVector<Value *, 4> results;
  unsigned count = componentsOf(call.getType());
  for (unsigned i = 0; i < count; ++i) {
    SmallVector<Value *, 4> operands;
    SmallVector<Type *, 3> types;
    SmallVector<Type *, 4> operandTypes;
    for (unsigned k = 0; k < call.arg_size(); ++k) {
      Value *operand = call.getArgOperand(k);
      unsigned width = componentsOf(operand->getType());
      if (width != 1 && width != count)
        return emitLaneByLane(call);
      bool stays = call.paramHasAttr(k, Attribute::ImmArg) ||
                   (id == Intrinsic::powi && k == 1);
      operands.push_back(stays ? uniform(operand) : vectorOf(operand, width == 1 ? 0 : i));
      operandTypes.push_back(operands.back()->getType());
    }
    Type *result = builder_.vectorOf(call.getType()->getScalarType());
    auto *type = FunctionType::get(result, operandTypes, false);
    SmallVector<Type *> overloads;
    if (!Intrinsic::getIntrinsicSignature(id, type, overloads))
      return emitLaneByLane(call);
    CallInst *created = builder_.CreateIntrinsic(id, overloads, operands);
    if (isa<FPMathOperator>(created) && isa<FPMathOperator>(call))
      created->copyFastMathFlags(&call);
    results.push_back(created);
  }
  defineVectors(call, results);
}

// Of words, a call on vectors of words.
void KernelEmitter::emitDot(CallInst &call) {
  Function &callee = *call.getCalledFunction();
  Type *type = builder_.vectorOf(call.getType());
  std::string name = callee.getName().drop_back(StringRef("i32").size()).str();
  FunctionCallee function = callee.getParent()->getOrInsertFunction(
      name + "v" + std::to_string(lanes()) + "i32", FunctionType::get(type, {type, type, type}, false),
      callee.getAttributes());
  SmallVector<Value *, 3> operands;
  for (Value *operand : call.args())
    operands.push_back(vectorOf(operand));
  defineVectors(call, {builder_.CreateCall(function, operands)});
}

// The last resort: a loop over the active lanes, each doing the scalar instruction.
void KernelEmitter::emitLaneByLane(Instruction &instruction) {
  Type *type = instruction.getType();
  if (type->isStructTy() || isMatrixType(type))
    return unsupported(instruction, "an instruction without vector form");
  SmallVector<SmallVector<Value *, 4>, 3> spilled;
  for (Value *operand : instruction.operands()) {
    auto &parts = spilled.emplace_back();
    if (isa<Function>(operand) || uniformity_.isUniform(operand))
      continue;
    for (unsigned i = 0; i < componentsOf(operand->getType()); ++i)
      parts.push_back(spill(operand->getType()->isPointerTy() ? fullAddresses(part(operand, i))
                                                              : vectorOf(operand, i)));
  }
  unsigned count = type->isVoidTy() ? 0 : componentsOf(type);
  Type *element = type->isPointerTy() ? builder_.getInt64Ty() : type->getScalarType();
  SmallVector<Value *, 4> results;
  for (unsigned i = 0; i < count; ++i) {
    AllocaInst *memory = stack(ArrayType::get(element->isIntegerTy(1) ? builder_.getInt8Ty() : element, lanes()));
    results.push_back(memory);
  }
  SmallVector<Value *, 4> whole;
  for (Value *operand : instruction.operands())
    whole.push_back(isa<Function>(operand) || uniformity_.isUniform(operand)
                        ? (isa<Function>(operand) ? operand : uniform(operand))
                        : nullptr);
  forEachLane(builder_.bits(mask_), [&](Value *lane) {
    Instruction *clone = instruction.clone();
    for (unsigned k = 0; k < instruction.getNumOperands(); ++k) {
      Value *operand = instruction.getOperand(k);
      if (whole[k]) {
        clone->setOperand(k, whole[k]);
        continue;
      }
      Type *operandType = operand->getType();
      Value *value;
      if (operandType->isPointerTy()) {
        value = builder_.CreateIntToPtr(elementAt(spilled[k][0], builder_.getInt64Ty(), lane),
                                        operandType);
      } else if (operandType->isVectorTy()) {
        value = PoisonValue::get(operandType);
        for (unsigned i = 0; i < spilled[k].size(); ++i)
          value = builder_.CreateInsertElement(
              value, elementAt(spilled[k][i], operandType->getScalarType(), lane), i);
      } else {
        value = elementAt(spilled[k][0], operandType, lane);
      }
      clone->setOperand(k, value);
    }
    builder_.Insert(clone);
    for (unsigned i = 0; i < count; ++i) {
      Value *value = clone;
      if (type->isVectorTy())
        value = builder_.CreateExtractElement(clone, i);
      if (type->isPointerTy())
        value = builder_.CreatePtrToInt(value, element);
      if (element->isIntegerTy(1))
        value = builder_.CreateZExt(value, builder_.getInt8Ty());
      builder_.CreateStore(value, builder_.CreateInBoundsGEP(value->getType(), results[i], lane));
    }
  });
  if (type->isVoidTy())
    return;
  SmallVector<Value *, 4> vectors;
  for (unsigned i = 0; i < count; ++i) {
    Type *stored = element->isIntegerTy(1) ? builder_.getInt8Ty() : element;
    Value *vector = builder_.CreateLoad(builder_.vectorOf(stored), results[i]);
    vectors.push_back(element->isIntegerTy(1) ? builder_.CreateTrunc(vector, builder_.maskType())
                                              : vector);
  }
  if (type->isPointerTy()) {
    Value *null = ConstantPointerNull::get(cast<PointerType>(type));
    return define(instruction, {nullptr, {pointerPart(null, vectors[0])}});
  }
  defineVectors(instruction, vectors);
}

} // namespace pewter::cpu::codegen
