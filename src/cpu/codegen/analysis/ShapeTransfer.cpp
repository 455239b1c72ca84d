// SPDX-License-Identifier: Apache-2.0
//
// Shapes of instructions. A Pattern is exact modulo 2^bits, so additions, multiplications by literals
// and truncations keep it whatever wraps; only an extension must know that base + pattern does not
// wrap in the narrow type (NoWrap.cpp), else the result carries a correction. Divisions, ordering and
// bits of a Pattern are followed where the base's low zero bits keep base and pattern apart.
// Tested by Uniformity_test.cpp.
#include "cpu/codegen/analysis/Uniformity.h"
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

using namespace llvm;

namespace pewter::cpu::codegen {

namespace {
bool startsWithAny(StringRef name, std::initializer_list<StringRef> prefixes) {
  return any_of(prefixes, [&](StringRef prefix) { return name.starts_with(prefix); });
}
} // namespace

ValueShape Uniformity::transfer(Instruction &instruction) {
  Type *type = instruction.getType();
  if (auto *phi = dyn_cast<PHINode>(&instruction))
    return transferPhi(*phi);
  if (auto *alloca = dyn_cast<AllocaInst>(&instruction)) {
    const PrivateLayout &layout = memory_.layoutOf(*alloca);
    if (layout.kind == PrivateLayout::Separate)
      return all(type, patternShape(pool_, *pool_.affine(int64_t(layout.stride))));
    return all(type, Shape::uniform());
  }
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return transferLoad(*load);
  if (auto *call = dyn_cast<CallInst>(&instruction))
    return transferCall(*call);

  SmallVector<const ValueShape *, 4> operands;
  for (Value *operand : instruction.operands()) {
    const ValueShape &shape = shapeOf(operand);
    if (anyUnknown(shape))
      return {};
    operands.push_back(&shape);
  }
  if (auto *address = dyn_cast<GetElementPtrInst>(&instruction))
    return all(type, transferAddress(*address));
  if (auto *extract = dyn_cast<ExtractElementInst>(&instruction)) {
    auto *index = dyn_cast<ConstantInt>(extract->getIndexOperand());
    if (isMatrixType(extract->getVectorOperandType()))
      return {Shape::varying()}; // One element of the lane's fragment.
    if (index && index->getZExtValue() < operands[0]->size())
      return {(*operands[0])[index->getZExtValue()]};
    return {allUniform(*operands[0]) && allUniform(*operands[1]) ? Shape::uniform()
                                                                  : Shape::varying()};
  }
  if (auto *insert = dyn_cast<InsertElementInst>(&instruction)) {
    if (isMatrixType(type))
      return {Shape::uniform()};
    auto *index = dyn_cast<ConstantInt>(insert->getOperand(2));
    ValueShape result = *operands[0];
    if (index && index->getZExtValue() < result.size()) {
      result[index->getZExtValue()] = (*operands[1])[0];
      return result;
    }
    bool uniform = allUniform(result) && allUniform(*operands[1]) && allUniform(*operands[2]);
    return all(type, uniform ? Shape::uniform() : Shape::varying());
  }
  if (auto *shuffle = dyn_cast<ShuffleVectorInst>(&instruction);
      shuffle && !isMatrixType(type) && !isMatrixType(shuffle->getOperand(0)->getType())) {
    ValueShape result;
    unsigned width = componentsOf(shuffle->getOperand(0)->getType());
    for (int index : shuffle->getShuffleMask())
      result.push_back(index < 0                 ? Shape::uniform()
                       : unsigned(index) < width ? (*operands[0])[index]
                                                 : (*operands[1])[index - width]);
    return result;
  }
  bool uniform = all_of(operands, [](const ValueShape *shape) { return allUniform(*shape); });
  unsigned count = componentsOf(type);
  bool byComponent = all_of(operands, [&](const ValueShape *shape) {
    return shape->size() == count || shape->size() == 1;
  });
  ValueShape result;
  for (unsigned i = 0; i < count; ++i) {
    auto operand = [&](unsigned n) -> const Shape & {
      return (*operands[n])[operands[n]->size() == 1 ? 0 : i];
    };
    if (!byComponent || isMatrixType(type))
      result.push_back(uniform ? Shape::uniform() : Shape::varying());
    else
      result.push_back(transferScalar(instruction, operand));
  }
  return result;
}

ValueShape Uniformity::transferPhi(PHINode &phi) {
  BasicBlock *block = phi.getParent();
  ValueShape result(componentsOf(phi.getType()), Shape());
  const Value *only = nullptr;
  bool allSame = true;
  for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
    Value *incoming = phi.getIncomingValue(i);
    if (incoming == &phi || isa<UndefValue>(incoming))
      continue;
    allSame &= !only || only == incoming;
    only = incoming;
    const ValueShape &shape = shapeOf(incoming);
    if (anyUnknown(shape))
      continue;
    // Lanes that left a loop in different iterations bring different values of it.
    auto *inside = dyn_cast<Instruction>(incoming);
    for (Loop *loop = control_.loops().getLoopFor(phi.getIncomingBlock(i));
         loop && !loop->contains(block); loop = loop->getParentLoop())
      if (control_.hasDivergentExit(loop) && inside && loop->contains(inside))
        return isMatrixType(phi.getType()) ? result : all(phi.getType(), Shape::varying());
    for (unsigned j = 0; j < result.size(); ++j)
      result[j] = join(result[j], shape[j]);
  }
  if (isMatrixType(phi.getType()))
    return {Shape::uniform()};
  if (!allSame && control_.isJoin(block) && control_.bringsDifferentValues(phi))
    for (Shape &shape : result)
      if (!shape.isUnknown() && !(shape.constant && shape.isUniform()))
        shape = Shape::varying();
  for (Shape &shape : result)
    if (shape.isPattern() && !phi.getType()->isIntOrIntVectorTy() && !phi.getType()->isPointerTy())
      shape = Shape::varying();
  return result;
}

