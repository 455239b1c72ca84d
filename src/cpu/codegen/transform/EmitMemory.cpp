// SPDX-License-Identifier: Apache-2.0
//
// Loads and stores by the shape of the address:
//   uniform               scalar; of a varying value the highest active lane's is stored
//   pattern, contiguous   one wide access, masked if need be
//   pattern, all lanes    pieces: each register's lanes are fetched by one or two loads that cover
//                         just their bytes, and one shuffle. Gaps between lanes are read: both ends
//                         lie in the pages of bytes that lanes asked for.
//   else                  gather, or a loop of scalar stores
// Elements of 8 and 16 bits are gathered as the aligned 32-bit word that holds them, which never
// crosses a page. An address that may wrap is tested; the wrapped case takes the general path.
#include "cpu/codegen/transform/KernelEmitter.h"
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>

using namespace llvm;

namespace pewter::cpu::codegen {

// ---- Lane loops and stack copies.

Value *KernelEmitter::spill(Value *vector) {
  if (vector->getType() == builder_.maskType())
    vector = builder_.CreateZExt(vector, builder_.vectorOf(builder_.getInt8Ty()));
  AllocaInst *memory = stack(vector->getType(), "spill");
  builder_.CreateStore(vector, memory);
  return memory;
}

Value *KernelEmitter::elementAt(Value *spilled, Type *element, Value *lane) {
  Type *stored = element->isIntegerTy(1) ? builder_.getInt8Ty() : element;
  Value *value =
      builder_.CreateLoad(stored, builder_.CreateInBoundsGEP(stored, spilled, lane));
  return element->isIntegerTy(1) ? builder_.CreateTrunc(value, element) : value;
}

void KernelEmitter::forEachLane(Value *bits, function_ref<void(Value *)> body) {
  BasicBlock *before = builder_.GetInsertBlock();
  BasicBlock *loop = newBlock("lane"), *after = newBlock("lanes.done");
  Value *zero = ConstantInt::get(builder_.bitsType(), 0);
  builder_.CreateCondBr(builder_.CreateICmpNE(bits, zero), loop, after);
  builder_.SetInsertPoint(loop);
  PHINode *left = builder_.CreatePHI(builder_.bitsType(), 2);
  left->addIncoming(bits, before);
  body(builder_.lowestLane(left));
  Value *next = builder_.CreateAnd(
      left, builder_.CreateSub(left, ConstantInt::get(builder_.bitsType(), 1)));
  left->addIncoming(next, builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateICmpNE(next, zero), loop, after);
  builder_.SetInsertPoint(after);
}

// ---- Addresses.

/// The address of each lane's own copy, for interleaved private memory.
LanePart KernelEmitter::laneAddress(const LanePart &pointer, const Value *original) {
  const PrivateLayout *layout = uniformity_.memory().layoutOf(original);
  if (!layout || layout->kind != PrivateLayout::Interleaved)
    return pointer;
  LanePart result = pointer;
  const LanePattern *step = uniformity_.pool().affine(int64_t(layout->unit));
  if (pointer.shape.isVarying()) {
    result.vector = builder_.CreateAdd(wideOffsets(pointer),
                                       builder_.patternVector(step, builder_.getInt64Ty()));
    result.scale = 1;
    return result;
  }
  LanePattern values(lanes());
  for (unsigned lane = 0; lane < lanes(); ++lane)
    values[lane] = pointer.shape.at(lane) + (*step)[lane];
  result.shape = patternShape(uniformity_.pool(), std::move(values));
  result.shape.wrapSource = pointer.shape.wrapSource;
  result.shape.wrapAmount = pointer.shape.wrapAmount;
  return result;
}

LanePart KernelEmitter::offsetBy(const LanePart &pointer, int64_t bytes) {
  LanePart result = pointer;
  if (bytes)
    result.scalar = builder_.CreatePtrAdd(pointer.scalar, builder_.getInt64(uint64_t(bytes)));
  return result;
}

bool KernelEmitter::isContiguous(const LanePart &pointer, uint64_t bytes) const {
  for (unsigned lane = 0; lane < lanes(); ++lane)
    if (pointer.shape.at(lane) != int64_t(lane * bytes))
      return false;
  return true;
}

/// Pointers stand in memory as integers.
Value *KernelEmitter::memoryForm(Value *vector, Type *element) {
  Type *type = builder_.vectorOf(element);
  return vector->getType() == type ? vector : builder_.CreateBitCast(vector, type);
}

// ---- Loads.

static void markInvariant(Value *loaded, bool invariant) {
  if (auto *load = dyn_cast<Instruction>(loaded); load && invariant)
    load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(load->getContext(), {}));
}

