// SPDX-License-Identifier: Apache-2.0
//
// An expression has one code, a vector of integers below 16, and otherwise operands whose elements are
// all the same. Its roots are what others use. Costs a walk over the function; saves where an expression
// has more operations than the two look-ups of 32 elements.
// Tested by TabulateCodes_test.cpp.
#include "cpu/codegen/target/TabulateCodes.h"
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

using namespace llvm;

namespace pewter::cpu::codegen {
namespace {

constexpr unsigned kEntries = 16;

class Tabulator {
public:
  explicit Tabulator(Function &function)
      : function_(function), layout_(function.getDataLayout()), builder_(function.getContext()) {}

  unsigned run() {
    // Definitions come before uses in this order, loops' phis apart, and phis are no part of expressions.
    for (Instruction &instruction : instructions(function_))
      if (Value *code = codeOf(instruction))
        codes_[&instruction] = code;
    SmallVector<Instruction *> roots;
    for (Instruction &instruction : instructions(function_))
      if (isRoot(instruction))
        roots.push_back(&instruction);
    // All tables first: an expression may be part of another.
    SmallVector<std::pair<Instruction *, Value *>> replacements;
    for (Instruction *root : roots)
      if (Value *looked = lookUp(*root))
        replacements.push_back({root, looked});
    for (auto &[root, looked] : replacements)
      root->replaceAllUsesWith(looked);
    SmallVector<WeakTrackingVH> dead;
    for (auto &[root, looked] : replacements)
      dead.push_back(root);
    RecursivelyDeleteTriviallyDeadInstructionsPermissive(dead);
    return unsigned(replacements.size());
  }

private:
  static FixedVectorType *wideType(const Value &value) {
    auto *type = dyn_cast<FixedVectorType>(value.getType());
    return type && type->getNumElements() % kEntries == 0 && type->getNumElements() > kEntries ? type
                                                                                               : nullptr;
  }

  static bool isShared(const Value *value) {
    if (auto *constant = dyn_cast<Constant>(value))
      return constant->getSplatValue() != nullptr;
    auto *shuffle = dyn_cast<ShuffleVectorInst>(value);
    return shuffle && getSplatIndex(shuffle->getShuffleMask()) >= 0;
  }

  static bool isElementwise(const Instruction &instruction) {
    switch (instruction.getOpcode()) {
    case Instruction::FNeg:
    case Instruction::FAdd:
    case Instruction::FSub:
    case Instruction::FMul:
    case Instruction::Add:
    case Instruction::Sub:
    case Instruction::Mul:
    case Instruction::Shl:
    case Instruction::LShr:
    case Instruction::AShr:
    case Instruction::And:
    case Instruction::Or:
    case Instruction::Xor:
    case Instruction::UIToFP:
    case Instruction::SIToFP:
    case Instruction::ICmp:
    case Instruction::Select:
      return true;
    case Instruction::BitCast: {
      auto *from = dyn_cast<FixedVectorType>(instruction.getOperand(0)->getType());
      auto *to = dyn_cast<FixedVectorType>(instruction.getType());
      return from && to && from->getNumElements() == to->getNumElements();
    }
    case Instruction::Call: {
      auto *call = dyn_cast<IntrinsicInst>(&instruction);
      return call && (call->getIntrinsicID() == Intrinsic::fma ||
                      call->getIntrinsicID() == Intrinsic::fmuladd);
    }
    default:
      return false;
    }
  }

  static iterator_range<User::op_iterator> operandsOf(Instruction &instruction) {
    if (auto *call = dyn_cast<CallInst>(&instruction))
      return {call->arg_begin(), call->arg_end()};
    return instruction.operands();
  }

  /// The code that all of the instruction depends on; null where there is none. A code is its own.
  Value *codeOf(Instruction &instruction) {
    FixedVectorType *type = wideType(instruction);
    if (!type)
      return nullptr;
    if (isElementwise(instruction)) {
      Value *common = nullptr;
      bool isExpression = true;
      for (Value *operand : operandsOf(instruction)) {
        if (isShared(operand))
          continue;
        Value *code = codes_.lookup(operand);
        isExpression &= code && (!common || common == code);
        common = code;
      }
      if (isExpression && common)
        return common;
    }
    if (!type->getElementType()->isIntegerTy(32))
      return nullptr;
    KnownBits bits = computeKnownBits(&instruction, layout_);
    return bits.getMaxValue().ult(kEntries) && !bits.isConstant() ? &instruction : nullptr;
  }

  bool isRoot(Instruction &instruction) const {
    Value *code = codes_.lookup(&instruction);
    Type *element = code ? wideType(instruction)->getElementType() : nullptr;
    if (!code || code == &instruction || !(element->isFloatTy() || element->isIntegerTy(32)))
      return false;
    return any_of(instruction.users(), [&](User *user) { return codes_.lookup(user) != code; });
  }

