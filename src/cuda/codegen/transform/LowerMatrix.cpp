// SPDX-License-Identifier: Apache-2.0
// Lane layout, as Apple's: with lane bits l4..l0, row = l4 l2 l1, column pair = l3 l0, so a lane owns
// (row, 2 * pair) and (row, 2 * pair + 1). Element (r, c) is therefore element c & 1 of lane
// r2 c2 r1 r0 c1. A product takes 8 steps, each one shuffle of A and two of B and two fused
// multiply-adds, in the order that cpu/codegen/Vectorize.h fixes.
//
// A kernel whose products are all of 16-bit factors with a float sum, in fast math, and which looks at no elements
// takes the hardware's layout instead: row = lane / 4, column pair = lane % 4. Its products become calls that
// PairProducts turns into mma. The second factor of mma has its columns where the first has its rows: one that is
// loaded for nothing else is loaded so, any other is transposed in registers.
// Tested by codegen/Pipeline_test.cpp.
#include "cuda/codegen/transform/LowerMatrix.h"
#include "cuda/codegen/transform/EmitWarp.h"
#include "cuda/codegen/transform/PairProducts.h"
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

namespace pewter::cuda::codegen {
using namespace llvm;

namespace {

bool isMatrix(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector && vector->getNumElements() == 64;
}
Type *fragmentType(Type *matrix) {
  return FixedVectorType::get(cast<FixedVectorType>(matrix)->getElementType(), 2);
}

std::string textOf(const Instruction &instruction) {
  std::string text;
  raw_string_ostream(text) << instruction;
  return text;
}

class Lowering {
public:
  explicit Lowering(Function &function) : function_(function), builder_(function.getContext()), warp_(builder_) {}
  Result<void> run();

private:
  Value *fragment(Value *matrix);
  Result<void> lowerInstruction(Instruction &instruction);
  Result<void> lowerCall(CallInst &call, StringRef operation);
  Value *multiplyAccumulate(CallInst &call);
  /// Pointers to the lane's two elements; `adjacent` says that they are neighbours in memory.
  struct Elements {
    Value *first, *second;
    bool adjacent;
  };
  /// `isTurned`: two of a column instead of two of a row.
  Elements elementsOf(CallInst &call, unsigned pointerIndex, Type *element, bool isTurned = false);
  struct Position {
    Value *row, *column;
  };
  Position position() {
    Value *lane = warp_.lane();
    if (onUnits_)
      return {builder_.CreateLShr(lane, 2), builder_.CreateShl(builder_.CreateAnd(lane, 3), 1)};
    Value *row = builder_.CreateOr(builder_.CreateLShr(builder_.CreateAnd(lane, 16), 2),
                                   builder_.CreateAnd(builder_.CreateLShr(lane, 1), 3));
    Value *column = builder_.CreateOr(builder_.CreateLShr(builder_.CreateAnd(lane, 8), 1),
                                      builder_.CreateShl(builder_.CreateAnd(lane, 1), 1));
    return {row, column};
  }
  void replace(Instruction &instruction, Value *fragmentValue) {
    fragments_[&instruction] = fragmentValue;
    dead_.push_back(&instruction);
  }

  bool suitsUnits() const;
  /// Turns a fragment round, so that a lane has two elements of a column.
  Value *transposed(Value *fragment);
  /// Whether a loaded matrix is the second factor of products and nothing else.
  static bool isSecondFactor(const CallInst &load);

