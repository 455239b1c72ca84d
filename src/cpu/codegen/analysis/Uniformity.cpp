// SPDX-License-Identifier: Apache-2.0
//
// The fixpoint. Every shape starts unknown and only moves up (uniform or pattern, then varying), so
// the rounds end; a value that would move sideways (another pattern) goes to varying at once.
// Shapes of instructions: ShapeTransfer.cpp. Shapes of arguments: below. Cost: a few rounds over the
// function. Tested by Uniformity_test.cpp.
#include "cpu/codegen/analysis/Uniformity.h"
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>

using namespace llvm;

namespace pewter::cpu::codegen {

using air::Builtin;

unsigned componentsOf(const Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector && !isMatrixType(type) ? vector->getNumElements() : 1;
}

Uniformity::Uniformity(Function &function, const air::KernelReflection &reflection,
                       const LaneModel &model, PatternPool &pool)
    : function_(function), reflection_(reflection), model_(model), pool_(pool),
      layout_(function.getDataLayout()), control_(function), memory_(function) {
  run();
}

Builtin Uniformity::builtinOf(const Argument &argument) const {
  for (const air::Argument &described : reflection_.arguments)
    if (described.parameter == argument.getArgNo())
      return described.builtin;
  return Builtin::None;
}

const ValueShape &Uniformity::shapeOf(const Value *value) const {
  auto found = shapes_.find(value);
  if (found != shapes_.end())
    return found->second;
  auto *constant = dyn_cast<Constant>(value);
  if (!constant) {
    static const ValueShape unknown;
    return unknown;
  }
  auto known = constants_.find(value);
  if (known != constants_.end())
    return known->second;
  ValueShape shape = all(value->getType(), Shape::uniform());
  for (unsigned i = 0; i < shape.size(); ++i) {
    const Constant *element =
        value->getType()->isVectorTy() && !isMatrixType(value->getType())
            ? constant->getAggregateElement(i)
            : constant;
    auto *integer = dyn_cast_or_null<ConstantInt>(element);
    if (integer && integer->getBitWidth() <= 64)
      shape[i] = literalShape(pool_, LanePattern(model_.lanes, integer->getSExtValue()));
  }
  return constants_[value] = shape;
}

bool Uniformity::isDivergent(const BranchInst &branch) const {
  const ValueShape &shape = shapeOf(branch.getCondition());
  return !anyUnknown(shape) && !allUniform(shape);
}

Shape Uniformity::positionShape(unsigned component, bool inGrid) const {
  LanePattern values(model_.lanes, 0);
  uint32_t width = model_.size ? (*model_.size)[0] : 0;
  uint32_t height = model_.size ? (*model_.size)[1] : 0;
  switch (model_.layout) {
  case LaneModel::Layout::Scattered:
    return Shape::varying();
  case LaneModel::Layout::Row:
    if (component != 0)
      return Shape::uniform();
    return patternShape(pool_, *pool_.affine(1), model_.alignedRows ? 5 : 0);
  case LaneModel::Layout::Rows:
    for (unsigned lane = 0; lane < model_.lanes; ++lane)
      values[lane] = component == 0 ? lane % width : component == 1 ? lane / width : 0;
    if (component == 0 && !inGrid)
      return literalShape(pool_, std::move(values));
    return patternShape(pool_, std::move(values));
  case LaneModel::Layout::Whole:
    for (unsigned lane = 0; lane < model_.lanes; ++lane)
      values[lane] = component == 0   ? lane % width
                     : component == 1 ? lane / width % height
                                      : lane / (width * height);
    if (inGrid) // The group's base is a multiple of the size.
      return patternShape(pool_, std::move(values),
                          uint8_t(countr_zero((*model_.size)[component])));
    return literalShape(pool_, std::move(values));
  }
  llvm_unreachable("every layout is handled");
}

Shape Uniformity::builtinShape(Builtin builtin, unsigned component) const {
  LanePattern values(model_.lanes);
  auto literal = [&](auto &&valueOf) {
    for (unsigned lane = 0; lane < model_.lanes; ++lane)
      values[lane] = valueOf(lane);
    return literalShape(pool_, std::move(values));
  };
  bool whole = model_.isMerged() || model_.layout == LaneModel::Layout::Whole;
  switch (builtin) {
  case Builtin::ThreadIndexInSimdgroup:
    return literal([](unsigned lane) { return lane % 32; });
  case Builtin::ThreadIndexInQuadgroup:
    return literal([](unsigned lane) { return lane % 4; });
  case Builtin::SimdgroupIndexInThreadgroup:
    return whole ? literal([](unsigned lane) { return lane / 32; }) : Shape::uniform();
  case Builtin::QuadgroupIndexInThreadgroup:
    if (whole)
      return literal([](unsigned lane) { return lane / 4; });
    for (unsigned lane = 0; lane < model_.lanes; ++lane)
      values[lane] = lane / 4;
    return patternShape(pool_, std::move(values), /*alignment=*/3);
  case Builtin::ThreadIndexInThreadgroup:
    if (whole)
      return literal([](unsigned lane) { return lane; });
    return patternShape(pool_, *pool_.affine(1), /*alignment=*/5);
  case Builtin::ThreadPositionInThreadgroup:
    return positionShape(component, /*inGrid=*/false);
  case Builtin::ThreadPositionInGrid:
    return positionShape(component, /*inGrid=*/true);
  default:
    return Shape::uniform();
  }
}

ValueShape Uniformity::argumentShape(const Argument &argument) const {
  Builtin builtin = builtinOf(argument);
  ValueShape shape = all(argument.getType(), Shape::uniform());
  if (builtin != Builtin::None)
    for (unsigned i = 0; i < shape.size(); ++i)
      shape[i] = builtinShape(builtin, i);
  return shape;
}

bool Uniformity::visit(Instruction &instruction) {
  if (instruction.getType()->isVoidTy())
    return false;
  ValueShape next = transfer(instruction);
  ValueShape &known = shapes_[&instruction];
  if (known.empty())
    known = all(instruction.getType(), Shape());
  if (isa<AllocaInst>(instruction)) {
    // Its layout alone decides, and changes at most once: from one copy to one for each lane. The
    // code generator gives it just this shape.
    bool moved = known != next;
    known = std::move(next);
    return moved;
  }
  bool changed = false;
  for (unsigned i = 0; i < known.size(); ++i) {
    Shape &old = known[i];
    Shape now = next.empty() ? Shape() : next[i];
    if (old.isVarying() || now.isUnknown() || old == now)
      continue;
    if (!old.isUnknown() && !now.isVarying()) {
      // Only the literal and the alignment may be given up; another pattern is a step to the top.
      bool samePattern = old.pattern == now.pattern && old.wrapSource == now.wrapSource &&
                         old.wrapAmount == now.wrapAmount;
      if (!samePattern) {
        now = Shape::varying();
      } else {
        if (!old.constant || (now.constant && now.base != old.base)) {
          now.constant = false;
          now.base = 0;
        }
        now.alignment = std::min(old.alignment, now.alignment);
      }
      if (old == now)
        continue;
    }
    old = now;
    changed = true;
  }
  return changed;
}

bool Uniformity::visitStore(StoreInst &store) {
  if (store.getPointerAddressSpace() != 0 || isMatrixType(store.getValueOperand()->getType()))
    return false;
  bool uniform = isUniform(store.getValueOperand()) && isUniform(store.getPointerOperand()) &&
                 !control_.isMasked(store.getParent());
  return !uniform && memory_.separateLanes(store.getPointerOperand());
}

void Uniformity::run() {
  for (Argument &argument : function_.args())
    shapes_[&argument] = argumentShape(argument);
  if (model_.body == LaneModel::Body::General)
    control_.maskEverything();
  do
    reachFixpoint();
  while (settleUnknown());
}

void Uniformity::reachFixpoint() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (BasicBlock *block : control_.order())
      for (Instruction &instruction : *block)
        changed |= visit(instruction);
    changed |= control_.update([&](const BranchInst &branch) { return isDivergent(branch); });
    for (Instruction &instruction : instructions(function_)) {
      if (auto *store = dyn_cast<StoreInst>(&instruction))
        changed |= visitStore(*store);
      else if (auto *call = dyn_cast<CallInst>(&instruction))
        for (Value *argument : call->args()) // cmpxchg writes its expected value.
          if (argument->getType()->isPointerTy() && !call->isLifetimeStartOrEnd() &&
              memory_.layoutOf(argument))
            changed |= memory_.separateLanes(argument);
    }
  }
}