ValueShape Uniformity::transferLoad(LoadInst &load) {
  const ValueShape &address = shapeOf(load.getPointerOperand());
  if (anyUnknown(address))
    return {};
  if (isMatrixType(load.getType()))
    return {Shape::uniform()};
  if (load.getPointerAddressSpace() == 0)
    if (const PrivateLayout *layout = memory_.layoutOf(load.getPointerOperand()))
      if (layout->kind != PrivateLayout::Shared)
        return all(load.getType(), Shape::varying());
  return all(load.getType(), allUniform(address) ? Shape::uniform() : Shape::varying());
}

ValueShape Uniformity::transferCall(CallInst &call) {
  bool uniform = true;
  for (Value *argument : call.args()) {
    const ValueShape &shape = shapeOf(argument);
    if (anyUnknown(shape))
      return {};
    uniform &= allUniform(shape);
  }
  Function *callee = call.getCalledFunction();
  StringRef name = callee ? callee->getName() : "";
  if (name.starts_with("air."))
    return transferAirCall(call, name);
  return all(call.getType(), uniform ? Shape::uniform() : Shape::varying());
}

ValueShape Uniformity::transferAirCall(CallInst &call, StringRef name) {
  Type *type = call.getType();
  auto uniformArgument = [&](unsigned i) { return isUniform(call.getArgOperand(i)); };
  if (name.starts_with("air.simdgroup_matrix"))
    return all(type, Shape::uniform());
  if (name.starts_with("air.get_simdgroup_size"))
    return all(type, literalShape(pool_, LanePattern(model_.lanes, 32)));
  if (name.starts_with("air.atomic."))
    return all(type, name.contains(".load.") && uniformArgument(0) ? Shape::uniform()
                                                                   : Shape::varying());
  if (name.starts_with("air.simd_") && !model_.isMerged()) {
    if (startsWithAny(name, {"air.simd_sum", "air.simd_product", "air.simd_min", "air.simd_max",
                             "air.simd_and", "air.simd_or", "air.simd_xor", "air.simd_broadcast",
                             "air.simd_ballot", "air.simd_all", "air.simd_any", "air.simd_vote",
                             "air.simd_active_threads_mask"})) {
      bool laneGiven = name.starts_with("air.simd_broadcast.");
      return all(type, laneGiven && !uniformArgument(1) ? Shape::varying() : Shape::uniform());
    }
    if (name.starts_with("air.simd_shuffle.") && uniformArgument(1))
      return all(type, Shape::uniform());
    if (name.starts_with("air.simd_shuffle") && !name.contains("fill") && uniformArgument(0))
      return all(type, Shape::uniform());
  }
  if (startsWithAny(name, {"air.simd_", "air.quad_"}))
    return all(type, Shape::varying());
  bool uniform = all_of(call.args(), [&](Value *argument) { return isUniform(argument); });
  return all(type, uniform ? Shape::uniform() : Shape::varying());
}

