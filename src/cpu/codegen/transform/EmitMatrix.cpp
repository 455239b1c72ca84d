// SPDX-License-Identifier: Apache-2.0
//
// simdgroup_matrix: <64 x T> is one 8x8 matrix of the whole SIMD group, row after row, and uniform.
// A lane owns two neighbouring elements of it: with q = lane / 4, row (q & 4) + lane / 2 % 4 and
// columns (q & 2) * 2 + lane % 2 * 2 and the next; thread_elements are extractelement and
// insertelement of 0 and 1. Multiplication broadcasts elements of A from the stack, which costs load
// ports only, and runs down k in fused steps; Vectorize.h states the order.
#include "cpu/codegen/transform/KernelEmitter.h"
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

using namespace llvm;

namespace pewter::cpu::codegen {

/// With more multiplications than this they are calls: code generation time goes with their number.
static constexpr unsigned kMaxInlineMultiplications = 40;

void KernelEmitter::countMultiplications() {
  for (const Instruction &instruction : instructions(uniformity_.function()))
    if (auto *call = dyn_cast<CallInst>(&instruction); call && call->getCalledFunction())
      multiplications_ += call->getCalledFunction()->getName().starts_with(
          "air.simdgroup_matrix_8x8_multiply_accumulate");
}

static unsigned fragmentElement(unsigned lane, unsigned index) {
  unsigned quad = lane / 4;
  unsigned row = (quad & 4) + lane / 2 % 4;
  unsigned column = (quad & 2) * 2 + lane % 2 * 2;
  return row * 8 + column + index;
}

Value *KernelEmitter::matrixElement(Value *matrix, unsigned index) {
  SmallVector<int> mask;
  for (unsigned lane = 0; lane < lanes(); ++lane)
    mask.push_back(int(fragmentElement(lane % 32, index)));
  return builder_.CreateShuffleVector(matrix, mask);
}

Value *KernelEmitter::withMatrixElement(Value *matrix, Value *values, unsigned index) {
  if (!LaneBuilder::isFull(mask_))
    values = builder_.CreateSelect(builder_.vector(mask_), values, matrixElement(matrix, index));
  SmallVector<int> widen(64, -1), mask(64);
  for (unsigned i = 0; i < 64; ++i)
    mask[i] = int(i);
  for (unsigned lane = 0; lane < 32; ++lane) {
    widen[lane] = int(lane);
    mask[fragmentElement(lane, index)] = int(64 + lane);
  }
  return builder_.CreateShuffleVector(matrix, builder_.CreateShuffleVector(values, widen), mask);
}

/// The one address of a matrix: all lanes give the same.
static Value *matrixAddress(LaneBuilder &builder, const LanePart &pointer, LaneMask &mask) {
  if (!pointer.vector)
    return pointer.scalar;
  Value *lane = builder.lowestLane(builder.bits(mask));
  Value *offset = builder.CreateSExt(builder.CreateExtractElement(pointer.vector, lane),
                                     builder.getInt64Ty());
  return builder.CreatePtrAdd(pointer.scalar,
                              builder.CreateMul(offset, builder.getInt64(pointer.scale)));
}

// Three rounds of zipping row i with row i + 4 transpose eight rows of eight.
static SmallVector<Value *, 8> transpose(LaneBuilder &builder, SmallVector<Value *, 8> rows) {
  const int low[] = {0, 8, 1, 9, 2, 10, 3, 11}, high[] = {4, 12, 5, 13, 6, 14, 7, 15};
  for (unsigned round = 0; round < 3; ++round) {
    SmallVector<Value *, 8> next;
    for (unsigned i = 0; i < 4; ++i) {
      next.push_back(builder.CreateShuffleVector(rows[i], rows[i + 4], low));
      next.push_back(builder.CreateShuffleVector(rows[i], rows[i + 4], high));
    }
    rows = std::move(next);
  }
  return rows;
}

bool KernelEmitter::emitMatrixMemory(CallInst &call, bool isStore) {
  unsigned first = isStore ? 1 : 0; // The pointer's place.
  const Value *pointerOperand = call.getArgOperand(first);
  LanePart pointer = part(pointerOperand);
  Value *base = matrixAddress(builder_, pointer, mask_);
  Type *matrixType = isStore ? call.getArgOperand(0)->getType() : call.getType();
  Type *element = matrixType->getScalarType();
  uint64_t bytes = layout_.getTypeStoreSize(element);
  auto *rowType = FixedVectorType::get(element, 8);

  // Element (r, c) lies at row * r + column * c + start, in elements.
  Value *row, *column, *start;
  Value *one = builder_.getInt64(1);
  Value *second = uniform(call.getArgOperand(first + 1));
  if (second->getType()->isVectorTy()) {
    Value *strides = uniform(call.getArgOperand(first + 2));
    Value *origin = uniform(call.getArgOperand(first + 3));
    column = builder_.CreateExtractElement(strides, uint64_t(0));
    row = builder_.CreateExtractElement(strides, uint64_t(1));
    start = builder_.CreateAdd(
        builder_.CreateMul(builder_.CreateExtractElement(origin, uint64_t(0)), column),
        builder_.CreateMul(builder_.CreateExtractElement(origin, uint64_t(1)), row));
  } else {
    Value *origin = uniform(call.getArgOperand(first + 2));
    Value *transposed = uniform(call.getArgOperand(first + 3));
    Value *x = builder_.CreateExtractElement(origin, uint64_t(0));
    Value *y = builder_.CreateExtractElement(origin, uint64_t(1));
    start = builder_.CreateAdd(builder_.CreateMul(y, second), x);
    row = builder_.CreateSelect(transposed, one, second);
    column = builder_.CreateSelect(transposed, second, one);
  }
  auto isOne = [](Value *value) {
    auto *literal = dyn_cast<ConstantInt>(value);
    return literal && literal->isOne();
  };
  auto place = [&](Value *index) {
    return builder_.CreatePtrAdd(base, builder_.CreateMul(index, builder_.getInt64(bytes)));
  };
  bool byRows = isOne(column), byColumns = !byRows && isOne(row);
  Value *matrix = isStore ? uniform(call.getArgOperand(0)) : nullptr;
  if (byRows || byColumns) {
    Value *pitch = byRows ? row : column;
    SmallVector<Value *, 8> rows;
    if (isStore) {
      for (unsigned r = 0; r < 8; ++r)
        rows.push_back(builder_.slice(matrix, r * 8, 8));
      if (byColumns)
        rows = transpose(builder_, std::move(rows));
    }
    for (unsigned r = 0; r < 8; ++r) {
      Value *index = builder_.CreateAdd(start, builder_.CreateMul(pitch, builder_.getInt64(r)));
      if (isStore)
        builder_.CreateAlignedStore(rows[r], place(index), Align(bytes));
      else
        rows.push_back(builder_.CreateAlignedLoad(rowType, place(index), Align(bytes)));
    }
    if (isStore)
      return true;
    if (byColumns)
      rows = transpose(builder_, std::move(rows));
    defineUniform(call, builder_.concatenate(rows));
    return true;
  }
  if (!isStore)
    matrix = PoisonValue::get(matrixType);
  for (unsigned i = 0; i < 64; ++i) {
    Value *index = builder_.CreateAdd(
        start, builder_.CreateAdd(builder_.CreateMul(row, builder_.getInt64(i / 8)),
                                  builder_.CreateMul(column, builder_.getInt64(i % 8))));
    if (isStore)
      builder_.CreateAlignedStore(builder_.CreateExtractElement(matrix, i), place(index),
                                  Align(bytes));
    else
      matrix = builder_.CreateInsertElement(
          matrix, builder_.CreateAlignedLoad(element, place(index), Align(bytes)), i);
  }
  if (!isStore)
    defineUniform(call, matrix);
  return true;
}

/// D = A * B + C on rows of floats: `a` is the address of 64 floats, `b` and `c` are the rows. Eight
/// sums grow side by side, which hides the latency of fused multiply-add; elements of A are broadcast
/// by loads, which are free beside it.
static LaneBuilder::Values multiplyRows(IRBuilder<> &builder, Value *a, ArrayRef<Value *> b,
                                        LaneBuilder::Values sums) {
  Type *real = builder.getFloatTy();
  for (unsigned k = 0; k < 8; ++k)
    for (unsigned r = 0; r < 8; ++r) {
      Value *scalar = builder.CreateAlignedLoad(
          real, builder.CreatePtrAdd(a, builder.getInt64((r * 8 + k) * 4)), Align(4));
      sums[r] = builder.CreateIntrinsic(Intrinsic::fma, {b[k]->getType()},
                                        {builder.CreateVectorSplat(8, scalar), b[k], sums[r]});
    }
  return sums;
}

static Value *rowOf(IRBuilder<> &builder, Value *base, unsigned row) {
  return builder.CreatePtrAdd(base, builder.getInt64(row * 32));
}

/// void (sums, a, b): the same in memory, for kernels with so many multiplications that code size
/// counts.
static Function *multiplyFunction(Function &user) {
  constexpr char kName[] = "pewter_multiply";
  Module &module = *user.getParent();
  if (Function *known = module.getFunction(kName))
    return known;
  LLVMContext &context = module.getContext();
  IRBuilder<> builder(context);
  Type *pointer = builder.getPtrTy();
  auto *type = FunctionType::get(builder.getVoidTy(), {pointer, pointer, pointer}, false);
  auto *function = Function::Create(type, GlobalValue::InternalLinkage, kName, module);
  function->addFnAttr(Attribute::NoInline);
  function->addFnAttr(Attribute::NoUnwind);
  function->addFnAttr("no-builtins");
  for (const char *key : {"target-cpu", "target-features", "prefer-vector-width",
                          "min-legal-vector-width", "frame-pointer"})
    if (user.hasFnAttribute(key))
      function->addFnAttr(user.getFnAttribute(key));
  builder.SetInsertPoint(BasicBlock::Create(context, "entry", function));
  auto *rowType = FixedVectorType::get(builder.getFloatTy(), 8);
  LaneBuilder::Values sums, b;
  for (unsigned r = 0; r < 8; ++r) {
    sums.push_back(builder.CreateAlignedLoad(rowType, rowOf(builder, function->getArg(0), r), Align(32)));
    b.push_back(builder.CreateAlignedLoad(rowType, rowOf(builder, function->getArg(2), r), Align(32)));
  }
  sums = multiplyRows(builder, function->getArg(1), b, std::move(sums));
  for (unsigned r = 0; r < 8; ++r)
    builder.CreateAlignedStore(sums[r], rowOf(builder, function->getArg(0), r), Align(32));
  builder.CreateRetVoid();
  return function;
}

/// A matrix as floats on the stack, once a block.
Value *KernelEmitter::matrixInMemory(const Value *matrix) {
  Value *&place = spilledMatrices_[matrix];
  if (place)
    return place;
  Type *real = builder_.getFloatTy();
  auto *wide = FixedVectorType::get(real, 64);
  Value *value = uniform(matrix);
  if (value->getType() != wide)
    value = builder_.CreateFPExt(value, wide);
  place = stack(ArrayType::get(real, 64), "matrix");
  for (unsigned r = 0; r < 8; ++r)
    builder_.CreateAlignedStore(builder_.slice(value, r * 8, 8), rowOf(builder_, place, r),
                                Align(32));
  return place;
}

void KernelEmitter::emitMatrixMultiply(CallInst &call) {
  Type *real = builder_.getFloatTy();
  auto *wide = FixedVectorType::get(real, 64);
  auto *rowType = FixedVectorType::get(real, 8);
  auto widened = [&](const Value *operand) {
    Value *value = uniform(operand);
    return value->getType() == wide ? value : builder_.CreateFPExt(value, wide);
  };
  Value *a = matrixInMemory(call.getArgOperand(0));
  Value *c = widened(call.getArgOperand(2));
  LaneBuilder::Values rows;
  if (multiplications_ > kMaxInlineMultiplications) {
    Value *b = matrixInMemory(call.getArgOperand(1));
    if (!sums_)
      sums_ = stack(ArrayType::get(real, 64), "sums");
    for (unsigned r = 0; r < 8; ++r)
      builder_.CreateAlignedStore(builder_.slice(c, r * 8, 8), rowOf(builder_, sums_, r),
                                  Align(32));
    builder_.CreateCall(multiplyFunction(target_), {sums_, a, b});
    for (unsigned r = 0; r < 8; ++r)
      rows.push_back(builder_.CreateAlignedLoad(rowType, rowOf(builder_, sums_, r), Align(32)));
  } else {
    Value *b = widened(call.getArgOperand(1));
    LaneBuilder::Values columns;
    for (unsigned r = 0; r < 8; ++r) {
      columns.push_back(builder_.slice(b, r * 8, 8));
      rows.push_back(builder_.slice(c, r * 8, 8));
    }
    rows = multiplyRows(builder_, a, columns, std::move(rows));
  }
  Value *result = builder_.concatenate(rows);
  if (call.getType() != wide)
    result = builder_.CreateFPTrunc(result, call.getType());
  defineUniform(call, result);
}

bool KernelEmitter::emitMatrixCall(CallInst &call, StringRef name) {
  if (uniformity_.model().isMerged())
    return false;
  name.consume_front("air.simdgroup_matrix_8x8_");
  auto scalar = [&](const Value *operand) -> Value * {
    LanePart value = part(operand);
    if (value.scalar)
      return value.scalar;
    return builder_.CreateExtractElement(value.vector, builder_.lowestLane(builder_.bits(mask_)));
  };
  if (name.starts_with("init_filled")) {
    defineUniform(call, builder_.CreateVectorSplat(64, scalar(call.getArgOperand(0))));
    return true;
  }
  if (name.starts_with("init_diag")) {
    Value *filled = builder_.CreateVectorSplat(64, scalar(call.getArgOperand(0)));
    SmallVector<int> mask;
    for (int i = 0; i < 64; ++i)
      mask.push_back(i / 8 == i % 8 ? i : 64 + i);
    defineUniform(call, builder_.CreateShuffleVector(
                            filled, Constant::getNullValue(call.getType()), mask));
    return true;
  }
  if (name.starts_with("load"))
    return emitMatrixMemory(call, /*isStore=*/false);
  if (name.starts_with("store"))
    return emitMatrixMemory(call, /*isStore=*/true);
  if (!name.starts_with("multiply_accumulate"))
    return false;
  emitMatrixMultiply(call);
  return true;
}

} // namespace pewter::cpu::codegen