/// What is still unknown hangs on a value that is undefined so far, of a cycle of phis or of a part of
/// a vector. It is taken as uniform; what was computed from it may then turn out to vary.
bool Uniformity::settleUnknown() {
  bool found = false;
  for (auto &[value, shape] : shapes_)
    for (Shape &component : shape)
      if (component.isUnknown()) {
        component = Shape::uniform();
        found = true;
      }
  return found;
}

uint8_t Uniformity::alignmentOf(const Value *value, const Shape &shape) const {
  if (!shape.isUniform() || shape.constant || !value->getType()->isIntegerTy())
    return shape.alignment;
  unsigned zeros = computeKnownBits(value, layout_).countMinTrailingZeros();
  return uint8_t(std::max<unsigned>(shape.alignment, std::min(zeros, 62u)));
}

void Uniformity::print(raw_ostream &out) const {
  auto printShape = [&](const Value &value) {
    const ValueShape &shape = shapeOf(&value);
    for (unsigned i = 0; i < shape.size(); ++i) {
      out << (i ? ", " : "");
      pewter::cpu::codegen::print(out, shape[i]);
    }
  };
  out << "Uniformity of " << function_.getName() << ", " << model_.lanes << " lanes\n";
  for (const Argument &argument : function_.args()) {
    out << "  " << argument.getName() << ": ";
    printShape(argument);
    out << "\n";
  }
  for (BasicBlock *block : control_.order()) {
    out << block->getName() << ":" << (control_.isMasked(block) ? " masked" : "")
        << (control_.isJoin(block) ? " join" : "");
    const Loop *loop = control_.loops().getLoopFor(block);
    if (loop && loop->getHeader() == block)
      out << (control_.hasDivergentExit(loop) ? " loop with divergent exit" : " loop");
    out << "\n";
    for (Instruction &instruction : *block) {
      if (auto *branch = dyn_cast<BranchInst>(&instruction))
        if (branch->isConditional())
          out << "    branch: " << (isDivergent(*branch) ? "divergent" : "uniform") << "\n";
      if (instruction.getType()->isVoidTy())
        continue;
      out << "  " << (instruction.hasName() ? instruction.getName() : "value") << ": ";
      printShape(instruction);
      if (auto *alloca = dyn_cast<AllocaInst>(&instruction)) {
        const char *names[] = {"shared", "interleaved", "separate"};
        out << ", " << names[memory_.layoutOf(*alloca).kind];
      }
      out << "\n";
    }
  }
}

} // namespace pewter::cpu::codegen