Shape Uniformity::transferAddress(GetElementPtrInst &address) {
  Shape result = shapeOf(address.getPointerOperand())[0];
  const PrivateLayout *layout =
      address.getAddressSpace() == 0 ? memory_.layoutOf(&address) : nullptr;
  int64_t scale = layout && layout->kind == PrivateLayout::Interleaved ? model_.lanes : 1;
  result.constant = false;
  result.alignment = 0;
  auto type = gep_type_begin(address);
  for (unsigned i = 1; i < address.getNumOperands(); ++i, ++type) {
    if (type.isStruct())
      continue;
    const Shape &index = shapeOf(address.getOperand(i))[0];
    if (index.isUniform())
      continue;
    if (index.isVarying() || result.isVarying() || (index.wraps() && result.wraps()))
      return Shape::varying();
    int64_t stride = int64_t(type.getSequentialElementStride(layout_).getFixedValue()) * scale;
    LanePattern values(model_.lanes);
    for (unsigned lane = 0; lane < model_.lanes; ++lane)
      values[lane] = result.at(lane) + index.at(lane) * stride;
    Shape next = patternShape(pool_, std::move(values));
    const Shape &wrapping = index.wraps() ? index : result;
    next.wrapSource = wrapping.wrapSource;
    next.wrapAmount = index.wraps() ? index.wrapAmount * stride : result.wrapAmount;
    result = next;
  }
  return result;
}

bool Uniformity::foldLiterals(Instruction &instruction, const Operand &operand, Shape &result) {
  Type *type = instruction.getType()->getScalarType();
  if (!type->isIntegerTy() || type->getIntegerBitWidth() > 64 || instruction.getNumOperands() == 0)
    return false;
  for (unsigned i = 0; i < instruction.getNumOperands(); ++i) {
    Type *operandType = instruction.getOperand(i)->getType()->getScalarType();
    if (!operandType->isIntegerTy() || operandType->getIntegerBitWidth() > 64 ||
        !operand(i).constant)
      return false;
  }
  bool allUniformOperands = true;
  for (unsigned i = 0; i < instruction.getNumOperands(); ++i)
    allUniformOperands &= operand(i).isUniform();
  LanePattern values(model_.lanes);
  for (unsigned lane = 0; lane < model_.lanes; ++lane) {
    if (lane && allUniformOperands) {
      values[lane] = values[0];
      continue;
    }
    SmallVector<Constant *, 3> literals;
    for (unsigned i = 0; i < instruction.getNumOperands(); ++i)
      literals.push_back(ConstantInt::get(instruction.getOperand(i)->getType()->getScalarType(),
                                          uint64_t(operand(i).base + operand(i).at(lane)),
                                          /*IsSigned=*/true, /*ImplicitTrunc=*/true));
    Constant *folded = nullptr;
    if (auto *compare = dyn_cast<ICmpInst>(&instruction))
      folded = ConstantFoldCompareInstOperands(compare->getPredicate(), literals[0], literals[1],
                                               layout_);
    else if (auto *binary = dyn_cast<BinaryOperator>(&instruction))
      folded = ConstantFoldBinaryOpOperands(binary->getOpcode(), literals[0], literals[1], layout_);
    else if (auto *cast = dyn_cast<CastInst>(&instruction))
      folded = ConstantFoldCastOperand(cast->getOpcode(), literals[0], type, layout_);
    else if (isa<SelectInst>(&instruction))
      folded = literals[0]->isNullValue() ? literals[2] : literals[1];
    else if (isa<FreezeInst>(&instruction))
      folded = literals[0];
    auto *integer = dyn_cast_or_null<ConstantInt>(folded);
    if (!integer)
      return false;
    values[lane] = integer->getSExtValue();
  }
  result = literalShape(pool_, std::move(values));
  return true;
}