void KernelEmitter::emitLoad(LoadInst &load) {
  if (auto grouped = groupOf_.find(&load); grouped != groupOf_.end())
    return emitGroupedLoad(load, *grouped->second.first, grouped->second.second);
  Type *type = load.getType();
  const Value *original = load.getPointerOperand();
  const PrivateLayout *layout = uniformity_.memory().layoutOf(original);
  bool perLane = layout && layout->kind != PrivateLayout::Shared;
  LanePart pointer = part(original);
  bool isInvariant = load.getPointerAddressSpace() == 2;
  if (isMatrixType(type) && perLane) {
    // The lanes' fragments make up the matrix.
    Value *matrix = PoisonValue::get(type);
    Type *element = type->getScalarType();
    uint64_t bytes = layout_.getTypeStoreSize(element);
    Access access{element, 2, bytes, Align(bytes), false};
    LaneMask saved = mask_;
    mask_ = builder_.fullMask();
    auto vectors = loadParts(pointer, access);
    for (unsigned i = 0; i < 2; ++i)
      matrix = withMatrixElement(matrix, vectors[i], i);
    mask_ = saved;
    return defineUniform(load, matrix);
  }
  if (pointer.shape.isUniform() && !perLane) {
    LoadInst *created = builder_.CreateAlignedLoad(type, pointer.scalar, load.getAlign());
    if (MDNode *range = load.getMetadata(LLVMContext::MD_range))
      created->setMetadata(LLVMContext::MD_range, range);
    markInvariant(created, isInvariant);
    return defineUniform(load, created);
  }
  if (isMatrixType(type))
    return unsupported(load, "a matrix at an address that differs between lanes");
  Type *element = type->getScalarType();
  if (element->isPointerTy())
    element = builder_.getInt64Ty();
  uint64_t bytes = layout_.getTypeStoreSize(element);
  if (layout_.getTypeSizeInBits(element) != bytes * 8)
    return emitLaneByLane(load);
  Access access{element, componentsOf(type), bytes, std::min(load.getAlign(), Align(bytes)),
                isInvariant};
  SmallVector<Value *, 4> vectors;
  if (perLane && layout->kind == PrivateLayout::Interleaved) {
    LanePart own = laneAddress(pointer, original);
    Access single = access;
    single.count = 1;
    for (unsigned i = 0; i < access.count; ++i)
      vectors.push_back(loadParts(offsetBy(own, int64_t(i * bytes * lanes())), single)[0]);
  } else {
    vectors = loadParts(pointer, access);
  }
  if (type->isPointerTy()) {
    Value *null = ConstantPointerNull::get(cast<PointerType>(type));
    return define(load, {nullptr, {pointerPart(null, vectors[0])}});
  }
  defineVectors(load, vectors);
}

