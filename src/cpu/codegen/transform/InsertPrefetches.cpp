// SPDX-License-Identifier: Apache-2.0
//
// The distance is the slope of an address over the position: for `base + (group * 4 + r) * rowBytes`
// it is 4 * rowBytes. Slopes are built beside the instructions that they belong to. Clamps
// (`min(row, rows - 1)`) are looked through: a hint may be wrong at the edge. A loop's phi has the
// slope of its start. In a kernel without loops a call reads little, and the next calls' data follow
// it: what a few kilobytes ahead is wanted by later calls of the same entry point.
//
// Runs after prepareKernel, because literal sizes decide which loops are left, and before the
// analyses, which treat the prefetch's address like any other.
// Costs one instruction a cache line. Cannot follow table look-ups (an index that was loaded).
// Tested by InsertPrefetches_test.cpp.
#include "cpu/codegen/transform/InsertPrefetches.h"
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <map>
#include <tuple>

using namespace llvm;

namespace pewter::cpu::codegen {

using air::Builtin;

namespace {

/// The next SIMD group's data are worth asking for only beyond this; else they are the same lines.
constexpr uint64_t kNearBytes = 512;

constexpr int64_t kLineBytes = 64;

/// How a value changes when the position does; a null value is zero.
struct Slope {
  bool isKnown = true;
  Value *value = nullptr;
  bool isZero() const { return isKnown && !value; }
};
constexpr Slope kUnknown{false, nullptr};

/// Kernels without a loop ask this far ahead: the next calls' data lie one behind the other, and a
/// core's window holds few calls.
constexpr int64_t kStreamBytes = 4096;
constexpr unsigned kMostStreams = 8;

/// A distance is doubled until it is at least 2 to this power: nearer data come too late. (Rows of
/// 4,352 bytes from DRAM took 2.3 times as long with the next row as with the next four.)
constexpr uint64_t kFarLog = 14;

enum class Step {
  Iteration,   ///< The next iteration of a loop.
  Simdgroup,   ///< The next SIMD group of the threadgroup.
  Threadgroup, ///< The next threadgroup along x, same SIMD group.
  Grid,        ///< The next 32 threads along x of the grid.
};

class Slopes {
public:
  Slopes(Function &kernel, const air::KernelReflection &reflection, const LoopInfo &loops, Step step,
         const Loop *iterated = nullptr)
      : layout_(kernel.getDataLayout()), loops_(loops), step_(step), iterated_(iterated) {
    for (const air::Argument &described : reflection.arguments)
      if (described.builtin != Builtin::None && described.parameter < kernel.arg_size())
        builtins_[kernel.getArg(described.parameter)] = described.builtin;
  }

  /// Of a pointer: an i64.
  Slope of(Value *value) {
    if (isa<Constant>(value))
      return {};
    if (auto *argument = dyn_cast<Argument>(value))
      return value->getType()->isVectorTy() ? Slope{} : ofBuiltin(*argument, 0);
    auto known = known_.find(value);
    if (known != known_.end())
      return known->second;
    known_[value] = {}; // Assumed of a loop's own phi.
    Slope slope = ofInstruction(*cast<Instruction>(value));
    known_[value] = slope;
    return slope;
  }

private:
  Slope ofBuiltin(const Argument &argument, uint64_t component) {
    auto found = builtins_.find(&argument);
    Type *type = argument.getType()->getScalarType();
    if (found == builtins_.end() || component != 0)
      return {};
    uint64_t steps = 0;
    switch (found->second) {
    case Builtin::ThreadgroupPositionInGrid:
      steps = step_ == Step::Threadgroup;
      break;
    case Builtin::SimdgroupIndexInThreadgroup:
      steps = step_ == Step::Simdgroup;
      break;
    case Builtin::ThreadIndexInThreadgroup:
    case Builtin::ThreadPositionInThreadgroup:
      steps = step_ == Step::Simdgroup || step_ == Step::Grid ? 32 : 0;
      break;
    case Builtin::ThreadPositionInGrid:
      if (step_ == Step::Iteration)
        break;
      if (step_ != Step::Grid)
        return kUnknown;
      steps = 32;
      break;
    default:
      break;
    }
    return steps ? Slope{true, ConstantInt::get(type, steps)} : Slope{};
  }

