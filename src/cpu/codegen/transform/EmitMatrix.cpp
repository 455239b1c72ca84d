// SPDX-License-Identifier: Apache-2.0
//
// simdgroup_matrix: <64 x T> is one 8x8 matrix of the whole SIMD group, row after row, and uniform. The
// emitter works on its pieces of a register each: two rows where registers hold sixteen floats, else
// one. A lane owns two neighbouring elements: with q = lane / 4, row (q & 4) + lane / 2 % 4 and columns
// (q & 2) * 2 + lane % 2 * 2 and the next; thread_elements are extractelement and insertelement of 0
// and 1. Products are in EmitMatrixMultiply.cpp.
#include "cpu/codegen/transform/KernelEmitter.h"
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

using namespace llvm;

namespace pewter::cpu::codegen {

KernelEmitter::Pieces KernelEmitter::piecesOf(Value *matrix) {
  if (auto known = pieces_.find(matrix); known != pieces_.end())
    return known->second;
  Pieces pieces;
  for (unsigned row = 0; row < 8; row += rowsPerPiece())
    pieces.push_back(builder_.slice(matrix, row * 8, rowsPerPiece() * 8));
  return pieces;
}

Value *KernelEmitter::matrixOf(const Pieces &pieces) {
  Value *matrix = builder_.concatenate(pieces);
  if (!isa<Constant>(matrix))
    pieces_[matrix] = pieces;
  return matrix;
}

KernelEmitter::Pieces KernelEmitter::widened(Pieces pieces) {
  for (Value *&piece : pieces) {
    auto *type = cast<FixedVectorType>(piece->getType());
    if (!type->getElementType()->isFloatTy())
      piece = builder_.CreateFPExt(
          piece, FixedVectorType::get(builder_.getFloatTy(), type->getNumElements()));
  }
  return pieces;
}

Value *KernelEmitter::rowAddress(const MatrixRows &rows, unsigned row) {
  return builder_.CreatePtrAdd(rows.address,
                               builder_.CreateMul(rows.pitch, builder_.getInt64(row)));
}

KernelEmitter::MatrixRows KernelEmitter::matrixIn(const Slot &slot) {
  Type *element = slot.memory.front()->getAllocatedType()->getArrayElementType();
  uint64_t bytes = layout_.getTypeStoreSize(element);
  const unsigned index = slot.inPair.value_or(0);
  MatrixRows rows{builder_.CreatePtrAdd(slot.memory.front(), builder_.getInt64(index * 8 * bytes)),
                  builder_.getInt64(8 * bytes * (slot.inPair ? 2 : 1)), element};
  rows.root = slot.memory.front();
  rows.offset = int64_t(index * 8 * bytes);
  return rows;
}

void KernelEmitter::storeMatrix(const MatrixRows &rows, const Pieces &pieces) {
  Align alignment(layout_.getTypeStoreSize(rows.element).getFixedValue());
  auto *pitch = dyn_cast<ConstantInt>(rows.pitch);
  const bool isContiguous = pitch && pitch->equalsInt(8 * alignment.value());
  for (unsigned i = 0; i < pieces.size(); ++i)
    for (unsigned row = 0; row < rowsPerPiece(); row += isContiguous ? rowsPerPiece() : 1)
      builder_.CreateAlignedStore(isContiguous ? pieces[i] : builder_.slice(pieces[i], row * 8, 8),
                                  rowAddress(rows, i * rowsPerPiece() + row), alignment);
}

KernelEmitter::Pieces KernelEmitter::loadMatrix(const MatrixRows &rows) {
  auto *type = FixedVectorType::get(rows.element, 8);
  Align alignment(layout_.getTypeStoreSize(rows.element).getFixedValue());
  Pieces pieces;
  if (rows.isTransposed) {
    Pieces lines;
    for (unsigned row = 0; row < 8; ++row)
      lines.push_back(builder_.CreateAlignedLoad(type, rowAddress(rows, row), alignment));
    lines = transposeRows(builder_, std::move(lines));
    for (unsigned row = 0; row < 8; row += rowsPerPiece())
      pieces.push_back(builder_.concatenate(ArrayRef(lines).slice(row, rowsPerPiece())));
    return pieces;
  }
  auto *pitch = dyn_cast<ConstantInt>(rows.pitch);
  const bool isContiguous = pitch && pitch->equalsInt(8 * alignment.value());
  for (unsigned row = 0; row < 8; row += rowsPerPiece()) {
    if (isContiguous) {
      auto *piece = FixedVectorType::get(rows.element, 8 * rowsPerPiece());
      pieces.push_back(builder_.CreateAlignedLoad(piece, rowAddress(rows, row), alignment));
      continue;
    }
    SmallVector<Value *, 2> parts;
    for (unsigned i = 0; i < rowsPerPiece(); ++i)
      parts.push_back(builder_.CreateAlignedLoad(type, rowAddress(rows, row + i), alignment));
    pieces.push_back(builder_.concatenate(parts));
  }
  return pieces;
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

// Three rounds of zipping row i with row i + 4 do it.
SmallVector<Value *, 8> transposeRows(IRBuilder<> &builder, SmallVector<Value *, 8> rows) {
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
    auto *corner = dyn_cast<Constant>(origin); // The builder folds no product with zero.
    start = corner && corner->isNullValue() ? builder_.getInt64(0)
                                            : builder_.CreateAdd(builder_.CreateMul(y, second), x);
    if (auto *literal = dyn_cast<ConstantInt>(transposed)) { // The builder folds no such select.
      row = literal->isOne() ? one : second;
      column = literal->isOne() ? second : one;
    } else {
      row = builder_.CreateSelect(transposed, one, second);
      column = builder_.CreateSelect(transposed, second, one);
    }
  }
  auto isOne = [](Value *value) {
    auto *literal = dyn_cast<ConstantInt>(value);
    return literal && literal->isOne();
  };
  auto place = [&](Value *index) {
    return builder_.CreatePtrAdd(base, builder_.CreateMul(index, builder_.getInt64(bytes)));
  };
  bool byRows = isOne(column), byColumns = !byRows && isOne(row);
  if ((byRows || byColumns) && !isStore) { // Loaded where it is needed.
    Value *pitch = builder_.CreateMul(byRows ? row : column, builder_.getInt64(bytes));
    MatrixRows rows{place(start), pitch, element, byColumns};
    if (auto *literal = dyn_cast<ConstantInt>(start)) {
      APInt offset(layout_.getIndexTypeSizeInBits(pointerOperand->getType()), 0);
      rows.root = pointerOperand->stripAndAccumulateConstantOffsets(layout_, offset,
                                                                    /*AllowNonInbounds=*/true);
      rows.offset = offset.getSExtValue() + literal->getSExtValue() * int64_t(bytes);
    }
    waitingLoads_[&call] = rows;
    return true;
  }
  Value *matrix = isStore ? uniform(call.getArgOperand(0)) : nullptr;
  if (byRows || byColumns) {
    SmallVector<Value *, 8> rows;
    for (Value *piece : piecesOf(matrix))
      for (unsigned r = 0; r < rowsPerPiece(); ++r)
        rows.push_back(builder_.slice(piece, r * 8, 8));
    if (byColumns)
      rows = transposeRows(builder_, std::move(rows));
    for (unsigned r = 0; r < 8; ++r) {
      Value *index = builder_.CreateAdd(
          start, builder_.CreateMul(byRows ? row : column, builder_.getInt64(r)));
      builder_.CreateAlignedStore(rows[r], place(index), Align(bytes));
    }
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
  addMultiplication(call);
  return true;
}

} // namespace pewter::cpu::codegen