SmallVector<Value *, 4> KernelEmitter::loadParts(const LanePart &pointer, const Access &access) {
  if (pointer.shape.isPattern() && pointer.shape.wraps()) {
    BasicBlock *straight = newBlock("straight"), *wrapped = newBlock("wrapped");
    BasicBlock *loaded = newBlock("loaded");
    int64_t room = *std::max_element(pointer.shape.wrapSource->begin(),
                                     pointer.shape.wrapSource->end());
    builder_.vector(mask_); // Made here, where both ways can use it.
    Value *fits = builder_.CreateICmpUGE(pointer.distance, builder_.getInt64(uint64_t(room)));
    builder_.CreateCondBr(fits, straight, wrapped, MDBuilder(context_).createLikelyBranchWeights());
    builder_.SetInsertPoint(wrapped);
    auto general = loadParts(pointerPart(pointer.scalar, wideOffsets(pointer)), access);
    BasicBlock *generalEnd = builder_.GetInsertBlock();
    builder_.CreateBr(loaded);
    builder_.SetInsertPoint(straight);
    LanePart plain = pointer;
    plain.shape.wrapSource = nullptr;
    plain.distance = nullptr;
    auto fast = loadParts(plain, access);
    BasicBlock *fastEnd = builder_.GetInsertBlock();
    builder_.CreateBr(loaded);
    builder_.SetInsertPoint(loaded);
    SmallVector<Value *, 4> results;
    for (unsigned i = 0; i < access.count; ++i) {
      PHINode *phi = builder_.CreatePHI(fast[i]->getType(), 2);
      phi->addIncoming(fast[i], fastEnd);
      phi->addIncoming(general[i], generalEnd);
      results.push_back(phi);
    }
    return results;
  }
  if (!pointer.shape.isVarying()) {
    auto results = loadPattern(pointer, access);
    if (!results.empty())
      return results;
  }
  SmallVector<Value *, 4> results;
  for (unsigned i = 0; i < access.count; ++i)
    results.push_back(gather(pointer, access, i));
  return results;
}

SmallVector<Value *, 4> KernelEmitter::loadPattern(const LanePart &pointer, const Access &access) {
  bool full = LaneBuilder::isFull(mask_);
  if (isContiguous(pointer, access.bytes * access.count)) {
    auto *type = FixedVectorType::get(access.element, lanes() * access.count);
    if (full) {
      Value *wide = builder_.CreateAlignedLoad(type, pointer.scalar, access.alignment);
      markInvariant(wide, access.isInvariant);
      return builder_.deinterleave(wide, access.count);
    }
    if (access.bytes >= 4) {
      Value *mask = builder_.vector(mask_);
      if (access.count > 1) {
        SmallVector<int> spread;
        for (unsigned i = 0; i < lanes() * access.count; ++i)
          spread.push_back(int(i / access.count));
        mask = builder_.CreateShuffleVector(mask, spread);
      }
      Value *wide = builder_.CreateMaskedLoad(type, pointer.scalar, access.alignment, mask,
                                              Constant::getNullValue(type));
      return builder_.deinterleave(wide, access.count);
    }
    return {};
  }
  return full ? loadPieces(pointer, access) : SmallVector<Value *, 4>();
}

// Few places that many lanes share: each once.
SmallVector<Value *, 4> KernelEmitter::loadShared(const LanePart &pointer, const Access &access) {
  std::map<int64_t, unsigned> places;
  for (unsigned lane = 0; lane < lanes(); ++lane)
    places.insert({pointer.shape.at(lane), 0});
  unsigned width = builder_.registerElements(access.element);
  if (places.size() > std::min(lanes() / 4, width))
    return {};
  SmallVector<Value *, 4> results;
  for (unsigned i = 0; i < access.count; ++i) {
    Value *vector = PoisonValue::get(FixedVectorType::get(access.element, width));
    unsigned next = 0;
    for (auto &[offset, index] : places) {
      index = next++;
      Value *place = builder_.CreatePtrAdd(
          pointer.scalar, builder_.getInt64(uint64_t(offset + int64_t(i * access.bytes))));
      Value *loaded = builder_.CreateAlignedLoad(access.element, place, access.alignment);
      markInvariant(loaded, access.isInvariant);
      vector = builder_.CreateInsertElement(vector, loaded, index);
    }
    SmallVector<Value *, 8> registers;
    for (unsigned begin = 0; begin < lanes(); begin += width) {
      SmallVector<int> mask;
      for (unsigned lane = begin; lane < begin + width; ++lane)
        mask.push_back(int(places[pointer.shape.at(lane)]));
      registers.push_back(builder_.CreateShuffleVector(vector, mask));
    }
    results.push_back(builder_.concatenate(registers));
  }
  return results;
}

