// SPDX-License-Identifier: Apache-2.0
//
// Allocas are joined in a union-find structure wherever one pointer may be either; the group's unit
// is the one element size that all its accesses have, and 0 as soon as two differ, an access may be
// misaligned to it, or an address escapes. Tested by Uniformity_test.cpp.
#include "cpu/codegen/analysis/PrivateMemory.h"
#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

using namespace llvm;

namespace pewter::cpu::codegen {

PrivateMemory::PrivateMemory(Function &function) {
  for (Instruction &instruction : instructions(function))
    if (auto *alloca = dyn_cast<AllocaInst>(&instruction))
      parent_[alloca] = alloca;
  if (!parent_.empty())
    collect(function);
}

const AllocaInst *PrivateMemory::find(const AllocaInst *alloca) const {
  while (true) {
    const AllocaInst *parent = parent_.lookup(alloca);
    if (!parent || parent == alloca)
      return alloca;
    alloca = parent;
  }
}

const AllocaInst *PrivateMemory::leaderOf(const Value *pointer) const {
  if (!pointer->getType()->isPointerTy() || pointer->getType()->getPointerAddressSpace() != 0 ||
      parent_.empty())
    return nullptr;
  auto known = leaders_.find(pointer);
  if (known != leaders_.end())
    return known->second ? find(known->second) : nullptr;
  SmallVector<const Value *, 4> objects;
  getUnderlyingObjects(pointer, objects, nullptr, 0);
  const AllocaInst *leader = nullptr;
  for (const Value *object : objects)
    if (auto *alloca = dyn_cast<AllocaInst>(object))
      leader = alloca;
  leaders_[pointer] = leader;
  return leader ? find(leader) : nullptr;
}

bool isMatrixType(const Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector && vector->getNumElements() == 64;
}

namespace {
/// Makes a group unfit for interleaving.
constexpr uint64_t kMixed = ~uint64_t(0);
} // namespace

void PrivateMemory::collect(Function &function) {
  const DataLayout &layout = function.getDataLayout();
  DenseMap<const AllocaInst *, uint64_t> units;
  DenseSet<const AllocaInst *> escaped, matrices, elements;
  // Which allocas does a pointer reach, and does it reach anything else?
  auto join = [&](const Value *pointer) {
    SmallVector<const Value *, 4> objects;
    getUnderlyingObjects(pointer, objects, nullptr, 0);
    const AllocaInst *first = nullptr;
    bool others = false;
    for (const Value *object : objects) {
      auto *alloca = dyn_cast<AllocaInst>(object);
      if (!alloca) {
        others |= !isa<UndefValue>(object);
        continue;
      }
      if (first)
        parent_[find(alloca)] = find(first);
      else
        first = alloca;
    }
    if (first && others)
      units[first] = kMixed;
  };
  auto isPrivate = [](const Value *value) {
    return value->getType()->isPointerTy() && value->getType()->getPointerAddressSpace() == 0;
  };
  for (Instruction &instruction : instructions(function)) {
    if (isPrivate(&instruction))
      join(&instruction);
    for (Value *operand : instruction.operands()) {
      if (!isPrivate(operand))
        continue;
      uint64_t unit = kMixed;
      Type *type = nullptr;
      uint64_t alignment = 0;
      if (auto *load = dyn_cast<LoadInst>(&instruction)) {
        type = load->getType();
        alignment = load->getAlign().value();
      } else if (auto *store = dyn_cast<StoreInst>(&instruction);
                 store && operand == store->getPointerOperand()) {
        type = store->getValueOperand()->getType();
        alignment = store->getAlign().value();
      } else if (isa<GetElementPtrInst, PHINode, SelectInst, FreezeInst>(&instruction) ||
                 instruction.isLifetimeStartOrEnd()) {
        continue;
      } else if (auto *compare = dyn_cast<ICmpInst>(&instruction);
                 compare && (isa<ConstantPointerNull>(compare->getOperand(0)) ||
                             isa<ConstantPointerNull>(compare->getOperand(1)))) {
        continue;
      }
      if (type) {
        uint64_t size = layout.getTypeStoreSize(type->getScalarType()).getFixedValue();
        bool whole = layout.getTypeSizeInBits(type->getScalarType()) == size * 8;
        if (whole && isPowerOf2_64(size) && alignment >= size)
          unit = size;
      }
      SmallVector<const Value *, 4> objects;
      getUnderlyingObjects(operand, objects, nullptr, 0);
      for (const Value *object : objects)
        if (auto *alloca = dyn_cast<AllocaInst>(object)) {
          if (!type)
            escaped.insert(alloca);
          else
            (isMatrixType(type) ? matrices : elements).insert(alloca);
          uint64_t &known = units[alloca];
          known = known == 0 || known == unit ? unit : kMixed;
        }
    }
  }
  for (auto &[alloca, parent] : parent_) {
    PrivateLayout &group = layouts_[find(alloca)];
    uint64_t unit = units.lookup(alloca);
    if (unit != 0 && group.unit == 0)
      group.unit = unit;
    else if (unit != 0 && group.unit != unit)
      group.unit = kMixed;
    uint64_t size = layout.getTypeAllocSize(alloca->getAllocatedType()).getFixedValue();
    group.stride = std::max(group.stride, alignTo(size, 16));
    group.stride = std::max(group.stride, alignTo(size, alloca->getAlign().value()));
  }
  // An address that went to memory comes back as a plain pointer, which must be right as it is. A
  // matrix that is also read by elements is seen as the fragments of its lanes.
  DenseSet<const AllocaInst *> matrixGroups, elementGroups;
  for (const AllocaInst *alloca : matrices)
    matrixGroups.insert(find(alloca));
  for (const AllocaInst *alloca : elements)
    elementGroups.insert(find(alloca));
  for (auto &[leader, group] : layouts_)
    if (matrixGroups.contains(leader) && elementGroups.contains(leader))
      group.kind = PrivateLayout::Separate;
  for (const AllocaInst *alloca : escaped)
    layouts_[find(alloca)].kind = PrivateLayout::Separate;
  for (auto &[alloca, group] : layouts_)
    if (group.unit == kMixed)
      group.unit = 0;
}

const PrivateLayout *PrivateMemory::layoutOf(const Value *pointer) const {
  const AllocaInst *leader = leaderOf(pointer);
  return leader ? &layouts_.find(leader)->second : nullptr;
}

const PrivateLayout &PrivateMemory::layoutOf(const AllocaInst &alloca) const {
  return layouts_.find(find(&alloca))->second;
}

bool PrivateMemory::separateLanes(const Value *pointer) {
  const AllocaInst *leader = leaderOf(pointer);
  if (!leader)
    return false;
  PrivateLayout &group = layouts_.find(leader)->second;
  if (group.kind != PrivateLayout::Shared)
    return false;
  group.kind = group.unit ? PrivateLayout::Interleaved : PrivateLayout::Separate;
  return true;
}

} // namespace pewter::cpu::codegen
