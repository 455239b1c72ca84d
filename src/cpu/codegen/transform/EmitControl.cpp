// SPDX-License-Identifier: Apache-2.0
//
// Control flow of the emitter. KernelEmitter.h has the idea; the details that must be right:
//   * All inputs of the phis of both successors are read before any slot is written (parallel copy).
//   * Phis of a loop header are not blended: lanes that left never come back. All other phis in a
//     chain are, by the mask of the edge.
//   * A phi that is blended starts as poison, at the nearest dominator in the same loop, and every
//     value of a loop is poison again at the loop's header, so that mem2reg does not carry dead
//     vectors around loops: it would make a phi of each in every block.
//   * While code runs in a fast copy every mask slot is empty; the chain may return to a fast copy
//     only where all lanes are together, which a full mask at a loop header proves.
//   * A block with loads, calls or divisions is skipped under an empty mask: uniform loads must not
//     run when no lane asked for them.
#include "cpu/codegen/transform/KernelEmitter.h"
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/PatternMatch.h>

using namespace llvm;
using namespace llvm::PatternMatch;

namespace pewter::cpu::codegen {

namespace {
constexpr size_t kMostFastBlocks = 150;
} // namespace

BasicBlock *KernelEmitter::newBlock(const Twine &name) {
  return BasicBlock::Create(context_, name, &target_);
}

Result<void> KernelEmitter::findRegions() {
  const ControlDivergence &control = uniformity_.control();
  for (BasicBlock *block : control.order()) {
    if (!control.isMasked(block) || regionOf_.contains(block))
      continue;
    unsigned id = regions_.size();
    regions_.emplace_back();
    SmallVector<BasicBlock *> work{block};
    while (!work.empty()) {
      BasicBlock *next = work.pop_back_val();
      if (!control.isMasked(next) || !regionOf_.insert({next, id}).second)
        continue;
      work.append(succ_begin(next), succ_end(next));
      // Both sides of a divergent branch are one region, also where no masked block joins them.
      for (BasicBlock *previous : predecessors(next)) {
        auto *branch = dyn_cast<BranchInst>(previous->getTerminator());
        work.push_back(previous);
        if (branch && branch->isConditional() && uniformity_.isDivergent(*branch))
          work.append(succ_begin(previous), succ_end(previous));
      }
    }
  }
  for (BasicBlock *block : control.order())
    if (auto region = regionOf_.find(block); region != regionOf_.end())
      regions_[region->second].chain.push_back(block);
  for (Region &region : regions_)
    for (BasicBlock *block : region.chain)
      for (BasicBlock *next : successors(block)) {
        if (control.isMasked(next))
          continue;
        if (region.exit && region.exit != next)
          return fail(ErrorKind::Internal,
                      "Kernel \"{}\" has a divergent region with two ends (\"{}\", \"{}\").",
                      uniformity_.function().getName().str(), region.exit->getName().str(),
                      next->getName().str());
        region.exit = next;
      }
  return {};
}

// The blocks that a fast copy can reach: from the entries of each region along branches that are not
// divergent by a literal condition such as lane == 0.
void KernelEmitter::findFastBlocks() {
  if (!options_.fastCopies || launch_->entryMask)
    return;
  const ControlDivergence &control = uniformity_.control();
  for (BasicBlock *block : control.order()) {
    if (control.isMasked(block) && !fastBlocks_.contains(block))
      continue;
    auto *branch = dyn_cast<BranchInst>(block->getTerminator());
    if (!branch)
      continue;
    if (branch->isConditional() && uniformity_.isDivergent(*branch) &&
        uniformity_.shapeOf(branch->getCondition())[0].constant)
      continue;
    for (BasicBlock *next : successors(block))
      if (control.isMasked(next))
        fastBlocks_.insert(next);
  }
  // Every way from a fast copy into the chain brings each live value in a second version: in a path
  // tracer with 500 blocks 160,000 phis.
  if (fastBlocks_.size() > kMostFastBlocks)
    fastBlocks_.clear();
}

// Literal conditions such as lane == 0 leave few lanes, whatever the masks of a run are.
void KernelEmitter::findReachableLanes() {
  const ControlDivergence &control = uniformity_.control();
  APInt all = APInt::getAllOnes(lanes());
  for (BasicBlock *block : control.order()) {
    APInt arriving = pred_empty(block) ? all : APInt::getZero(lanes());
    for (BasicBlock *previous : predecessors(block)) {
      auto before = reachableLanes_.find(previous);
      APInt coming = before != reachableLanes_.end() ? before->second : all; // A loop's end.
      auto *branch = dyn_cast<BranchInst>(previous->getTerminator());
      if (branch && branch->isConditional() && branch->getSuccessor(0) != branch->getSuccessor(1)) {
        const Shape &shape = uniformity_.shapeOf(branch->getCondition())[0];
        if (shape.constant) {
          LanePattern literals = literalsOf(shape, lanes());
          bool wanted = branch->getSuccessor(0) == block;
          for (unsigned lane = 0; lane < lanes(); ++lane)
            if ((literals[lane] & 1) != wanted)
              coming.clearBit(lane);
        }
      }
      arriving |= coming;
    }
    reachableLanes_.insert({block, arriving});
  }
}

Result<void> KernelEmitter::emit(const Launch &launch, BasicBlock *start, BasicBlock *done) {
  launch_ = &launch;
  done_ = done;
  const ControlDivergence &control = uniformity_.control();
  PEWTER_TRY_VOID(findRegions());
  findFastBlocks();
  findReachableLanes();
  countMatrices();

  builder_.SetInsertPoint(start);
  mask_ = builder_.fullMask();
  for (const Argument &argument : uniformity_.function().args()) {
    auto given = launch.arguments.find(&argument);
    arguments_[&argument] = given != launch.arguments.end() ? LaneValue{given->second, {}}
                                                            : builtinValue(argument);
  }
  for (BasicBlock *block : control.order()) {
    labels_[block] = newBlock(block->getName());
    if (control.isMasked(block)) {
      maskSlots_[block] = stack(builder_.bitsType(), block->getName() + ".mask");
      builder_.CreateStore(ConstantInt::get(builder_.bitsType(), 0), maskSlots_[block]);
    }
    if (fastBlocks_.contains(block))
      fastLabels_[block] = newBlock(block->getName() + ".all");
    for (const PHINode &phi : block->phis())
      declarePhi(phi);
    const Loop *loop = control.loops().getLoopFor(block);
    if (block->phis().empty() || (loop && loop->getHeader() == block))
      continue;
    auto *node = control.dominators().getNode(block)->getIDom();
    while (node) {
      const Loop *outer = control.loops().getLoopFor(node->getBlock());
      if (!outer || outer == loop || outer->contains(block))
        break;
      node = node->getIDom();
    }
    if (node)
      for (const PHINode &phi : block->phis())
        resets_[node->getBlock()].push_back(&phi);
  }

  BasicBlock *first = control.order().front();
  LaneMask entry = launch.entryMask ? LaneMask{launch.entryMask, nullptr} : builder_.fullMask();
  if (control.isMasked(first))
    addToMask(first, builder_.bits(entry));
  Instruction *entered = builder_.CreateBr(labels_[first]);

  for (BasicBlock *block : control.order()) {
    if (!control.isMasked(block)) {
      builder_.SetInsertPoint(labels_[block]);
      mask_ = builder_.fullMask();
      emitBlock(block, Copy::Unmasked);
    } else {
      if (fastBlocks_.contains(block)) {
        builder_.SetInsertPoint(fastLabels_[block]);
        mask_ = builder_.fullMask();
        emitBlock(block, Copy::Fast);
      }
      builder_.SetInsertPoint(labels_[block]);
      emitChainEntry(block);
      emitBlock(block, Copy::Chain);
    }
    if (error_)
      return std::unexpected(std::move(*error_));
  }
  // Nothing lives from one run of the body to the next.
  builder_.SetInsertPoint(entered);
  for (auto &[value, slot] : slots_)
    poisonSlot(slot);
  forgetAtHeaders();
  return {};
}

// Nothing but the phis of a loop's header lives from one round to the next.
void KernelEmitter::forgetAtHeaders() {
  for (auto &[value, slot] : slots_) {
    auto *instruction = dyn_cast<Instruction>(value);
    if (!instruction || isMatrixType(value->getType())) // A sum's memory may be that of its phi.
      continue;
    const Loop *loop = uniformity_.control().loops().getLoopFor(instruction->getParent());
    for (; loop; loop = loop->getParentLoop()) {
      BasicBlock *header = loop->getHeader();
      if (isa<PHINode>(value) && header == instruction->getParent())
        continue;
      for (BasicBlock *label : {labels_.lookup(header), fastLabels_.lookup(header)})
        if (label) {
          builder_.SetInsertPoint(label, label->getFirstInsertionPt());
          poisonSlot(slot);
        }
    }
  }
}

// The block that follows in the chain, through the tests that start masked loops again.
BasicBlock *KernelEmitter::chainNext(BasicBlock *block) {
  auto known = chainNexts_.find(block);
  if (known != chainNexts_.end())
    return known->second;
  const Region &region = regions_[regionOf_[block]];
  auto here = llvm::find(region.chain, block);
  BasicBlock *next = here + 1 != region.chain.end() ? labels_[*(here + 1)]
                     : region.exit                  ? labels_[region.exit]
                                                    : done_;
  SmallVector<const Loop *> ending;
  for (const Loop *loop = uniformity_.control().loops().getLoopFor(block); loop;
       loop = loop->getParentLoop()) {
    if (!uniformity_.control().isMasked(loop->getHeader()))
      break;
    if (none_of(make_range(here + 1, region.chain.end()),
                [&](BasicBlock *later) { return loop->contains(later); }))
      ending.push_back(loop);
  }
  IRBuilderBase::InsertPointGuard guard(builder_);
  for (const Loop *loop : reverse(ending)) {
    BasicBlock *again = newBlock("again");
    builder_.SetInsertPoint(again);
    Value *waiting = builder_.CreateLoad(builder_.bitsType(), maskSlots_[loop->getHeader()]);
    builder_.CreateCondBr(builder_.any(waiting), labels_[loop->getHeader()], next);
    next = again;
  }
  return chainNexts_[block] = next;
}

bool KernelEmitter::isWorthSkipping(const BasicBlock &block) const {
  const Loop *loop = uniformity_.control().loops().getLoopFor(&block);
  if (block.size() > 12 || (loop && loop->getHeader() == &block))
    return true;
  return any_of(block, [](const Instruction &instruction) {
    switch (instruction.getOpcode()) {
    case Instruction::UDiv:
    case Instruction::SDiv:
    case Instruction::URem:
    case Instruction::SRem:
      return true;
    default:
      return instruction.mayReadOrWriteMemory() || isa<CallInst>(instruction);
    }
  });
}

void KernelEmitter::emitChainEntry(BasicBlock *block) {
  Value *waiting = builder_.CreateLoad(builder_.bitsType(), maskSlots_[block]);
  const Loop *loop = uniformity_.control().loops().getLoopFor(block);
  if (fastBlocks_.contains(block) && loop && loop->getHeader() == block) {
    BasicBlock *together = newBlock("together"), *apart = newBlock("apart");
    builder_.CreateCondBr(builder_.CreateICmpEQ(waiting, builder_.fullBits()), together, apart);
    builder_.SetInsertPoint(together);
    builder_.CreateStore(ConstantInt::get(builder_.bitsType(), 0), maskSlots_[block]);
    builder_.CreateBr(fastLabels_[block]);
    builder_.SetInsertPoint(apart);
  }
  builder_.CreateStore(ConstantInt::get(builder_.bitsType(), 0), maskSlots_[block]);
  mask_ = {waiting, nullptr};
  skip_ = nullptr;
  if (isWorthSkipping(*block)) {
    BasicBlock *body = newBlock(block->getName() + ".some");
    skip_ = newBlock("skip");
    builder_.CreateCondBr(builder_.any(waiting), body, skip_);
    builder_.SetInsertPoint(body);
  }
}

void KernelEmitter::emitBody(BasicBlock *block) {
  current_.clear();
  fetchedGroups_.clear();
  prefetched_.clear();
  block_ = block;
  if (groups_.try_emplace(block).second) {
    groups_[block] = findLoadGroups(*block, uniformity_);
    for (const LoadGroup &group : groups_[block])
      for (auto &[load, offset] : group.members)
        groupOf_[load] = {&group, offset};
  }
  for (Instruction &instruction : *block)
    if (!isa<PHINode>(instruction) && !instruction.isTerminator() && !error_) {
      if (endsMatrixWork(instruction))
        emitMatrixWork();
      emitInstruction(instruction);
    }
  emitMatrixWork();
  for (const PHINode *phi : resets_[block])
    poisonSlot(slots_.find(phi)->second);
}

void KernelEmitter::emitBlock(BasicBlock *block, Copy copy) {
  emitBody(block);
  if (error_)
    return;
  emitTerminator(block, copy);
  if (copy != Copy::Chain || !skip_)
    return;
  builder_.SetInsertPoint(skip_);
  for (const Value *value : definedIn_[block])
    poisonSlot(slots_.find(value)->second);
  for (const PHINode *phi : resets_[block])
    poisonSlot(slots_.find(phi)->second);
  builder_.CreateBr(chainNext(block));
}

void KernelEmitter::emitTerminator(BasicBlock *block, Copy copy) {
  Instruction *terminator = block->getTerminator();
  auto *branch = dyn_cast<BranchInst>(terminator);
  if (!branch) {
    if (!isa<ReturnInst, UnreachableInst>(terminator))
      return unsupported(*terminator, "a terminator other than branch and return");
    builder_.CreateBr(copy == Copy::Chain ? chainNext(block) : done_);
    return;
  }
  if (copy == Copy::Chain)
    return emitChainBranch(block, *branch);
  if (branch->isUnconditional())
    return goTo(block, branch->getSuccessor(0), copy);
  if (uniformity_.isDivergent(*branch))
    return emitDispatch(block, *branch, copy);
  BasicBlock *taken = newBlock("taken"), *other = newBlock("other");
  builder_.CreateCondBr(uniform(branch->getCondition()), taken, other);
  auto saved = current_;
  builder_.SetInsertPoint(taken);
  goTo(block, branch->getSuccessor(0), copy);
  current_ = std::move(saved);
  builder_.SetInsertPoint(other);
  goTo(block, branch->getSuccessor(1), copy);
}

/// All lanes go from `from` to `to`.
void KernelEmitter::goTo(BasicBlock *from, BasicBlock *to, Copy copy) {
  commitPhis(to, collectPhis(from, to), nullptr);
  if (fastBlocks_.contains(to)) {
    builder_.CreateBr(fastLabels_[to]);
    return;
  }
  if (uniformity_.control().isMasked(to))
    builder_.CreateStore(builder_.fullBits(), maskSlots_[to]);
  builder_.CreateBr(labels_[to]);
}

void KernelEmitter::emitDispatch(BasicBlock *block, BranchInst &branch, Copy copy) {
  BasicBlock *allTrue = newBlock("all.true"), *allFalse = newBlock("all.false");
  BasicBlock *apart = newBlock("apart");
  const ControlDivergence &control = uniformity_.control();
  const Value *condition = branch.getCondition();
  auto saved = current_;
  auto test = [&](Value *known, BasicBlock *target) {
    BasicBlock *next = newBlock("test");
    builder_.CreateCondBr(known, target, next);
    builder_.SetInsertPoint(next);
  };
  if (Value *known = uniformTest(condition, /*expected=*/true, block))
    test(known, allTrue);
  if (Value *known = uniformTest(condition, /*expected=*/false, block))
    test(known, allFalse);
  LaneMask taken{nullptr, vectorOf(condition)};
  Value *bits = builder_.bits(taken);
  test(builder_.CreateICmpEQ(bits, builder_.fullBits()), allTrue);
  builder_.CreateCondBr(builder_.CreateICmpEQ(bits, ConstantInt::get(builder_.bitsType(), 0)),
                        allFalse, apart);

  builder_.SetInsertPoint(apart);
  LaneMask other{builder_.CreateNot(bits), builder_.CreateNot(taken.vector)};
  BasicBlock *successors[] = {branch.getSuccessor(0), branch.getSuccessor(1)};
  auto trueValues = collectPhis(block, successors[0]);
  auto falseValues = collectPhis(block, successors[1]);
  commitPhis(successors[0], trueValues, &taken);
  commitPhis(successors[1], falseValues, &other);
  if (control.isMasked(successors[0]))
    addToMask(successors[0], bits);
  if (control.isMasked(successors[1]))
    addToMask(successors[1], other.bits);
  if (copy == Copy::Fast) {
    builder_.CreateBr(chainNext(block));
  } else {
    BasicBlock *first = nullptr;
    for (BasicBlock *next : successors)
      if (control.isMasked(next) && (!first || control.indexOf(next) < control.indexOf(first)))
        first = next;
    builder_.CreateBr(labels_[first ? first : successors[0]]);
  }
  current_ = saved;
  builder_.SetInsertPoint(allTrue);
  goTo(block, successors[0], copy);
  current_ = std::move(saved);
  builder_.SetInsertPoint(allFalse);
  goTo(block, successors[1], copy);
}

void KernelEmitter::emitChainBranch(BasicBlock *block, BranchInst &branch) {
  const ControlDivergence &control = uniformity_.control();
  Value *all = builder_.bits(mask_);
  auto arrive = [&](BasicBlock *next, Value *bits) {
    if (control.isMasked(next))
      addToMask(next, bits);
  };
  if (branch.isUnconditional() || branch.getSuccessor(0) == branch.getSuccessor(1)) {
    BasicBlock *next = branch.getSuccessor(0);
    commitPhis(next, collectPhis(block, next), &mask_);
    arrive(next, all);
    builder_.CreateBr(chainNext(block));
    return;
  }
  LaneMask condition = conditionMask(branch.getCondition());
  LaneMask taken{builder_.CreateAnd(all, builder_.bits(condition)), nullptr};
  LaneMask other{builder_.CreateAnd(all, builder_.CreateNot(builder_.bits(condition))), nullptr};
  auto trueValues = collectPhis(block, branch.getSuccessor(0));
  auto falseValues = collectPhis(block, branch.getSuccessor(1));
  commitPhis(branch.getSuccessor(0), trueValues, &taken);
  commitPhis(branch.getSuccessor(1), falseValues, &other);
  arrive(branch.getSuccessor(0), taken.bits);
  arrive(branch.getSuccessor(1), other.bits);
  builder_.CreateBr(chainNext(block));
}

LaneMask KernelEmitter::conditionMask(const Value *condition) {
  LaneValue value = get(condition);
  if (value.whole)
    return {builder_.CreateSExt(builder_.CreateFreeze(value.whole), builder_.bitsType()), nullptr};
  return {nullptr, vectorOf(value.parts[0])};
}

SmallVector<KernelEmitter::PhiValue, 4> KernelEmitter::collectPhis(BasicBlock *from,
                                                                   BasicBlock *to) {
  SmallVector<PhiValue, 4> values;
  for (const PHINode &phi : to->phis()) {
    const Value *incoming = phi.getIncomingValueForBlock(from);
    if (isa<UndefValue>(incoming))
      continue;
    const Slot &slot = slots_.find(&phi)->second;
    if (auto shared = slots_.find(incoming);
        shared != slots_.end() && shared->second.memory == slot.memory)
      continue; // A product that was added to the sum's own memory.
    LaneValue given = get(incoming);
    const LaneValue &prototype = slot.prototype;
    if (prototype.whole) {
      if (!given.whole)
        given.whole = part(given, 0).scalar; // Uniform by agreement of literals.
      given.parts.clear();
      values.push_back({&phi, std::move(given)});
      continue;
    }
    LaneValue value;
    for (unsigned i = 0; i < prototype.parts.size(); ++i) {
      LanePart source = part(given, i), result = prototype.parts[i];
      if (!result.shape.isVarying()) {
        result.scalar = source.scalar;
        if (result.distance)
          result.distance = source.distance;
      } else if (!result.scalar) {
        result.vector = vectorOf(source);
      } else if (uniformity_.control().isJoin(to)) {
        result.scalar = ConstantPointerNull::get(cast<PointerType>(source.scalar->getType()));
        result.vector = fullAddresses(source);
      } else {
        std::tie(result.scalar, result.vector) = address(source);
      }
      value.parts.push_back(result);
    }
    values.push_back({&phi, std::move(value)});
  }
  return values;
}

void KernelEmitter::commitPhis(BasicBlock *to, ArrayRef<PhiValue> values, LaneMask *mask) {
  const Loop *loop = uniformity_.control().loops().getLoopFor(to);
  bool isHeader = loop && loop->getHeader() == to;
  for (const PhiValue &entry : values) {
    Slot &slot = slots_.find(entry.phi)->second;
    if (!mask || isHeader) {
      storeSlot(slot, entry.value);
      continue;
    }
    LaneValue blended = entry.value, old = loadSlot(slot);
    auto scalar = [&](Value *&now, Value *before) {
      if (now)
        now = builder_.CreateSelect(builder_.any(builder_.bits(*mask)), now, before);
    };
    scalar(blended.whole, old.whole);
    for (unsigned i = 0; i < blended.parts.size(); ++i) {
      LanePart &now = blended.parts[i], &before = old.parts[i];
      scalar(now.scalar, before.scalar);
      scalar(now.distance, before.distance);
      if (now.vector)
        now.vector = builder_.CreateSelect(builder_.vector(*mask), now.vector, before.vector);
    }
    storeSlot(slot, blended);
  }
}

void KernelEmitter::addToMask(BasicBlock *block, Value *bits) {
  AllocaInst *slot = maskSlots_[block];
  Value *waiting = builder_.CreateLoad(builder_.bitsType(), slot);
  builder_.CreateStore(builder_.CreateOr(waiting, bits), slot);
}

// A scalar that is true only when `condition` is `expected` in every lane; null when there is no
// cheap one. It need not be true always when they all are: an exact test follows.
Value *KernelEmitter::uniformTest(const Value *condition, bool expected, const BasicBlock *block,
                                  unsigned depth) {
  auto *instruction = dyn_cast<Instruction>(condition);
  if (!instruction || instruction->getParent() != block || depth > 3)
    return nullptr;
  if (uniformity_.isUniform(condition)) {
    Value *value = uniform(condition);
    return expected ? value : builder_.CreateNot(value);
  }
  if (auto *compare = dyn_cast<ICmpInst>(instruction))
    return compareTest(*compare, expected);
  Value *first, *second;
  auto *logical = const_cast<Instruction *>(instruction);
  bool isAnd = match(logical, m_LogicalAnd(m_Value(first), m_Value(second)));
  if (!isAnd && !match(logical, m_LogicalOr(m_Value(first), m_Value(second))))
    return nullptr;
  Value *left = uniformTest(first, expected, block, depth + 1);
  Value *right = uniformTest(second, expected, block, depth + 1);
  // The second side may be poison where the first one decides.
  if (right)
    right = builder_.CreateFreeze(right);
  if (isAnd == expected) // Both sides are needed.
    return left && right ? builder_.CreateAnd(left, right) : nullptr;
  if (left && right)
    return builder_.CreateOr(left, right);
  return left ? left : right;
}

// Pattern against uniform. The lanes span [base + low, base + high]; comparing the ends and making
// sure that the span does not wrap is two scalar comparisons, and exact for the answer "true".
Value *KernelEmitter::compareTest(const ICmpInst &compare, bool expected) {
  CmpInst::Predicate predicate = compare.getPredicate();
  const Value *left = compare.getOperand(0), *right = compare.getOperand(1);
  if (!left->getType()->isIntegerTy() || left->getType()->getIntegerBitWidth() > 64)
    return nullptr;
  if (uniformity_.isUniform(left)) {
    std::swap(left, right);
    predicate = CmpInst::getSwappedPredicate(predicate);
  }
  if (!expected)
    predicate = CmpInst::getInversePredicate(predicate);
  const Shape shape = uniformity_.shapeOf(left)[0];
  if (!CmpInst::isRelational(predicate) || !shape.isPattern() || shape.wraps() ||
      !uniformity_.isUniform(right))
    return nullptr;
  Type *type = left->getType();
  unsigned bits = type->getIntegerBitWidth();
  uint64_t spread = uint64_t(shape.maximum()) - uint64_t(shape.minimum());
  if (bits < 8 || (bits < 64 && spread >= (uint64_t(1) << (bits - 1))))
    return nullptr;
  Value *bound = uniform(right);
  auto literal = [&](int64_t value) { return ConstantInt::get(type, uint64_t(value), true, true); };
  Value *low = builder_.CreateAdd(part(left).scalar, literal(shape.minimum()));
  bool isSigned = CmpInst::isSigned(predicate);
  bool less = predicate == CmpInst::ICMP_ULT || predicate == CmpInst::ICMP_ULE ||
              predicate == CmpInst::ICMP_SLT || predicate == CmpInst::ICMP_SLE;
  Value *first = builder_.CreateICmp(predicate, low, bound);
  // Less: bound - low must leave room for the spread. Greater: the type must.
  Value *room = less ? builder_.CreateSub(bound, low)
                     : builder_.CreateSub(isSigned ? ConstantInt::get(type, APInt::getSignedMaxValue(bits))
                                                   : ConstantInt::get(type, APInt::getMaxValue(bits)),
                                          low);
  bool strict = predicate == CmpInst::ICMP_ULT || predicate == CmpInst::ICMP_SLT;
  Value *second = builder_.CreateICmp(strict ? CmpInst::ICMP_UGT : CmpInst::ICMP_UGE, room,
                                      literal(int64_t(spread)));
  return builder_.CreateAnd(first, second);
}

} // namespace pewter::cpu::codegen