// Each register's worth of lanes by itself: no shuffle has more than two inputs.
SmallVector<Value *, 4> KernelEmitter::loadPieces(const LanePart &pointer, const Access &access) {
  unsigned width = builder_.registerElements(access.element);
  int64_t bytes = int64_t(access.bytes);
  if (auto shared = loadShared(pointer, access); !shared.empty())
    return shared;
  // Would every register be covered by two loads?
  for (unsigned begin = 0; begin < lanes(); begin += width) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (unsigned lane = begin; lane < begin + width; ++lane) {
      low = std::min(low, pointer.shape.at(lane));
      high = std::max(high, pointer.shape.at(lane));
    }
    if ((high - low) / bytes + 1 > 2 * int64_t(width))
      return {};
    for (unsigned lane = begin; lane < begin + width; ++lane)
      if ((pointer.shape.at(lane) - low) % bytes)
        return {};
  }
  SmallVector<Value *, 4> results;
  for (unsigned component = 0; component < access.count; ++component) {
    SmallVector<Value *, 8> registers;
    for (unsigned begin = 0; begin < lanes(); begin += width) {
      int64_t low = INT64_MAX, high = INT64_MIN;
      for (unsigned lane = begin; lane < begin + width; ++lane) {
        low = std::min(low, pointer.shape.at(lane));
        high = std::max(high, pointer.shape.at(lane));
      }
      unsigned span = unsigned((high - low) / bytes) + 1;
      unsigned each = std::min(span, width);
      auto load = [&](int64_t offset) {
        Value *place = builder_.CreatePtrAdd(
            pointer.scalar, builder_.getInt64(uint64_t(offset + int64_t(component) * bytes)));
        Value *loaded = builder_.CreateAlignedLoad(FixedVectorType::get(access.element, each),
                                                   place, access.alignment);
        markInvariant(loaded, access.isInvariant);
        return loaded;
      };
      Value *first = load(low);
      Value *second = span > width ? load(low + int64_t(span - width) * bytes) : first;
      SmallVector<int> mask;
      for (unsigned lane = begin; lane < begin + width; ++lane) {
        int place = int((pointer.shape.at(lane) - low) / bytes);
        mask.push_back(place < int(each) ? place : int(each) + place - int(span - width));
      }
      registers.push_back(builder_.CreateShuffleVector(first, second, mask));
    }
    results.push_back(builder_.concatenate(registers));
  }
  return results;
}

Value *KernelEmitter::gather(const LanePart &pointer, const Access &access, unsigned component) {
  if (access.bytes < 4)
    return gatherSmall(pointer, access, component);
  Value *base = builder_.CreatePtrAdd(pointer.scalar,
                                      builder_.getInt64(component * access.bytes));
  Type *wide = builder_.vectorOf(builder_.getInt64Ty());
  Value *addresses;
  if (pointer.vector)
    addresses = builder_.CreateGEP(builder_.getIntNTy(8 * pointer.scale), base,
                                   builder_.CreateSExt(pointer.vector, wide));
  else
    addresses = builder_.CreateGEP(builder_.getInt8Ty(), base, wideOffsets(pointer));
  auto *type = builder_.vectorOf(access.element);
  return builder_.CreateMaskedGather(type, addresses, access.alignment, builder_.vector(mask_),
                                     Constant::getNullValue(type));
}

