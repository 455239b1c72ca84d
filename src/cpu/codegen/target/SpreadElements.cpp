// SPDX-License-Identifier: Apache-2.0
//
// A stored vector is read back a few cycles later, which no loop waits for: elements of scales do not
// depend on sums. With fewer than kFewest elements of a vector the store is not worth it.
// Tested by SpreadElements_test.cpp.
#include "cpu/codegen/target/SpreadElements.h"
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallSet.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Local.h>

using namespace llvm;

namespace pewter::cpu::codegen {
namespace {

constexpr unsigned kFewest = 3;
constexpr unsigned kSpread = 16; ///< Elements of a vector that fills a register.

/// The element of the first operand that a shuffle puts into the whole of each register; empty when it
/// does something else.
SmallVector<int, 4> spreadElementsOf(const ShuffleVectorInst &shuffle) {
  auto *from = cast<FixedVectorType>(shuffle.getOperand(0)->getType());
  ArrayRef<int> mask = shuffle.getShuffleMask();
  SmallVector<int, 4> elements;
  if (mask.size() % kSpread != 0)
    return {};
  for (unsigned i = 0; i < mask.size(); i += kSpread) {
    int element = getSplatIndex(mask.slice(i, kSpread));
    if (element < 0 || element >= int(from->getNumElements()))
      return {};
    elements.push_back(element);
  }
  return elements;
}

/// An insertion at the front of a vector, which a shuffle spreads: the number, and the shuffles.
bool onlySpread(Instruction &number, SmallVectorImpl<ShuffleVectorInst *> &spreads) {
  for (User *user : number.users()) {
    auto *insertion = dyn_cast<InsertElementInst>(user);
    auto *index = insertion ? dyn_cast<ConstantInt>(insertion->getOperand(2)) : nullptr;
    if (!index || !index->isZero() || insertion->getOperand(1) != &number)
      return false;
    for (User *next : insertion->users()) {
      auto *shuffle = dyn_cast<ShuffleVectorInst>(next);
      if (!shuffle || shuffle->getOperand(0) != insertion ||
          getSplatIndex(shuffle->getShuffleMask()) != 0)
        return false;
      spreads.push_back(shuffle);
    }
  }
  return !spreads.empty();
}

bool spreadHalf(Instruction &widening) {
  auto *load = dyn_cast<LoadInst>(widening.getOperand(0));
  SmallVector<ShuffleVectorInst *> spreads;
  if (!load || !load->getType()->isHalfTy() || !widening.getType()->isFloatTy() ||
      !onlySpread(widening, spreads))
    return false;
  IRBuilder<> builder(&widening);
  // Widths in registers: 4 or 8 elements as they are, more as one register that stands for all.
  for (ShuffleVectorInst *spread : spreads) {
    unsigned count = cast<FixedVectorType>(spread->getType())->getNumElements();
    unsigned width = std::min(count, kSpread);
    Value *wide = builder.CreateFPExt(
        builder.CreateVectorSplat(width, load),
        FixedVectorType::get(builder.getFloatTy(), width));
    if (count > width) {
      SmallVector<int> lanes;
      for (unsigned i = 0; i < count; ++i)
        lanes.push_back(int(i % width));
      wide = builder.CreateShuffleVector(wide, lanes);
    }
    spread->replaceAllUsesWith(wide);
  }
  for (ShuffleVectorInst *spread : spreads)
    RecursivelyDeleteTriviallyDeadInstructions(spread);
  return true;
}

void throughMemory(Instruction &source, ArrayRef<ShuffleVectorInst *> spreads) {
  Function &function = *source.getFunction();
  IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
  Type *type = source.getType(), *element = type->getScalarType();
  AllocaInst *slot = builder.CreateAlloca(type);
  slot->setAlignment(Align(64));
  builder.SetInsertPoint(isa<PHINode>(source) ? &*source.getParent()->getFirstInsertionPt()
                                              : source.getNextNode());
  builder.CreateStore(&source, slot);
  for (ShuffleVectorInst *spread : spreads) {
    builder.SetInsertPoint(spread);
    SmallVector<Value *, 4> parts;
    SmallVector<int, 4> wanted = spreadElementsOf(*spread);
    for (int index : wanted) {
      if (!parts.empty() && index == wanted.front()) {
        parts.push_back(parts.front());
        continue;
      }
      Value *place = builder.CreateConstInBoundsGEP1_64(element, slot, uint64_t(index));
      parts.push_back(builder.CreateVectorSplat(kSpread, builder.CreateLoad(element, place)));
    }
    spread->replaceAllUsesWith(concatenateVectors(builder, parts));
    spread->eraseFromParent();
  }
}

} // namespace

bool spreadElements(Function &function) {
  bool changed = false;
  SmallVector<Instruction *> widenings;
  for (Instruction &instruction : instructions(function))
    if (instruction.getOpcode() == Instruction::FPExt)
      widenings.push_back(&instruction);
  for (Instruction *widening : widenings)
    changed |= spreadHalf(*widening);
  MapVector<Instruction *, SmallVector<ShuffleVectorInst *, 8>> sources;
  for (Instruction &instruction : instructions(function)) {
    auto *shuffle = dyn_cast<ShuffleVectorInst>(&instruction);
    auto *source = shuffle ? dyn_cast<Instruction>(shuffle->getOperand(0)) : nullptr;
    // A number that was just inserted is a scalar, and one that was just loaded spreads from there.
    if (!source || isa<InsertElementInst, LoadInst>(source) || source->isTerminator() ||
        source->getParent() != shuffle->getParent() || spreadElementsOf(*shuffle).empty() ||
        source->getType()->getScalarSizeInBits() != 32)
      continue;
    sources[source].push_back(shuffle);
  }
  for (auto &[source, spreads] : sources) {
    SmallSet<int, 8> elements;
    for (ShuffleVectorInst *spread : spreads)
      for (int element : spreadElementsOf(*spread))
        elements.insert(element);
    if (elements.size() < kFewest)
      continue;
    throughMemory(*source, spreads);
    changed = true;
  }
  return changed;
}

} // namespace pewter::cpu::codegen