Shape Uniformity::transferScalar(Instruction &instruction, const Operand &operand) {
  Shape folded;
  if (foldLiterals(instruction, operand, folded))
    return folded;
  bool uniform = true, varying = false;
  for (unsigned i = 0; i < instruction.getNumOperands(); ++i) {
    uniform &= operand(i).isUniform();
    varying |= operand(i).isVarying();
  }
  Type *type = instruction.getType()->getScalarType();
  if (uniform)
    return Shape::uniform();
  if (varying)
    return Shape::varying();
  if (isa<SelectInst>(&instruction)) {
    bool follows = type->isIntegerTy() || type->isPointerTy();
    return operand(0).isUniform() && follows ? join(operand(1), operand(2)) : Shape::varying();
  }
  if (isa<FreezeInst>(&instruction))
    return operand(0);
  if (type->isPointerTy() || !type->isIntegerTy() || type->isIntegerTy(1) ||
      type->getIntegerBitWidth() > 64)
    return Shape::varying();
  return transferInteger(instruction, operand);
}

Shape Uniformity::transferInteger(Instruction &instruction, const Operand &operand) {
  const Shape &left = operand(0);
  LanePattern values(model_.lanes);
  auto alignment = [&](unsigned i) { return alignmentOf(instruction.getOperand(i), operand(i)); };
  auto scaled = [&](int64_t factor) {
    for (unsigned lane = 0; lane < model_.lanes; ++lane)
      values[lane] = int64_t(uint64_t(left.at(lane)) * uint64_t(factor));
    unsigned zeros = std::min(62, countr_zero(uint64_t(factor)));
    Shape result = patternShape(pool_, std::move(values),
                                uint8_t(std::min(62u, unsigned(left.alignment) + zeros)));
    result.wrapSource = left.wrapSource;
    result.wrapAmount = int64_t(uint64_t(left.wrapAmount) * uint64_t(factor));
    return result;
  };
  switch (instruction.getOpcode()) {
  case Instruction::Add:
  case Instruction::Sub: {
    const Shape &right = operand(1);
    if (left.wraps() && right.wraps())
      return Shape::varying();
    int64_t sign = instruction.getOpcode() == Instruction::Add ? 1 : -1;
    for (unsigned lane = 0; lane < model_.lanes; ++lane)
      values[lane] = left.at(lane) + sign * right.at(lane);
    Shape result =
        patternShape(pool_, std::move(values), std::min(alignment(0), alignment(1)));
    result.wrapSource = left.wraps() ? left.wrapSource : right.wrapSource;
    result.wrapAmount = left.wraps() ? left.wrapAmount : sign * right.wrapAmount;
    return result;
  }
  case Instruction::Mul:
    if (operand(1).isUniform() && operand(1).constant)
      return scaled(operand(1).base);
    return Shape::varying();
  case Instruction::Shl:
    if (operand(1).isUniform() && operand(1).constant && uint64_t(operand(1).base) < 62)
      return scaled(int64_t(1) << operand(1).base);
    return Shape::varying();
  case Instruction::Trunc: {
    Shape result = left;
    unsigned bits = instruction.getType()->getScalarSizeInBits();
    if (left.wraps() && (bits >= 64 || left.wrapAmount % (int64_t(1) << bits) == 0)) {
      result.wrapSource = nullptr;
      result.wrapAmount = 0;
    }
    result.constant = false;
    return result;
  }
  case Instruction::ZExt:
  case Instruction::SExt:
    return transferExtension(cast<CastInst>(instruction), left);
  case Instruction::BitCast:
    return left;
  default:
    return transferBits(instruction, operand);
  }
}