Value *KernelEmitter::gatherSmall(const LanePart &pointer, const Access &access,
                                  unsigned component) {
  if (access.alignment.value() < access.bytes) {
    // It may straddle two words: byte by byte.
    Access byte{builder_.getInt8Ty(), 1, 1, Align(1), access.isInvariant};
    Type *wide = builder_.vectorOf(builder_.getIntNTy(unsigned(access.bytes * 8)));
    Value *combined = nullptr;
    for (uint64_t i = 0; i < access.bytes; ++i) {
      Value *part = builder_.CreateZExt(
          gatherSmall(offsetBy(pointer, int64_t(component * access.bytes + i)), byte, 0), wide);
      part = builder_.CreateShl(part, 8 * i);
      combined = combined ? builder_.CreateOr(combined, part) : part;
    }
    return builder_.CreateBitCast(combined, builder_.vectorOf(access.element));
  }
  Type *i64 = builder_.getInt64Ty(), *i32 = builder_.getInt32Ty();
  Value *base = builder_.CreatePtrToInt(pointer.scalar, i64);
  base = builder_.CreateAdd(base, builder_.getInt64(component * access.bytes));
  Value *low = builder_.CreateAnd(base, builder_.getInt64(3));
  Value *aligned =
      builder_.CreatePtrAdd(pointer.scalar,
                            builder_.CreateSub(builder_.getInt64(component * access.bytes), low));
  // 32-bit offsets stay so when a literal pattern is known to be small.
  bool narrow = !pointer.vector && !pointer.shape.wraps() && pointer.shape.minimum() > -(1 << 30) &&
                pointer.shape.maximum() < (1 << 30);
  Type *type = narrow ? i32 : i64;
  Value *offsets = narrow ? builder_.patternVector(pointer.shape.pattern, i32) : wideOffsets(pointer);
  offsets = builder_.CreateAdd(offsets, builder_.splat(builder_.CreateZExtOrTrunc(low, type)));
  Value *words = builder_.CreateAnd(
      offsets, builder_.splat(ConstantInt::get(type, uint64_t(-4), true, true)));
  Value *shift = builder_.CreateAnd(builder_.CreateTrunc(offsets, builder_.vectorOf(i32)),
                                    builder_.splat(builder_.getInt32(3)));
  shift = builder_.CreateShl(shift, 3);
  Value *addresses = builder_.CreateGEP(
      builder_.getInt8Ty(), aligned, builder_.CreateSExt(words, builder_.vectorOf(i64)));
  Value *word = builder_.CreateMaskedGather(builder_.vectorOf(i32), addresses, Align(4),
                                            builder_.vector(mask_),
                                            Constant::getNullValue(builder_.vectorOf(i32)));
  Type *element = builder_.getIntNTy(unsigned(access.bytes * 8));
  Value *value = builder_.CreateTrunc(builder_.CreateLShr(word, shift), builder_.vectorOf(element));
  return builder_.CreateBitCast(value, builder_.vectorOf(access.element));
}

// ---- Stores.

void KernelEmitter::emitStore(StoreInst &store) {
  Value *valueOperand = store.getValueOperand();
  Type *type = valueOperand->getType();
  const Value *original = store.getPointerOperand();
  const PrivateLayout *layout = uniformity_.memory().layoutOf(original);
  bool perLane = layout && layout->kind != PrivateLayout::Shared;
  LanePart pointer = part(original);
  LaneValue value = get(valueOperand);
  if (isMatrixType(type) && perLane) {
    Type *element = type->getScalarType();
    uint64_t bytes = layout_.getTypeStoreSize(element);
    Access access{element, 2, bytes, Align(bytes), false};
    return storeParts(pointer, access,
                      {matrixElement(value.whole, 0), matrixElement(value.whole, 1)});
  }
  if (pointer.shape.isUniform() && !perLane && value.whole) {
    builder_.CreateAlignedStore(value.whole, pointer.scalar, store.getAlign());
    return;
  }
  if (isMatrixType(type))
    return unsupported(store, "a matrix at an address that differs between lanes");
  Type *element = type->getScalarType();
  bool isPointer = element->isPointerTy();
  if (isPointer)
    element = builder_.getInt64Ty();
  uint64_t bytes = layout_.getTypeStoreSize(element);
  if (layout_.getTypeSizeInBits(element) != bytes * 8)
    return emitLaneByLane(store);
  Access access{element, componentsOf(type), bytes, std::min(store.getAlign(), Align(bytes)),
                false};
  SmallVector<Value *, 4> vectors;
  for (unsigned i = 0; i < access.count; ++i) {
    LanePart component = part(value, i);
    vectors.push_back(isPointer ? fullAddresses(component) : vectorOf(component));
  }
  if (perLane && layout->kind == PrivateLayout::Interleaved) {
    LanePart own = laneAddress(pointer, original);
    Access single = access;
    single.count = 1;
    for (unsigned i = 0; i < access.count; ++i)
      storeParts(offsetBy(own, int64_t(i * bytes * lanes())), single, {vectors[i]});
    return;
  }
  if (pointer.shape.isUniform()) {
    Value *lane = LaneBuilder::isFull(mask_) ? builder_.getInt32(lanes() - 1)
                                             : builder_.highestLane(builder_.bits(mask_));
    for (unsigned i = 0; i < access.count; ++i)
      builder_.CreateAlignedStore(
          builder_.CreateExtractElement(vectors[i], lane),
          builder_.CreatePtrAdd(pointer.scalar, builder_.getInt64(i * bytes)), access.alignment);
    return;
  }
  storeParts(pointer, access, vectors);
}