  Slope ofInstruction(Instruction &instruction) {
    if (auto *phi = dyn_cast<PHINode>(&instruction))
      return ofPhi(*phi);
    if (auto *extract = dyn_cast<ExtractElementInst>(&instruction)) {
      auto *argument = dyn_cast<Argument>(extract->getVectorOperand());
      auto *index = dyn_cast<ConstantInt>(extract->getIndexOperand());
      if (argument && index)
        return ofBuiltin(*argument, index->getZExtValue());
    }
    SmallVector<Slope, 3> slopes;
    bool allZero = true;
    for (Value *operand : instruction.operands()) {
      if (isa<BasicBlock>(operand))
        return kUnknown;
      Slope slope = isa<Function>(operand) ? Slope{} : of(operand);
      if (!slope.isKnown)
        return kUnknown;
      allZero &= slope.isZero();
      slopes.push_back(slope);
    }
    if (allZero)
      return {};
    IRBuilder<> builder(&instruction);
    builder.SetInsertPoint(instruction.getParent(), std::next(instruction.getIterator()));
    switch (instruction.getOpcode()) {
    case Instruction::Add:
    case Instruction::Or: // Of parts that do not overlap, when it is part of an address.
      return {true, sum(builder, slopes[0].value, slopes[1].value)};
    case Instruction::Sub:
      if (slopes[1].isZero())
        return slopes[0];
      return kUnknown;
    case Instruction::Mul:
      if (!slopes[0].isZero() && !slopes[1].isZero())
        return kUnknown;
      return {true, slopes[0].isZero()
                        ? product(builder, slopes[1].value, instruction.getOperand(0))
                        : product(builder, slopes[0].value, instruction.getOperand(1))};
    case Instruction::Shl:
      if (!slopes[1].isZero())
        return kUnknown;
      return {true, builder.CreateShl(slopes[0].value, instruction.getOperand(1))};
    case Instruction::ZExt:
    case Instruction::SExt:
      return {true, builder.CreateSExt(slopes[0].value, instruction.getType())};
    case Instruction::Trunc:
      return {true, builder.CreateTrunc(slopes[0].value, instruction.getType())};
    case Instruction::Freeze:
      return slopes[0];
    case Instruction::Select:
      return slopes[1].value ? slopes[1] : slopes[2].value ? slopes[2] : kUnknown;
    case Instruction::Call:
      if (isa<MinMaxIntrinsic>(instruction))
        return slopes[0].value ? slopes[0] : slopes[1];
      return kUnknown;
    case Instruction::GetElementPtr:
      return ofAddress(cast<GetElementPtrInst>(instruction), slopes, builder);
    default:
      return kUnknown;
    }
  }

  Slope ofPhi(PHINode &phi) {
    if (!phi.getType()->isPointerTy() && !phi.getType()->isIntegerTy())
      return kUnknown;
    const Loop *loop = loops_.getLoopFor(phi.getParent());
    bool isHeader = loop && loop->getHeader() == phi.getParent();
    if (isHeader && loop == iterated_)
      return ofIteration(phi, *loop);
    Slope common;
    bool isFirst = true;
    for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
      if (isHeader && loop->contains(phi.getIncomingBlock(i)))
        continue;
      Slope slope = of(phi.getIncomingValue(i));
      if (!slope.isKnown || (!isFirst && slope.value != common.value))
        return kUnknown;
      common = slope;
      isFirst = false;
    }
    return common;
  }

  /// What the loop adds to its own phi.
  Slope ofIteration(PHINode &phi, const Loop &loop) {
    BasicBlock *latch = loop.getLoopLatch();
    auto *next = latch ? dyn_cast<Instruction>(phi.getIncomingValueForBlock(latch)) : nullptr;
    if (!next)
      return kUnknown;
    auto *address = dyn_cast<GetElementPtrInst>(next);
    Value *step = nullptr;
    if (next->getOpcode() == Instruction::Add)
      step = next->getOperand(0) == &phi   ? next->getOperand(1)
             : next->getOperand(1) == &phi ? next->getOperand(0)
                                           : nullptr;
    else if (address && address->getPointerOperand() == &phi && address->getNumIndices() == 1)
      step = address->getOperand(1);
    // It is used where the phi is.
    if (!step || (!isa<Constant>(step) && !loop.isLoopInvariant(step)))
      return kUnknown;
    if (!address)
      return {true, step};
    IRBuilder<> builder(phi.getParent(), phi.getParent()->getFirstInsertionPt());
    uint64_t stride = layout_.getTypeAllocSize(address->getSourceElementType()).getFixedValue();
    return {true, product(builder, builder.CreateSExtOrTrunc(step, builder.getInt64Ty()),
                          builder.getInt64(stride))};
  }

