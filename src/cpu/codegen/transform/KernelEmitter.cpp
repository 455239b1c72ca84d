// SPDX-License-Identifier: Apache-2.0
//
// Values and slots of the emitter. Tested through tests/kernels.
#include "cpu/codegen/transform/KernelEmitter.h"
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

using namespace llvm;

namespace pewter::cpu::codegen {

KernelEmitter::KernelEmitter(const Uniformity &uniformity, const ThreadgroupLayout &threadgroup,
                             Function &target, const EmitterOptions &options)
    : uniformity_(uniformity), threadgroup_(threadgroup), target_(target), options_(options),
      layout_(uniformity.function().getDataLayout()), context_(target.getContext()),
      builder_(context_, uniformity.model().lanes, options.registerBytes) {}

AllocaInst *KernelEmitter::stack(Type *type, const Twine &name) {
  IRBuilder<> entry(&target_.getEntryBlock(), target_.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  AllocaInst *memory = entry.CreateAlloca(type, nullptr, name);
  Align wide(options_.registerBytes >= 64 && layout_.getTypeAllocSize(type) >= 64 ? 64 : 32);
  if (memory->getAlign() < wide && layout_.getTypeAllocSize(type) >= 32)
    memory->setAlignment(wide);
  return memory;
}

LaneValue KernelEmitter::constantValue(const Constant *constant) {
  auto *value = const_cast<Constant *>(constant);
  if (value->getType()->isPointerTy() && value->getType()->getPointerAddressSpace() == 3) {
    APInt offset(64, 0);
    const Value *base =
        value->stripAndAccumulateConstantOffsets(layout_, offset, /*AllowNonInbounds=*/true);
    if (auto *variable = dyn_cast<GlobalVariable>(base)) {
      uint64_t place = threadgroup_.offsets.lookup(variable) + offset.getZExtValue();
      Value *pointer =
          builder_.CreatePtrAdd(launch_->threadgroupMemory, builder_.getInt64(place));
      return {pointer, {}};
    }
  }
  return {value, {}};
}

void KernelEmitter::failAt(StringRef what, const Value &value) {
  std::string text;
  raw_string_ostream(text) << "vectoriser: " << what << ": " << value;
  report_fatal_error(Twine(text));
}

LaneValue KernelEmitter::get(const Value *value) {
  if (auto *constant = dyn_cast<Constant>(value))
    return constantValue(constant);
  auto argument = arguments_.find(value);
  if (argument != arguments_.end())
    return argument->second;
  auto known = current_.find(value);
  if (known != current_.end())
    return known->second;
  auto slot = slots_.find(value);
  if (slot == slots_.end())
    failAt("use before definition", *value);
  LaneValue loaded = loadSlot(slot->second);
  current_[value] = loaded;
  return loaded;
}

LaneValue KernelEmitter::loadSlot(const Slot &slot) {
  LaneValue value = slot.prototype;
  unsigned next = 0;
  auto load = [&](Value *&member) {
    if (member) {
      AllocaInst *memory = slot.memory[next++];
      Type *type = memory->getAllocatedType();
      member = builder_.CreateLoad(type, memory);
      if (type->isIntegerTy(lanes()) && slot.bits == memory)
        member = builder_.vectorOfBits(member);
    }
  };
  if (value.whole && isMatrixType(value.whole->getType())) {
    Pieces pieces;
    if (slot.staysInMemory)
      pieces = loadMatrix(matrixIn(slot));
    else
      for (AllocaInst *memory : slot.memory)
        pieces.push_back(builder_.CreateLoad(memory->getAllocatedType(), memory));
    value.whole = matrixOf(pieces);
    return value;
  }
  load(value.whole);
  for (LanePart &part : value.parts) {
    load(part.scalar);
    load(part.vector);
    load(part.distance);
  }
  return value;
}

void KernelEmitter::storeSlot(Slot &slot, const LaneValue &value) {
  unsigned next = 0;
  auto store = [&](Value *member) {
    if (!member)
      return;
    AllocaInst *memory = slot.memory[next++];
    if (slot.bits == memory)
      member = builder_.bitsOf(member);
    builder_.CreateStore(member, memory);
  };
  if (value.whole && isMatrixType(value.whole->getType())) {
    if (slot.staysInMemory)
      return storeMatrix(matrixIn(slot), piecesOf(value.whole));
    for (Value *piece : piecesOf(value.whole))
      builder_.CreateStore(piece, slot.memory[next++]);
    return;
  }
  store(value.whole);
  for (const LanePart &part : value.parts) {
    store(part.scalar);
    store(part.vector);
    store(part.distance);
  }
}

void KernelEmitter::poisonSlot(const Slot &slot) {
  if (slot.staysInMemory)
    return;
  for (AllocaInst *memory : slot.memory)
    builder_.CreateStore(PoisonValue::get(memory->getAllocatedType()), memory);
}

KernelEmitter::Slot &KernelEmitter::slotFor(const Value *value, const LaneValue &prototype) {
  auto known = slots_.find(value);
  if (known != slots_.end())
    return known->second;
  Slot slot;
  slot.prototype = prototype;
  auto reserve = [&](Value *member) {
    if (!member)
      return;
    bool isMask = prototype.parts.size() == 1 && member->getType() == builder_.maskType();
    slot.memory.push_back(stack(isMask ? builder_.bitsType() : member->getType()));
    if (isMask)
      slot.bits = slot.memory.back();
  };
  if (prototype.whole && isMatrixType(prototype.whole->getType())) {
    Type *element = prototype.whole->getType()->getScalarType();
    slot.staysInMemory = matricesStayInMemory_;
    if (auto pair = pairedSums_.find(value); pair != pairedSums_.end()) {
      auto [first, index] = pair->second;
      AllocaInst *&memory = pairMemory_[first];
      if (!memory)
        memory = stack(ArrayType::get(element, 128));
      slot.memory.push_back(memory);
      slot.inPair = index;
    } else if (slot.staysInMemory)
      slot.memory.push_back(stack(ArrayType::get(element, 64)));
    else
      for (unsigned row = 0; row < 8; row += rowsPerPiece())
        slot.memory.push_back(stack(FixedVectorType::get(element, rowsPerPiece() * 8)));
  } else {
    reserve(prototype.whole);
  }
  for (const LanePart &part : prototype.parts) {
    reserve(part.scalar);
    reserve(part.vector);
    reserve(part.distance);
  }
  if (auto *instruction = dyn_cast<Instruction>(value); instruction && !isa<PHINode>(value))
    definedIn_[instruction->getParent()].push_back(value);
  return slots_.insert({value, std::move(slot)}).first->second;
}

void KernelEmitter::declarePhi(const PHINode &phi) {
  const ValueShape &shapes = uniformity_.shapeOf(&phi);
  Type *type = phi.getType();
  LaneValue prototype;
  if (allUniform(shapes)) {
    prototype.whole = PoisonValue::get(type);
  } else {
    Type *element = isMatrixType(type) ? type : type->getScalarType();
    for (const Shape &shape : shapes) {
      LanePart part;
      part.shape = shape;
      if (!shape.isVarying() || element->isPointerTy())
        part.scalar = PoisonValue::get(element);
      if (shape.isVarying())
        part.vector = PoisonValue::get(
            builder_.vectorOf(element->isPointerTy() ? builder_.getInt64Ty() : element));
      if (shape.wraps())
        part.distance = PoisonValue::get(builder_.getInt64Ty());
      prototype.parts.push_back(part);
    }
  }
  slotFor(&phi, prototype);
}

bool KernelEmitter::needsSlot(const Instruction &instruction) const {
  for (const Use &use : instruction.uses()) {
    auto *user = cast<Instruction>(use.getUser());
    const BasicBlock *where = user->getParent();
    if (auto *phi = dyn_cast<PHINode>(user))
      where = phi->getIncomingBlock(use);
    if (where != instruction.getParent())
      return true;
  }
  return false;
}

void KernelEmitter::define(const Instruction &instruction, LaneValue value) {
  if (needsSlot(instruction))
    storeSlot(slotFor(&instruction, value), value);
  current_[&instruction] = std::move(value);
}

void KernelEmitter::defineUniform(const Instruction &instruction, Value *whole) {
  define(instruction, {whole, {}});
}

void KernelEmitter::defineVectors(const Instruction &instruction, ArrayRef<Value *> vectors) {
  const ValueShape &shapes = uniformity_.shapeOf(&instruction);
  LaneValue value;
  for (unsigned i = 0; i < vectors.size(); ++i) {
    LanePart part;
    part.shape = Shape::varying();
    part.vector = vectors[i];
    // Among varying components there may be better ones; they are held as the analysis says.
    if (i < shapes.size() && !shapes[i].isVarying() && !shapes[i].wraps()) {
      part.shape = shapes[i];
      part.vector = nullptr;
      part.scalar = shapes[i].constant
                        ? ConstantInt::get(instruction.getType()->getScalarType(),
                                           uint64_t(shapes[i].base), true, true)
                        : builder_.CreateExtractElement(vectors[i], uint64_t(0));
    }
    value.parts.push_back(part);
  }
  define(instruction, std::move(value));
}

Value *KernelEmitter::uniform(const Value *value) {
  LaneValue held = get(value);
  if (held.whole)
    return held.whole;
  failAt("varying value where a uniform one is needed", *value);
}

LanePart KernelEmitter::part(const LaneValue &value, unsigned index) {
  if (!value.whole)
    return value.parts[index];
  LanePart part;
  part.shape = Shape::uniform();
  part.scalar = value.whole;
  if (value.whole->getType()->isVectorTy() && !isMatrixType(value.whole->getType()))
    part.scalar = builder_.CreateExtractElement(value.whole, index);
  return part;
}

Value *KernelEmitter::wrapMask(const LanePart &part) {
  Value *source = builder_.patternVector(part.shape.wrapSource, builder_.getInt64Ty());
  return builder_.CreateICmpSGT(source, builder_.splat(part.distance));
}

// The value of each lane as a vector; of pointers see address().
Value *KernelEmitter::vectorOf(const LanePart &part) {
  if (part.vector)
    return part.vector;
  Type *element = part.scalar->getType();
  if (part.shape.isUniform())
    return builder_.splat(part.scalar);
  if (part.shape.constant)
    return builder_.patternVector(part.shape.pattern, element, part.shape.base);
  Value *result = builder_.CreateAdd(builder_.splat(part.scalar),
                                     builder_.patternVector(part.shape.pattern, element));
  if (part.shape.wraps()) {
    Value *correction = builder_.CreateSelect(
        wrapMask(part), builder_.patternVector(nullptr, element, part.shape.wrapAmount),
        Constant::getNullValue(result->getType()));
    result = builder_.CreateSub(result, correction);
  }
  return result;
}

Value *KernelEmitter::wideOffsets(const LanePart &part) {
  Type *wide = builder_.vectorOf(builder_.getInt64Ty());
  if (part.vector) {
    Value *offsets = builder_.CreateSExt(part.vector, wide);
    return part.scale == 1
               ? offsets
               : builder_.CreateMul(offsets, builder_.splat(builder_.getInt64(part.scale)));
  }
  Value *offsets = builder_.patternVector(part.shape.pattern, builder_.getInt64Ty());
  if (part.shape.wraps())
    offsets = builder_.CreateSub(
        offsets, builder_.CreateSelect(wrapMask(part),
                                       builder_.splat(builder_.getInt64(part.shape.wrapAmount)),
                                       Constant::getNullValue(wide)));
  return offsets;
}

std::pair<Value *, Value *> KernelEmitter::address(const LanePart &part) {
  return {part.scalar, wideOffsets(part)};
}

Value *KernelEmitter::fullAddresses(const LanePart &part) {
  Value *base = builder_.CreatePtrToInt(part.scalar, builder_.getInt64Ty());
  if (part.shape.isUniform())
    return builder_.splat(base);
  return builder_.CreateAdd(builder_.splat(base), wideOffsets(part));
}

LanePart KernelEmitter::pointerPart(Value *base, Value *offsets, unsigned scale) {
  LanePart part;
  part.shape = Shape::varying();
  part.scalar = base;
  part.vector = offsets;
  part.scale = scale;
  return part;
}

void KernelEmitter::unsupported(const Instruction &instruction, StringRef what) {
  if (error_)
    return;
  std::string text;
  raw_string_ostream(text) << instruction;
  error_ = Error(ErrorKind::Unsupported,
                 fmt::format("Kernel \"{}\" needs {}, which the CPU device does not have:{}.",
                             uniformity_.function().getName().str(), what.str(), text));
}

} // namespace pewter::cpu::codegen