void KernelEmitter::storeParts(const LanePart &pointer, const Access &access,
                               ArrayRef<Value *> values) {
  if (pointer.shape.isPattern() && pointer.shape.wraps()) {
    BasicBlock *straight = newBlock("straight"), *wrapped = newBlock("wrapped");
    BasicBlock *stored = newBlock("stored");
    int64_t room = *std::max_element(pointer.shape.wrapSource->begin(),
                                     pointer.shape.wrapSource->end());
    builder_.vector(mask_); // Made here, where both ways can use it.
    Value *fits = builder_.CreateICmpUGE(pointer.distance, builder_.getInt64(uint64_t(room)));
    builder_.CreateCondBr(fits, straight, wrapped, MDBuilder(context_).createLikelyBranchWeights());
    builder_.SetInsertPoint(wrapped);
    LaneMask saved = mask_;
    mask_.bits = builder_.bits(mask_);
    forEachLane(mask_.bits, [&, offsets = spill(wideOffsets(pointer))](Value *lane) {
      Value *offset = elementAt(offsets, builder_.getInt64Ty(), lane);
      for (unsigned i = 0; i < access.count; ++i)
        builder_.CreateAlignedStore(
            builder_.CreateExtractElement(values[i], lane),
            builder_.CreatePtrAdd(pointer.scalar,
                                  builder_.CreateAdd(offset, builder_.getInt64(i * access.bytes))),
            access.alignment);
    });
    mask_ = saved;
    builder_.CreateBr(stored);
    builder_.SetInsertPoint(straight);
    LanePart plain = pointer;
    plain.shape.wrapSource = nullptr;
    plain.distance = nullptr;
    storeParts(plain, access, values);
    builder_.CreateBr(stored);
    builder_.SetInsertPoint(stored);
    return;
  }
  if (pointer.shape.isVarying() || !storePattern(pointer, access, values))
    scatter(pointer, access, values);
}

bool KernelEmitter::storePattern(const LanePart &pointer, const Access &access,
                                 ArrayRef<Value *> values) {
  bool full = LaneBuilder::isFull(mask_);
  if (isContiguous(pointer, access.bytes * access.count)) {
    if (!full && access.bytes < 4)
      return false;
    Value *wide = builder_.interleave(values);
    if (full) {
      builder_.CreateAlignedStore(wide, pointer.scalar, access.alignment);
      return true;
    }
    Value *mask = builder_.vector(mask_);
    if (access.count > 1) {
      SmallVector<int> spread;
      for (unsigned i = 0; i < lanes() * access.count; ++i)
        spread.push_back(int(i / access.count));
      mask = builder_.CreateShuffleVector(mask, spread);
    }
    builder_.CreateMaskedStore(wide, pointer.scalar, access.alignment, mask);
    return true;
  }
  if (!full)
    return storeFewLanes(pointer, access, values);
  // Constant places: runs of neighbours, else one store a lane, of all its components.
  Value *wide = builder_.interleave(values);
  if (storeRuns(pointer, access, wide))
    return true;
  Value *records = asRecords(wide, access);
  for (unsigned lane = 0; lane < lanes(); ++lane) {
    Value *place = builder_.CreatePtrAdd(pointer.scalar,
                                         builder_.getInt64(uint64_t(pointer.shape.at(lane))));
    Value *own = records ? builder_.CreateExtractElement(records, lane)
                         : builder_.slice(wide, lane * access.count, access.count);
    builder_.CreateAlignedStore(own, place, access.alignment);
  }
  return true;
}