  Function &function_;
  IRBuilder<> builder_;
  EmitWarp warp_;
  bool onUnits_ = false; ///< In the layout of the matrix units.
  DenseMap<Value *, Value *> turned_; ///< Fragments as second factors.
  DenseMap<Value *, Value *> fragments_;
  SmallVector<Instruction *> dead_;
  SmallVector<PHINode *> phis_;
};

Value *Lowering::fragment(Value *matrix) {
  if (auto found = fragments_.find(matrix); found != fragments_.end())
    return found->second;
  Type *type = fragmentType(matrix->getType());
  auto *constant = cast<Constant>(matrix);
  if (isa<PoisonValue>(constant))
    return PoisonValue::get(type);
  if (isa<UndefValue>(constant))
    return UndefValue::get(type);
  if (Constant *splat = constant->getSplatValue())
    return ConstantVector::getSplat(ElementCount::getFixed(2), splat);
  return nullptr;
}

bool isProduct(const Value *value) {
  auto *call = dyn_cast<CallInst>(value);
  return call && call->getCalledFunction() &&
         call->getCalledFunction()->getName().starts_with("air.simdgroup_matrix_8x8_multiply_accumulate");
}

bool Lowering::suitsUnits() const {
  bool any = false;
  for (const Instruction &instruction : instructions(function_)) {
    if ((isa<ExtractElementInst>(instruction) || isa<InsertElementInst>(instruction)) &&
        isMatrix(instruction.getOperand(0)->getType()))
      return false;
    if (!isProduct(&instruction))
      continue;
    auto elementOf = [&](const Value *value) { return cast<VectorType>(value->getType())->getElementType(); };
    const Type *a = elementOf(instruction.getOperand(0));
    if (!(a->isHalfTy() || a->isBFloatTy()) || elementOf(instruction.getOperand(1)) != a ||
        !elementOf(instruction.getOperand(2))->isFloatTy() || !elementOf(&instruction)->isFloatTy() ||
        !instruction.hasAllowReassoc())
      return false;
    any = true;
  }
  return any;
}

bool Lowering::isSecondFactor(const CallInst &load) {
  return !load.use_empty() && all_of(load.uses(), [](const Use &use) {
    return isProduct(use.getUser()) && use.getOperandNo() == 1;
  });
}

Value *Lowering::transposed(Value *fragment) {
  auto *asmType = FunctionType::get(builder_.getInt32Ty(), {builder_.getInt32Ty()}, false);
  auto *turn = InlineAsm::get(asmType, "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r",
                              /*hasSideEffects=*/false);
  auto *call = builder_.CreateCall(turn, {builder_.CreateBitCast(fragment, builder_.getInt32Ty())});
  call->addFnAttr(Attribute::Convergent);
  return builder_.CreateBitCast(call, fragment->getType());
}

Lowering::Elements Lowering::elementsOf(CallInst &call, unsigned pointerIndex, Type *element, bool isTurned) {
  Value *pointer = call.getArgOperand(pointerIndex);
  Value *second = call.getArgOperand(pointerIndex + 1);
  auto part = [&](unsigned argument, uint64_t i) {
    return builder_.CreateExtractElement(call.getArgOperand(argument), i);
  };
  auto [row32, column32] = position();
  if (isTurned)
    std::swap(row32, column32);
  Value *row = builder_.CreateZExt(row32, builder_.getInt64Ty());
  Value *column = builder_.CreateZExt(column32, builder_.getInt64Ty());
  Value *columnStride, *rowStride, *originColumn, *originRow;
  bool adjacent = false;
  if (second->getType()->isVectorTy()) { // AIR 2.8: (pointer, dims, strides, origin)
    columnStride = part(pointerIndex + 2, 0);
    rowStride = part(pointerIndex + 2, 1);
    originColumn = part(pointerIndex + 3, 0);
    originRow = part(pointerIndex + 3, 1);
    auto *one = dyn_cast<ConstantInt>(isTurned ? rowStride : columnStride);
    adjacent = one && one->isOne();
  } else { // (pointer, elements per row, origin, transpose)
    Value *transpose = call.getArgOperand(pointerIndex + 3);
    originColumn = part(pointerIndex + 2, 0);
    originRow = part(pointerIndex + 2, 1);
    columnStride = builder_.CreateSelect(transpose, second, builder_.getInt64(1));
    rowStride = builder_.CreateSelect(transpose, builder_.getInt64(1), second);
    // Transposed, the origin's row counts rows of memory: M[r][c] = p[(o1 + c) * epr + o0 + r].
    Value *column0 = originColumn;
    originColumn = builder_.CreateSelect(transpose, originRow, originColumn);
    originRow = builder_.CreateSelect(transpose, column0, originRow);
    auto *constant = dyn_cast<ConstantInt>(transpose);
    adjacent = constant && constant->isZero() != isTurned;
  }
  Value *offset = builder_.CreateAdd(
      builder_.CreateMul(builder_.CreateAdd(originColumn, column), columnStride),
      builder_.CreateMul(builder_.CreateAdd(originRow, row), rowStride));
  Value *first = builder_.CreateGEP(element, pointer, offset);
  return {first, builder_.CreateGEP(element, first, isTurned ? rowStride : columnStride), adjacent};
}

Value *Lowering::multiplyAccumulate(CallInst &call) {
  Value *a = fragment(call.getArgOperand(0)), *b = fragment(call.getArgOperand(1)),
        *c = fragment(call.getArgOperand(2));
  if (!a || !b || !c)
    return nullptr;
  if (onUnits_) {
    auto turned = turned_.find(call.getArgOperand(1));
    return emitProduct(builder_, a, turned != turned_.end() ? turned->second : transposed(b), c);
  }
  auto *floats = FixedVectorType::get(builder_.getFloatTy(), 2);
  auto widen = [&](Value *value) {
    return value->getType() == floats ? value : builder_.CreateFPExt(value, floats);
  };
  a = widen(a), b = widen(b), c = widen(c);
  Value *mask = builder_.getInt32(~0u), *lane = warp_.lane();
  Value *sums[2] = {builder_.CreateExtractElement(c, uint64_t(0)),
                    builder_.CreateExtractElement(c, uint64_t(1))};
  Value *sameRow = builder_.CreateAnd(lane, 0b10110);    // l4 l2 l1
  Value *sameColumn = builder_.CreateAnd(lane, 0b01001); // l3 l0
  for (unsigned k = 0; k < 8; ++k) {
    unsigned columnBits = (k >> 2 & 1) << 3 | (k >> 1 & 1);
    unsigned rowBits = (k >> 2 & 1) << 4 | (k >> 1 & 1) << 2 | (k & 1) << 1;
    Value *factor = warp_.shuffle(builder_.CreateExtractElement(a, uint64_t(k & 1)),
                                  builder_.CreateOr(sameRow, columnBits), mask);
    for (uint64_t j = 0; j < 2; ++j) {
      Value *other = warp_.shuffle(builder_.CreateExtractElement(b, j),
                                   builder_.CreateOr(sameColumn, rowBits), mask);
      sums[j] = builder_.CreateIntrinsic(Intrinsic::fma, {builder_.getFloatTy()}, {factor, other, sums[j]});
    }
  }
  Value *result = PoisonValue::get(floats);
  for (uint64_t j = 0; j < 2; ++j)
    result = builder_.CreateInsertElement(result, sums[j], j);
  Type *type = fragmentType(call.getType());
  return type == floats ? result : builder_.CreateFPTrunc(result, type);
}

Result<void> Lowering::lowerCall(CallInst &call, StringRef operation) {
  Type *matrix = isMatrix(call.getType()) ? call.getType() : call.getArgOperand(0)->getType();
  Type *type = isMatrix(matrix) ? fragmentType(matrix) : nullptr;
  Type *element = type ? cast<FixedVectorType>(type)->getElementType() : nullptr;
  if (operation.starts_with("init_filled") && element) {
    replace(call, builder_.CreateVectorSplat(2, call.getArgOperand(0)));
    return {};
  }
  if (operation.starts_with("init_diag") && element) {
    auto [row, column] = position();
    Value *zero = Constant::getNullValue(element), *result = PoisonValue::get(type);
    for (uint64_t j = 0; j < 2; ++j) {
      Value *here = builder_.CreateICmpEQ(row, builder_.CreateAdd(column, builder_.getInt32(uint32_t(j))));
      result = builder_.CreateInsertElement(
          result, builder_.CreateSelect(here, call.getArgOperand(0), zero), j);
    }
    replace(call, result);
    return {};
  }
  if (operation.starts_with("load") && element) {
    const bool isTurned = onUnits_ && isSecondFactor(call);
    Elements at = elementsOf(call, 0, element, isTurned);
    Align align(element->getPrimitiveSizeInBits() / 8);
    Value *result;
    if (at.adjacent) {
      result = builder_.CreateAlignedLoad(type, at.first, align);
    } else {
      result = builder_.CreateInsertElement(PoisonValue::get(type),
                                            builder_.CreateAlignedLoad(element, at.first, align), uint64_t(0));
      result = builder_.CreateInsertElement(
          result, builder_.CreateAlignedLoad(element, at.second, align), uint64_t(1));
    }
    replace(call, result);
    if (isTurned)
      turned_[&call] = result;
    return {};
  }
  if (operation.starts_with("store") && element) {
    Value *value = fragment(call.getArgOperand(0));
    if (value) {
      Elements at = elementsOf(call, 1, element);
      Align align(element->getPrimitiveSizeInBits() / 8);
      if (at.adjacent) {
        builder_.CreateAlignedStore(value, at.first, align);
      } else {
        builder_.CreateAlignedStore(builder_.CreateExtractElement(value, uint64_t(0)), at.first, align);
        builder_.CreateAlignedStore(builder_.CreateExtractElement(value, uint64_t(1)), at.second, align);
      }
      dead_.push_back(&call);
      return {};
    }
  }
  if (operation.starts_with("multiply_accumulate"))
    if (Value *result = multiplyAccumulate(call)) {
      replace(call, result);
      return {};
    }
  return fail(ErrorKind::Unsupported, "Kernel \"{}\" uses a matrix in a way that has no per-lane form: {}",
              function_.getName().str(), textOf(call));
}

Result<void> Lowering::lowerInstruction(Instruction &instruction) {
  builder_.SetInsertPoint(&instruction);
  if (auto *call = dyn_cast<CallInst>(&instruction))
    if (Function *callee = call->getCalledFunction()) {
      StringRef name = callee->getName();
      if (name.consume_front("air.simdgroup_matrix_8x8_"))
        return lowerCall(*call, name);
    }
  bool produces = isMatrix(instruction.getType());
  bool consumes = any_of(instruction.operands(), [](const Use &use) { return isMatrix(use->getType()); });
  if (!produces && !consumes)
    return {};
  Type *type = produces ? fragmentType(instruction.getType()) : nullptr;
  if (auto *phi = dyn_cast<PHINode>(&instruction)) {
    replace(instruction, builder_.CreatePHI(type, phi->getNumIncomingValues()));
    phis_.push_back(phi);
    return {};
  }
  if (auto *load = dyn_cast<LoadInst>(&instruction)) {
    replace(instruction, builder_.CreateAlignedLoad(type, load->getPointerOperand(), load->getAlign()));
    return {};
  }
  if (auto *store = dyn_cast<StoreInst>(&instruction)) {
    if (Value *value = fragment(store->getValueOperand())) {
      builder_.CreateAlignedStore(value, store->getPointerOperand(), store->getAlign());
      dead_.push_back(store);
      return {};
    }
  }
  if (auto *select = dyn_cast<SelectInst>(&instruction)) {
    Value *a = fragment(select->getTrueValue()), *b = fragment(select->getFalseValue());
    if (a && b && !select->getCondition()->getType()->isVectorTy()) {
      replace(instruction, builder_.CreateSelect(select->getCondition(), a, b));
      return {};
    }
  }
  if (auto *freeze = dyn_cast<FreezeInst>(&instruction))
    if (Value *value = fragment(freeze->getOperand(0))) {
      replace(instruction, builder_.CreateFreeze(value));
      return {};
    }
  auto elementIndex = [](Value *index) -> std::optional<uint64_t> {
    auto *constant = dyn_cast<ConstantInt>(index);
    if (!constant || constant->getZExtValue() > 1)
      return std::nullopt;
    return constant->getZExtValue();
  };
  if (auto *extract = dyn_cast<ExtractElementInst>(&instruction))
    if (auto index = elementIndex(extract->getIndexOperand()))
      if (Value *value = fragment(extract->getVectorOperand())) {
        extract->replaceAllUsesWith(builder_.CreateExtractElement(value, *index));
        dead_.push_back(extract);
        return {};
      }
  if (auto *insert = dyn_cast<InsertElementInst>(&instruction))
    if (auto index = elementIndex(insert->getOperand(2)))
      if (Value *value = fragment(insert->getOperand(0))) {
        replace(instruction, builder_.CreateInsertElement(value, insert->getOperand(1), *index));
        return {};
      }
  return fail(ErrorKind::Unsupported, "Kernel \"{}\" uses a matrix in a way that has no per-lane form: {}",
              function_.getName().str(), textOf(instruction));
}

Result<void> Lowering::run() {
  onUnits_ = suitsUnits();
  // Definitions come before uses in reverse post-order, but for phis, which are completed at the end.
  SmallVector<Instruction *> order;
  for (BasicBlock *block : ReversePostOrderTraversal<Function *>(&function_))
    for (Instruction &instruction : *block)
      order.push_back(&instruction);
  for (Instruction *instruction : order)
    PEWTER_TRY_VOID(lowerInstruction(*instruction));
  for (PHINode *phi : phis_) {
    auto *lowered = cast<PHINode>(fragments_[phi]);
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
      Value *value = fragment(phi->getIncomingValue(i));
      if (!value)
        return fail(ErrorKind::Unsupported, "Kernel \"{}\" has a matrix constant without a per-lane form: {}",
                    function_.getName().str(), textOf(*phi));
      lowered->addIncoming(value, phi->getIncomingBlock(i));
    }
  }
  for (Instruction *instruction : dead_)
    instruction->dropAllReferences();
  for (Instruction *instruction : dead_) {
    if (!instruction->use_empty())
      instruction->replaceAllUsesWith(PoisonValue::get(instruction->getType()));
    instruction->eraseFromParent();
  }
  return {};
}

} // namespace

Result<void> lowerMatrices(Function &function) { return Lowering(function).run(); }

} // namespace pewter::cuda::codegen
