// SPDX-License-Identifier: Apache-2.0
//
// Addresses are compared as base + sum of scaled variables + constant: two loads whose first two
// parts agree are a constant distance apart. Gaps between members are read too; both their ends lie
// in pages that the lane reads anyway. Tested by LoadGroups_test.cpp.
#include "cpu/codegen/analysis/LoadGroups.h"
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Operator.h>
#include <tuple>

using namespace llvm;

namespace pewter::cpu::codegen {

namespace {

/// Members may lie this far apart.
constexpr int64_t kMaxGap = 16;
constexpr int64_t kMaxBytes = 128;

/// A variable of an address: `root` in its own width, extended, plus a constant.
struct Variable {
  const Value *root = nullptr;
  bool isSigned = false;
  int64_t scale = 1, addend = 0;
  auto key() const { return std::tuple(root, isSigned, scale); }
};

struct Address {
  const Value *base = nullptr;
  std::vector<std::tuple<const Value *, bool, int64_t>> variables; ///< Keys, sorted.
  int64_t constant = 0;
};

/// Takes constants out of an extension: zext(x + 3) is zext(x) + 3 where the sum may not wrap. The flags
/// speak for active lanes, which are those that a load reads for.
Variable peel(const Value *value) {
  Variable variable{value};
  auto step = [&](bool isExtended) {
    auto *operation = dyn_cast<BinaryOperator>(variable.root);
    auto *literal = operation ? dyn_cast<ConstantInt>(operation->getOperand(1)) : nullptr;
    if (!literal || literal->getBitWidth() > 64)
      return false;
    if (auto *either = dyn_cast<PossiblyDisjointInst>(operation)) {
      if (!either->isDisjoint() || literal->isNegative())
        return false;
    } else if (operation->getOpcode() == Instruction::Add) {
      bool mayWrap = variable.isSigned ? !operation->hasNoSignedWrap()
                                       : !operation->hasNoUnsignedWrap() || literal->isNegative();
      if (isExtended && mayWrap)
        return false;
    } else {
      return false;
    }
    variable.addend += literal->getSExtValue();
    variable.root = operation->getOperand(0);
    return true;
  };
  while (step(/*isExtended=*/false)) {
  }
  bool isExtended = false;
  for (;;) {
    auto *cast = dyn_cast<CastInst>(variable.root);
    bool isZero = cast && isa<ZExtInst>(cast);
    if (!cast || !(isZero || (isa<SExtInst>(cast) && (!isExtended || variable.isSigned))))
      return variable;
    variable.isSigned = !isZero; // What was zero-extended has no sign any more.
    variable.root = cast->getOperand(0);
    isExtended = true;
    while (step(/*isExtended=*/true)) {
    }
  }
}

Address decompose(const Value *pointer, const DataLayout &layout) {
  Address address;
  SmallMapVector<Value *, APInt, 4> variables;
  APInt constant(64, 0);
  while (auto *step = dyn_cast<GEPOperator>(pointer)) {
    SmallMapVector<Value *, APInt, 4> more = variables;
    APInt offset = constant;
    if (!step->collectOffset(layout, 64, more, offset))
      break;
    variables = std::move(more);
    constant = offset;
    pointer = step->getPointerOperand();
  }
  address.base = pointer;
  address.constant = constant.getSExtValue();
  for (auto &[value, scale] : variables) {
    Variable variable = peel(value);
    variable.scale = scale.getSExtValue();
    address.constant += variable.scale * variable.addend;
    address.variables.push_back(variable.key());
  }
  llvm::sort(address.variables);
  return address;
}

/// Declared as if it wrote memory, so that it is not moved; it does not.
bool isHarmless(const Instruction &instruction) {
  auto *call = dyn_cast<CallInst>(&instruction);
  if (!call || !call->getCalledFunction())
    return false;
  if (call->getIntrinsicID() == Intrinsic::prefetch)
    return true;
  StringRef name = call->getCalledFunction()->getName();
  return name.starts_with("air.simd_") || name.starts_with("air.quad_");
}

bool isCandidate(const LoadInst &load, const Uniformity &uniformity, const DataLayout &layout) {
  if (load.getPointerAddressSpace() == 0 || load.isVolatile() ||
      uniformity.isUniform(load.getPointerOperand()))
    return false;
  const Shape &shape = uniformity.shapeOf(load.getPointerOperand())[0];
  Type *element = load.getType()->getScalarType();
  if (shape.wraps() || element->isPointerTy() || isMatrixType(load.getType()))
    return false;
  uint64_t bits = element->getPrimitiveSizeInBits();
  return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

} // namespace

std::vector<LoadGroup> findLoadGroups(const BasicBlock &block, const Uniformity &uniformity) {
  const DataLayout &layout = block.getDataLayout();
  struct Open {
    Address address;
    std::vector<std::pair<const LoadInst *, int64_t>> members;
  };
  std::vector<Open> open;
  std::vector<LoadGroup> groups;
  auto sizeOf = [&](const LoadInst *load) {
    return int64_t(layout.getTypeStoreSize(load->getType()).getFixedValue());
  };
  auto close = [&] {
    for (Open &candidate : open) {
      auto byPlace = candidate.members;
      llvm::sort(byPlace, [](auto &a, auto &b) {
        return a.second != b.second ? a.second < b.second : a.first != b.first && a.first->comesBefore(b.first);
      });
      for (size_t i = 0; i < byPlace.size();) {
        LoadGroup group;
        group.begin = byPlace[i].second;
        group.end = group.begin;
        bool hasSmall = false;
        for (; i < byPlace.size(); ++i) {
          auto &[load, offset] = byPlace[i];
          int64_t end = offset + sizeOf(load);
          if (!group.members.empty() &&
              (offset - group.end > kMaxGap || end - group.begin > kMaxBytes))
            break;
          hasSmall |= load->getType()->getScalarSizeInBits() < 32;
          group.members.push_back({load, offset});
          group.end = std::max(group.end, end);
        }
        // A lone load of whole words is best left alone; so is anything under one word.
        bool useful = hasSmall || group.members.size() > 1;
        if (!useful || group.end - group.begin < 4)
          continue;
        for (auto &member : candidate.members)
          if (llvm::is_contained(group.members, member)) {
            group.first = member.first;
            group.firstOffset = member.second;
            break;
          }
        groups.push_back(std::move(group));
      }
    }
    open.clear();
  };
  for (const Instruction &instruction : block) {
    if (auto *load = dyn_cast<LoadInst>(&instruction)) {
      if (!isCandidate(*load, uniformity, layout))
        continue;
      Address address = decompose(load->getPointerOperand(), layout);
      auto known = llvm::find_if(open, [&](const Open &other) {
        return other.address.base == address.base && other.address.variables == address.variables;
      });
      if (known == open.end()) {
        open.push_back({address, {}});
        known = open.end() - 1;
      }
      known->members.push_back({load, address.constant});
    } else if (instruction.mayWriteToMemory() && !isHarmless(instruction)) {
      close();
    }
  }
  close();
  return groups;
}

} // namespace pewter::cpu::codegen