/// Where a literal condition leaves few lanes, or one run of lanes at neighbouring places, of which the
/// mask takes some or all. A lane that it leaves out stores to a place of its own.
bool KernelEmitter::storeFewLanes(const LanePart &pointer, const Access &access,
                                  ArrayRef<Value *> values) {
  constexpr unsigned kFew = 8;
  const APInt &reachable = reachableLanes_.find(block_)->second;
  unsigned count = reachable.popcount();
  if (count == 0 || count == lanes())
    return false;
  if (count <= kFew) {
    Value *bits = builder_.bits(mask_);
    for (unsigned lane = 0; lane < lanes(); ++lane) {
      if (!reachable[lane])
        continue;
      Value *isLive = builder_.CreateTrunc(builder_.CreateLShr(bits, lane), builder_.getInt1Ty());
      for (unsigned i = 0; i < access.count; ++i) {
        Value *place = builder_.CreatePtrAdd(
            pointer.scalar,
            builder_.getInt64(uint64_t(pointer.shape.at(lane)) + i * access.bytes));
        Value *nowhere = builder_.CreateAddrSpaceCast(stack(access.element, "unused"),
                                                      place->getType());
        builder_.CreateAlignedStore(builder_.CreateExtractElement(values[i], lane),
                                    builder_.CreateSelect(isLive, place, nowhere), access.alignment);
      }
    }
    return true;
  }
  unsigned first = reachable.countr_zero();
  if (access.count != 1 || access.bytes < 4 || !isPowerOf2_32(count) ||
      !reachable.lshr(first).isMask(count))
    return false;
  for (unsigned i = 1; i < count; ++i)
    if (pointer.shape.at(first + i) != pointer.shape.at(first) + int64_t(i * access.bytes))
      return false;
  builder_.CreateMaskedStore(
      builder_.slice(values[0], first, count),
      builder_.CreatePtrAdd(pointer.scalar, builder_.getInt64(uint64_t(pointer.shape.at(first)))),
      access.alignment, builder_.slice(builder_.vector(mask_), first, count));
  return true;
}

/// The interleaved components of the lanes as one integer a lane, which costs less to take out than a
/// short vector; null when they are not of such a size.
Value *KernelEmitter::asRecords(Value *wide, const Access &access) {
  uint64_t bytes = access.bytes * access.count;
  if (access.count == 1)
    return wide;
  if (bytes > 8 || !isPowerOf2_64(bytes))
    return nullptr;
  return builder_.CreateBitCast(wide, builder_.vectorOf(builder_.getIntNTy(unsigned(bytes * 8))));
}

/// Puts the elements into the order of their places, register by register, and stores each run of
/// neighbours at once. False when there are too few neighbours, or more than two registers to sort.
bool KernelEmitter::storeRuns(const LanePart &pointer, const Access &access, Value *wide) {
  unsigned count = access.count, total = lanes() * count;
  if (total * access.bytes > 2 * options_.registerBytes)
    return false;
  std::map<int64_t, int> elements; // Of two lanes at one place the higher wins.
  for (unsigned lane = 0; lane < lanes(); ++lane)
    for (unsigned i = 0; i < count; ++i)
      elements[pointer.shape.at(lane) + int64_t(i * access.bytes)] = int(lane * count + i);
  struct Run {
    int64_t offset;
    SmallVector<int> sources;
  };
  std::vector<Run> runs;
  unsigned most = builder_.registerElements(wide->getType()->getScalarType());
  int64_t end = INT64_MIN;
  for (auto [offset, source] : elements) {
    if (offset < end)
      return false; // Overlapping places depend on the order of the lanes.
    end = offset + int64_t(access.bytes);
    bool isNext = !runs.empty() && runs.back().sources.size() < most &&
                  runs.back().offset + int64_t(runs.back().sources.size() * access.bytes) == offset;
    if (!isNext)
      runs.push_back({offset, {}});
    runs.back().sources.push_back(source);
  }
  if (runs.size() * 2 > lanes())
    return false;
  if (any_of(runs, [](const Run &run) { return !isPowerOf2_64(run.sources.size()); }))
    return false;
  SmallVector<int> order;
  for (const Run &run : runs)
    order.append(run.sources.begin(), run.sources.end());
  Value *sorted = builder_.CreateShuffleVector(wide, order);
  unsigned begin = 0;
  for (const Run &run : runs) {
    builder_.CreateAlignedStore(
        builder_.slice(sorted, begin, run.sources.size()),
        builder_.CreatePtrAdd(pointer.scalar, builder_.getInt64(uint64_t(run.offset))),
        access.alignment);
    begin += run.sources.size();
  }
  return true;
}