  Slope ofAddress(GetElementPtrInst &address, ArrayRef<Slope> slopes, IRBuilder<> &builder) {
    if (address.getType()->isVectorTy())
      return kUnknown;
    Value *total = slopes[0].value;
    unsigned index = 1;
    for (auto step = gep_type_begin(address); step != gep_type_end(address); ++step, ++index) {
      Value *slope = slopes[index].value;
      if (!slope)
        continue;
      uint64_t stride = step.getSequentialElementStride(layout_).getFixedValue();
      Value *wide = builder.CreateSExtOrTrunc(slope, builder.getInt64Ty());
      total = sum(builder, total, product(builder, wide, builder.getInt64(stride)));
    }
    return {true, total};
  }

  static Value *sum(IRBuilder<> &builder, Value *left, Value *right) {
    return !left ? right : !right ? left : builder.CreateAdd(left, right);
  }

  static Value *product(IRBuilder<> &builder, Value *left, Value *right) {
    auto isOne = [](Value *value) {
      auto *literal = dyn_cast<ConstantInt>(value);
      return literal && literal->isOne();
    };
    return isOne(left) ? right : isOne(right) ? left : builder.CreateMul(left, right);
  }

  const DataLayout &layout_;
  const LoopInfo &loops_;
  Step step_;
  const Loop *iterated_;
  DenseMap<const Value *, Builtin> builtins_;
  DenseMap<const Value *, Slope> known_;
};

void addPrefetch(IRBuilder<> &builder, Value *pointer, Value *distance) {
  Value *place = builder.CreateGEP(builder.getInt8Ty(), pointer, distance);
  builder.CreateIntrinsic(Intrinsic::prefetch, {pointer->getType()},
                          {place, builder.getInt32(0), builder.getInt32(3), builder.getInt32(1)});
}

/// Where a load begins and ends, as distances from `base` with lane 0's place in it: the part of an
/// address that depends on the lane and on nothing else is taken out.
struct Extent {
  Value *base;
  int64_t begin, end;
};

class Extents {
public:
  Extents(Function &kernel, const air::KernelReflection &reflection)
      : layout_(kernel.getDataLayout()) {
    for (const air::Argument &described : reflection.arguments)
      if (described.builtin == Builtin::ThreadIndexInSimdgroup &&
          described.parameter < kernel.arg_size())
        lane_ = kernel.getArg(described.parameter);
  }

  Extent of(LoadInst &load) const {
    int64_t first = 0, last = 0;
    Value *base = load.getPointerOperand();
    while (auto *address = dyn_cast<GetElementPtrInst>(base)) {
      int64_t low = 0, high = 0;
      if (address->getType()->isVectorTy() || !offsetOf(*address, low, high))
        break;
      first += low;
      last += high;
      base = address->getPointerOperand();
    }
    int64_t size = layout_.getTypeStoreSize(load.getType()).getFixedValue();
    return {base, std::min(first, last), std::max(first, last) + size};
  }

private:
  bool offsetOf(GetElementPtrInst &address, int64_t &low, int64_t &high) const {
    for (auto step = gep_type_begin(address); step != gep_type_end(address); ++step) {
      int64_t first = 0, last = 0;
      if (step.isStruct() || !valueOf(step.getOperand(), first, last))
        return false;
      int64_t stride = step.getSequentialElementStride(layout_).getFixedValue();
      low += first * stride;
      high += last * stride;
    }
    return true;
  }

  /// In the first lane and in the last.
  bool valueOf(const Value *value, int64_t &first, int64_t &last) const {
    if (auto *literal = dyn_cast<ConstantInt>(value)) {
      first = last = literal->getSExtValue();
      return literal->getBitWidth() <= 64;
    }
    if (value == lane_) {
      last = air::kSimdWidth - 1;
      return true;
    }
    if (isa<ZExtInst, SExtInst>(value))
      return valueOf(cast<CastInst>(value)->getOperand(0), first, last);
    auto *sum = dyn_cast<BinaryOperator>(value);
    if (!sum || sum->getOpcode() != Instruction::Add)
      return false;
    int64_t more = 0, moreLast = 0;
    if (!valueOf(sum->getOperand(0), first, last) || !valueOf(sum->getOperand(1), more, moreLast))
      return false;
    first += more;
    last += moreLast;
    return true;
  }