Shape Uniformity::transferExtension(CastInst &cast, const Shape &value) {
  if (value.wraps() || cast.getType()->isVectorTy())
    return value.isDisjoint() ? value : Shape::varying();
  bool byFlags = false;
  bool isSigned = cast.getOpcode() == Instruction::SExt;
  Shape result = value;
  result.constant = false;
  if (extendsExactly(cast.getOperand(0), isSigned, byFlags))
    return result;
  LanePattern source = *value.pattern;
  int64_t low = value.minimum();
  for (int64_t &entry : source)
    entry -= low;
  result.wrapSource = pool_.intern(std::move(source));
  result.wrapAmount = int64_t(uint64_t(1) << cast.getSrcTy()->getScalarSizeInBits());
  return result;
}

Shape Uniformity::transferBits(Instruction &instruction, const Operand &operand) {
  const Shape &left = operand(0), &right = operand(1);
  if (instruction.getOpcode() == Instruction::Or &&
      cast<PossiblyDisjointInst>(instruction).isDisjoint() && !left.wraps() && !right.wraps()) {
    LanePattern values(model_.lanes);
    for (unsigned lane = 0; lane < model_.lanes; ++lane)
      values[lane] = left.at(lane) + right.at(lane);
    return patternShape(pool_, std::move(values),
                        std::min(alignmentOf(instruction.getOperand(0), left),
                                 alignmentOf(instruction.getOperand(1), right)));
  }
  if (!left.isDisjoint() || !right.isUniform() || !right.constant)
    return Shape::varying();
  // base | pattern with nothing in common: the operation acts on each part by itself.
  unsigned bits = instruction.getType()->getScalarSizeInBits();
  uint64_t low = (uint64_t(1) << left.alignment) - 1;
  uint64_t literal = uint64_t(right.base);
  LanePattern values(model_.lanes);
  auto each = [&](auto &&valueOf) {
    for (unsigned lane = 0; lane < model_.lanes; ++lane)
      values[lane] = int64_t(valueOf(uint64_t(left.at(lane))));
  };
  switch (instruction.getOpcode()) {
  case Instruction::And:
    each([&](uint64_t value) { return value & literal & low; });
    if ((literal & ~low & (bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1)) == 0)
      return literalShape(pool_, std::move(values));
    return patternShape(pool_, std::move(values), left.alignment);
  case Instruction::Or:
    each([&](uint64_t value) { return (value | literal) & low; });
    break;
  case Instruction::Xor:
    each([&](uint64_t value) { return (value ^ literal) & low; });
    break;
  case Instruction::LShr:
  case Instruction::AShr:
    if (literal >= bits)
      return Shape::varying();
    each([&](uint64_t value) { return value >> literal; });
    return patternShape(pool_, std::move(values),
                        literal < left.alignment ? uint8_t(left.alignment - literal) : 0);
  default:
    return Shape::varying();
  }
  // The pattern of lane 0 is part of the base, which is the scalar result of lane 0.
  return patternShape(pool_, std::move(values));
}

} // namespace pewter::cpu::codegen