// The lanes store in their order, so that the highest one wins, as it must. AVX-512 has that as an
// instruction, for four and eight bytes.
void KernelEmitter::scatter(const LanePart &pointer, const Access &access,
                            ArrayRef<Value *> values) {
  Value *offsets = wideOffsets(pointer);
  if (options_.registerBytes >= 64 && (access.bytes == 4 || access.bytes == 8)) {
    for (unsigned i = 0; i < access.count; ++i) {
      Value *base = builder_.CreatePtrAdd(pointer.scalar, builder_.getInt64(i * access.bytes));
      builder_.CreateMaskedScatter(memoryForm(values[i], access.element),
                                   builder_.CreateGEP(builder_.getInt8Ty(), base, offsets),
                                   access.alignment, builder_.vector(mask_));
    }
    return;
  }
  if (LaneBuilder::isFull(mask_) && lanes() == 32) {
    Value *records = access.count > 1 ? asRecords(builder_.interleave(values), access) : nullptr;
    for (unsigned lane = 0; lane < lanes(); ++lane) {
      Value *place =
          builder_.CreatePtrAdd(pointer.scalar, builder_.CreateExtractElement(offsets, lane));
      if (records) {
        builder_.CreateAlignedStore(builder_.CreateExtractElement(records, lane), place,
                                    access.alignment);
        continue;
      }
      for (unsigned i = 0; i < access.count; ++i)
        builder_.CreateAlignedStore(
            builder_.CreateExtractElement(values[i], lane),
            builder_.CreatePtrAdd(place, builder_.getInt64(i * access.bytes)), access.alignment);
    }
    return;
  }
  SmallVector<Value *, 4> spilled;
  for (Value *value : values)
    spilled.push_back(spill(memoryForm(value, access.element)));
  Value *spilledOffsets = spill(offsets);
  forEachLane(builder_.bits(mask_), [&](Value *lane) {
    Value *place = builder_.CreatePtrAdd(
        pointer.scalar, elementAt(spilledOffsets, builder_.getInt64Ty(), lane));
    for (unsigned i = 0; i < access.count; ++i)
      builder_.CreateAlignedStore(elementAt(spilled[i], access.element, lane),
                                  builder_.CreatePtrAdd(place, builder_.getInt64(i * access.bytes)),
                                  access.alignment);
  });
}

// Every line from the lowest to the highest lane's address, once in a block. Only where all lanes run:
// the rest is not worth the instructions.
void KernelEmitter::emitPrefetch(CallInst &call) {
  constexpr int64_t kLine = 64, kMostLines = 24;
  // insertPrefetches adds the distance last, to the address of the load.
  auto *address = cast<GetElementPtrInst>(call.getArgOperand(0));
  LanePart pointer = part(address->getPointerOperand());
  if (!LaneBuilder::isFull(mask_) || pointer.shape.isVarying() ||
      !uniformity_.isUniform(address->getOperand(1)))
    return;
  Value *distance = uniform(address->getOperand(1));
  int64_t low = pointer.shape.isUniform() ? 0 : pointer.shape.minimum();
  int64_t high = pointer.shape.isUniform() ? 0 : pointer.shape.maximum();
  if (high - low >= kMostLines * kLine)
    return;
  APInt constant(64, 0);
  Value *base = pointer.scalar->stripAndAccumulateConstantOffsets(layout_, constant,
                                                                  /*AllowNonInbounds=*/true);
  int64_t start = constant.getSExtValue();
  auto &lines = prefetched_[{base, distance}];
  for (int64_t offset = start + low; offset <= start + high;) {
    auto covering = llvm::find_if(
        lines, [&](int64_t line) { return line <= offset && offset < line + kLine; });
    if (covering != lines.end()) {
      offset = *covering + kLine;
      continue;
    }
    lines.push_back(offset);
    Value *place = builder_.CreatePtrAdd(builder_.CreatePtrAdd(base, distance),
                                         builder_.getInt64(uint64_t(offset)));
    if (products_ == 0)
      prefetch(place);
    else
      waitingPrefetches_.push_back(place);
    offset += kLine;
  }
}

void KernelEmitter::prefetch(Value *place) {
  builder_.CreateIntrinsic(Intrinsic::prefetch, {place->getType()},
                           {place, builder_.getInt32(0), builder_.getInt32(3), builder_.getInt32(1)});
}

void KernelEmitter::emitMemoryIntrinsic(CallInst &call) {
  emitLaneByLane(call);
}

} // namespace pewter::cpu::codegen