  const DataLayout &layout_;
  const Value *lane_ = nullptr;
};

/// The threads of a group read a run without gaps, turn after turn: 128 bytes of each SIMD group. The
/// processor's own prefetchers keep up with that, and a row ahead is more than the first cache holds
/// beside it. (Rows of 26 KB took 1.1 times as long with prefetches.)
bool isSweep(const LoadInst &load, const Slope &simdgroup) {
  auto *literal = dyn_cast_or_null<ConstantInt>(simdgroup.value);
  uint64_t size = load.getDataLayout().getTypeStoreSize(load.getType()).getFixedValue();
  return literal && literal->getValue() == size * air::kSimdWidth;
}

/// `step` times the power of two that makes it large enough; a negative one stays.
Value *makeFar(IRBuilder<> &builder, Value *step) {
  Value *zeros = builder.CreateBinaryIntrinsic(Intrinsic::ctlz, step, builder.getFalse());
  Value *doublings = builder.CreateBinaryIntrinsic(
      Intrinsic::smax, builder.CreateSub(zeros, builder.getInt64(63 - kFarLog)),
      builder.getInt64(0));
  return builder.CreateShl(step, builder.CreateAnd(doublings, 15));
}

/// Of a kernel without loops, whose calls follow each other in the loop of its entry point.
unsigned prefetchStreams(Function &kernel, const air::KernelReflection &reflection,
                         const LoopInfo &loops) {
  Slopes slopes(kernel, reflection, loops, Step::Grid);
  SmallVector<std::pair<LoadInst *, int64_t>> streams;
  for (Instruction &instruction : instructions(kernel)) {
    auto *load = dyn_cast<LoadInst>(&instruction);
    if (!load || load->getPointerAddressSpace() != 1)
      continue;
    Slope slope = slopes.of(load->getPointerOperand());
    auto *literal = slope.value ? dyn_cast<ConstantInt>(slope.value) : nullptr;
    int64_t bytes = literal ? literal->getSExtValue() : 0;
    if (bytes > 0 && bytes <= kStreamBytes)
      streams.push_back({load, (kStreamBytes + bytes - 1) / bytes * bytes});
  }
  if (streams.size() > kMostStreams)
    return 0;
  for (auto &[load, distance] : streams) {
    IRBuilder<> builder(load);
    addPrefetch(builder, load->getPointerOperand(), builder.getInt64(uint64_t(distance)));
  }
  return unsigned(streams.size());
}

bool isProduct(const Instruction &instruction) {
  auto *call = dyn_cast<CallInst>(&instruction);
  return call && call->getCalledFunction() &&
         call->getCalledFunction()->getName().starts_with("air.simdgroup_matrix_8x8_multiply_accumulate");
}

} // namespace

// Tiles are copied between barriers, where nothing else is there to wait behind; the lines of the next
// tiles come while the products of these are made.
unsigned prefetchNextTiles(Function &kernel, const air::KernelReflection &reflection) {
  DominatorTree dominators(kernel);
  LoopInfo loops(dominators);
  unsigned count = 0;
  for (const Loop *loop : loops.getLoopsInPreorder()) {
    Instruction *product = nullptr;
    SmallVector<LoadInst *> streams;
    for (BasicBlock *block : loop->blocks()) {
      if (loops.getLoopFor(block) != loop)
        continue;
      for (Instruction &instruction : *block) {
        auto *load = dyn_cast<LoadInst>(&instruction);
        if (load && load->getPointerAddressSpace() == 1)
          streams.push_back(load);
        else if (!product && isProduct(instruction))
          product = &instruction;
      }
    }
    if (!product)
      continue;
    Slopes slopes(kernel, reflection, loops, Step::Iteration, loop);
    for (LoadInst *load : streams) {
      Slope slope = slopes.of(load->getPointerOperand());
      if (!slope.value || !dominators.dominates(load, product))
        continue;
      IRBuilder<> builder(product);
      addPrefetch(builder, load->getPointerOperand(), slope.value);
      ++count;
    }
  }
  return count;
}