  /// Counts the operations of an expression, and of those the ones that a table of them needs too.
  void count(Value *value, Value *code, SmallPtrSetImpl<Value *> &seen, unsigned &all,
             unsigned &kept, bool &varies) {
    auto *instruction = dyn_cast<Instruction>(value);
    if (value == code || !instruction || codes_.lookup(value) != code) {
      varies = value != code && !isa<Constant>(value);
      return;
    }
    varies = false;
    for (Value *operand : operandsOf(*instruction)) {
      bool part = false;
      count(operand, code, seen, all, kept, part);
      varies |= part;
    }
    if (isa<BitCastInst>(instruction) || !seen.insert(value).second)
      return;
    // A multiplication and the addition of its result are one operation where contraction is allowed.
    bool isFused = instruction->getOpcode() == Instruction::FMul && instruction->hasAllowContract() &&
                   instruction->hasOneUse();
    all += !isFused;
    kept += varies && !isFused;
  }

  Value *tableOf(Value *value, Value *code, DenseMap<Value *, Value *> &tables) {
    Value *&known = tables[value];
    if (known)
      return known;
    Value *result;
    auto *type = cast<FixedVectorType>(value->getType());
    auto *narrow = FixedVectorType::get(type->getElementType(), kEntries);
    if (value == code) {
      SmallVector<Constant *, kEntries> all;
      for (unsigned i = 0; i < kEntries; ++i)
        all.push_back(ConstantInt::get(type->getElementType(), i));
      result = ConstantVector::get(all);
    } else if (auto *constant = dyn_cast<Constant>(value)) {
      result = ConstantVector::getSplat(narrow->getElementCount(), constant->getSplatValue());
    } else if (codes_.lookup(value) != code) {
      auto *shuffle = cast<ShuffleVectorInst>(value);
      int index = getSplatIndex(shuffle->getShuffleMask());
      int length = int(cast<FixedVectorType>(shuffle->getOperand(0)->getType())->getNumElements());
      result = builder_.CreateShuffleVector(
          shuffle->getOperand(index < length ? 0 : 1),
          SmallVector<int, kEntries>(kEntries, index < length ? index : index - length));
    } else {
      auto *instruction = cast<Instruction>(value);
      SmallVector<Value *, 3> operands;
      for (Value *operand : operandsOf(*instruction))
        operands.push_back(tableOf(operand, code, tables));
      result = rebuild(*instruction, operands, narrow);
    }
    return tables[value] = result;
  }

  Value *rebuild(Instruction &instruction, ArrayRef<Value *> operands, Type *type) {
    Value *result;
    if (auto *call = dyn_cast<IntrinsicInst>(&instruction))
      result = builder_.CreateIntrinsic(call->getIntrinsicID(), {type}, operands);
    else if (auto *cast = dyn_cast<CastInst>(&instruction))
      result = builder_.CreateCast(cast->getOpcode(), operands[0], type);
    else if (auto *compare = dyn_cast<ICmpInst>(&instruction))
      result = builder_.CreateICmp(compare->getPredicate(), operands[0], operands[1]);
    else if (isa<SelectInst>(instruction))
      result = builder_.CreateSelect(operands[0], operands[1], operands[2]);
    else if (instruction.getOpcode() == Instruction::FNeg)
      result = builder_.CreateFNeg(operands[0]);
    else
      result = builder_.CreateBinOp(Instruction::BinaryOps(instruction.getOpcode()), operands[0],
                                    operands[1]);
    if (auto *made = dyn_cast<Instruction>(result); made && isa<FPMathOperator>(instruction))
      made->setFastMathFlags(instruction.getFastMathFlags());
    return result;
  }

  /// The root's value by look-ups; null where they are not fewer operations.
  Value *lookUp(Instruction &root) {
    Value *code = codes_.lookup(&root);
    FixedVectorType *type = wideType(root);
    unsigned pieces = type->getNumElements() / kEntries, all = 0, kept = 0;
    SmallPtrSet<Value *, 8> seen;
    bool varies;
    count(&root, code, seen, all, kept, varies);
    if (pieces * all <= kept + pieces)
      return nullptr;
    builder_.SetInsertPoint(&root);
    DenseMap<Value *, Value *> tables;
    Value *table = tableOf(&root, code, tables);
    Value *index = code, *masked;
    if (PatternMatch::match(code, PatternMatch::m_And(PatternMatch::m_Value(masked),
                                                      PatternMatch::m_SpecificInt(kEntries - 1))))
      index = masked;
    Intrinsic::ID permute = type->getElementType()->isFloatTy() ? Intrinsic::x86_avx512_permvar_sf_512
                                                                : Intrinsic::x86_avx512_permvar_si_512;
    SmallVector<Value *, 8> parts;
    for (unsigned i = 0; i < pieces; ++i) {
      SmallVector<int, kEntries> lanes;
      for (unsigned k = 0; k < kEntries; ++k)
        lanes.push_back(int(i * kEntries + k));
      parts.push_back(
          builder_.CreateIntrinsic(permute, {table, builder_.CreateShuffleVector(index, lanes)}));
    }
    return concatenateVectors(builder_, parts);
  }

  Function &function_;
  const DataLayout &layout_;
  IRBuilder<> builder_;
  DenseMap<const Value *, Value *> codes_;
};

} // namespace

unsigned tabulateCodes(Function &function) { return Tabulator(function).run(); }

} // namespace pewter::cpu::codegen