unsigned insertPrefetches(Function &kernel, const air::KernelReflection &reflection) {
  DominatorTree dominators(kernel);
  LoopInfo loops(dominators);
  if (loops.empty())
    return prefetchStreams(kernel, reflection, loops);
  SmallVector<LoadInst *> streams;
  for (Instruction &instruction : instructions(kernel)) {
    auto *load = dyn_cast<LoadInst>(&instruction);
    if (!load || load->getPointerAddressSpace() != 1)
      continue;
    const Loop *loop = loops.getLoopFor(load->getParent());
    if (loop && !loop->isLoopInvariant(load->getPointerOperand()))
      streams.push_back(load);
  }
  Slopes overGroups(kernel, reflection, loops, Step::Threadgroup);
  Slopes overSimdgroups(kernel, reflection, loops, Step::Simdgroup);
  // Where SIMD groups or threadgroups go over the rows of one stream, what they share is small and comes
  // round again.
  SmallPtrSet<const Loop *, 4> rowLoops, groupLoops;
  auto isPitch = [](const Slope &slope) { return slope.value && !isa<ConstantInt>(slope.value); };
  for (LoadInst *load : streams) {
    if (isPitch(overSimdgroups.of(load->getPointerOperand())))
      rowLoops.insert(loops.getLoopFor(load->getParent()));
    if (isPitch(overGroups.of(load->getPointerOperand())))
      groupLoops.insert(loops.getLoopFor(load->getParent()));
  }
  // What one loop has asked for the next one need not: it reads the same data again.
  MapVector<std::pair<const Value *, const Value *>, const Loop *> asked;
  std::map<std::tuple<const BasicBlock *, Value *, Value *>, Value *> choices;
  // Loads of one record ask for its lines together.
  struct Record {
    LoadInst *first;
    int64_t begin, end;
  };
  MapVector<std::tuple<const BasicBlock *, Value *, Value *>, Record> records;
  Extents extents(kernel, reflection);
  for (LoadInst *load : streams) {
    Value *pointer = load->getPointerOperand();
    Slope group = overGroups.of(pointer), simdgroup = overSimdgroups.of(pointer);
    const Loop *loop = loops.getLoopFor(load->getParent());
    if ((simdgroup.isZero() && rowLoops.contains(loop)) ||
        (group.isZero() && !isPitch(simdgroup) && groupLoops.contains(loop)))
      continue;
    if (isSweep(*load, simdgroup))
      continue;
    Value *step = group.isKnown ? group.value : nullptr;
    IRBuilder<> builder(load);
    if (simdgroup.isKnown && simdgroup.value && step) {
      // One choice a block, so that loads of one record share their prefetches.
      Value *&choice = choices[{load->getParent(), simdgroup.value, step}];
      if (!choice)
        choice = builder.CreateSelect(
            builder.CreateICmpUGE(simdgroup.value, builder.getInt64(kNearBytes)), simdgroup.value,
            step);
      step = choice;
    } else if (simdgroup.isKnown && simdgroup.value) {
      step = simdgroup.value;
    }
    if (step && !isa<ConstantInt>(step)) {
      Value *&far = choices[{load->getParent(), step, nullptr}];
      if (!far)
        far = makeFar(builder, step);
      step = far;
    }
    auto *literal = dyn_cast_or_null<ConstantInt>(step);
    if (!step || (literal && literal->getValue().abs().ult(kNearBytes)))
      continue;
    auto key = std::pair{getUnderlyingObject(pointer), static_cast<const Value *>(group.value)};
    if (asked.insert({key, loop}).first->second != loop)
      continue;
    Extent extent = extents.of(*load);
    auto [record, isNew] = records.insert(
        {{load->getParent(), extent.base, step}, {load, extent.begin, extent.end}});
    record->second.begin = std::min(record->second.begin, extent.begin);
    record->second.end = std::max(record->second.end, extent.end);
  }
  unsigned count = 0;
  for (auto &[key, record] : records) {
    auto &[block, base, step] = key;
    IRBuilder<> builder(record.first);
    for (int64_t line = record.begin; line < record.end; line += kLineBytes) {
      addPrefetch(builder, builder.CreatePtrAdd(base, builder.getInt64(uint64_t(line))), step);
      ++count;
    }
  }
  return count;
}

} // namespace pewter::cpu::codegen
