// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices. A kernel writes them in whatever order reads well; registers hold a few sums at
// a time. So loads and products wait until something needs a result or writes memory, or the block
// ends, and are then emitted in an order of our own:
//   chain   products of which each continues the sum of the one before
//   group   chains that multiply the same left matrices, as many as registers can hold the sums of
// A group is done from its first step to its last before the next begins. In each step k runs from 0
// to 7; a row of the right matrix comes from memory, an element of the left one is spread over it.
//
// Kernels with few sums keep them in registers, and their products stand where the kernel has them: an element is
// spread by a shuffle (two rows in a register) or by a load (one row). More sums than there are registers stay in
// memory (matricesStayInMemory_), and so do all where there are many products. Then a group is a call of a
// ChainFunction: its code stays in the first cache whatever the kernel's size, it holds the sums in registers for
// the whole chain, and two right matrices share a register, as do their sums in memory. Matrices that waited are
// read where they are: threadgroup memory is as near as a copy would be. Where they lie at equal distances, as parts
// of tiles do, the function steps from one to the next; else it is given a table of them.
//
// Numbers: each product starts from C in float and adds fma(A[r][k], B[k][c], sum) for k = 0 .. 7.
#include "cpu/codegen/transform/KernelEmitter.h"
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

using namespace llvm;

namespace pewter::cpu::codegen {

namespace {

/// Registers for sums: the rest is for rows, spread elements and addresses.
unsigned sumRegisters(unsigned registerBytes) { return registerBytes >= 64 ? 16 : 8; }

/// With more products than this they are calls: code generation time goes with their number, and small
/// registers mean many instructions a product.
unsigned maxInlineProducts(unsigned registerBytes) { return registerBytes >= 32 ? 96 : 4; }

using Pieces = SmallVector<Value *, 8>;

Value *asFloats(IRBuilder<> &builder, Value *vector) {
  auto *type = cast<FixedVectorType>(vector->getType());
  return type->getElementType()->isFloatTy()
             ? vector
             : builder.CreateFPExt(vector,
                                   FixedVectorType::get(builder.getFloatTy(), type->getNumElements()));
}

Value *rowAt(IRBuilder<> &builder, Value *address, Value *pitch, unsigned row) {
  return builder.CreatePtrAdd(address, builder.CreateMul(pitch, builder.getInt64(row)));
}

Value *loadRow(IRBuilder<> &builder, Type *element, Value *address) {
  return builder.CreateAlignedLoad(FixedVectorType::get(element, 8), address,
                                   Align(element->getScalarSizeInBits() / 8));
}

/// Row `k` of a right matrix as floats, once for each row of a piece.
Value *rightRow(IRBuilder<> &builder, unsigned rows, Type *element, Value *address) {
  Value *line = loadRow(builder, element, address);
  if (rows == 2)
    line = builder.CreateShuffleVector(line, {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7});
  return asFloats(builder, line);
}

/// Column `k` of a left piece of two rows, each element over its row.
Value *spreadPair(IRBuilder<> &builder, Value *piece, unsigned k) {
  SmallVector<int> mask(16, int(k));
  std::fill(mask.begin() + 8, mask.end(), int(8 + k));
  return builder.CreateShuffleVector(piece, mask);
}

Value *joined(IRBuilder<> &builder, Value *low, Value *high) {
  return builder.CreateShuffleVector(low, high,
                                     {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
}

Value *half(IRBuilder<> &builder, Value *pair, unsigned index) {
  SmallVector<int, 8> mask;
  for (unsigned i = 0; i < 8; ++i)
    mask.push_back(int(8 * index + i));
  return builder.CreateShuffleVector(pair, mask);
}

Value *spreadElement(IRBuilder<> &builder, Value *address) {
  return builder.CreateVectorSplat(
      8, builder.CreateAlignedLoad(builder.getFloatTy(), address, Align(4)));
}

Value *multiplyAdd(IRBuilder<> &builder, Value *a, Value *b, Value *c) {
  return builder.CreateIntrinsic(Intrinsic::fma, {a->getType()}, {a, b, c});
}

/// Rows of matrices that stand side by side, in registers: pairs where a register holds sixteen floats.
struct SideBySide {
  unsigned first = 0, count = 1;
};

SmallVector<SideBySide, 2> registersOfRow(unsigned matrices, unsigned registerBytes) {
  SmallVector<SideBySide, 2> registers;
  unsigned most = registerBytes >= 64 ? 2 : 1;
  for (unsigned first = 0; first < matrices; first += most)
    registers.push_back({first, std::min(most, matrices - first)});
  return registers;
}

Function *makeHelper(Function &user, const std::string &name, ArrayRef<Type *> parameters) {
  auto *type = FunctionType::get(Type::getVoidTy(user.getContext()), parameters, false);
  auto *function = Function::Create(type, GlobalValue::InternalLinkage, name, *user.getParent());
  function->addFnAttr(Attribute::NoInline);
  function->addFnAttr(Attribute::NoUnwind);
  function->addFnAttr("no-builtins");
  for (const char *key : {"target-cpu", "target-features", "prefer-vector-width",
                          "min-legal-vector-width", "frame-pointer"})
    if (user.hasFnAttribute(key))
      function->addFnAttr(user.getFnAttribute(key));
  return function;
}

/// void (to, from, pitch from row to row): a copy of a matrix as floats, `toPitch` bytes from row to row.
Function *copyFunction(Function &user, Type *element, bool isTransposed, unsigned toPitch) {
  std::string name;
  raw_string_ostream(name) << "pewter_copy_" << *element << (isTransposed ? "_across_" : "_") << toPitch;
  if (Function *known = user.getParent()->getFunction(name))
    return known;
  IRBuilder<> builder(user.getContext());
  Type *pointer = builder.getPtrTy();
  Function *function = makeHelper(user, name, {pointer, pointer, builder.getInt64Ty()});
  builder.SetInsertPoint(BasicBlock::Create(user.getContext(), "entry", function));
  Pieces rows;
  for (unsigned row = 0; row < 8; ++row)
    rows.push_back(loadRow(builder, element,
                           rowAt(builder, function->getArg(1), function->getArg(2), row)));
  if (isTransposed)
    rows = transposeRows(builder, std::move(rows));
  for (unsigned row = 0; row < 8; ++row)
    builder.CreateAlignedStore(asFloats(builder, rows[row]),
                               builder.CreatePtrAdd(function->getArg(0), builder.getInt64(row * toPitch)),
                               Align(4));
  builder.CreateRetVoid();
  return function;
}

/// void (to, from, pitch from row to row): a copy of matrices that stand side by side as floats, row after row.
Function *copyRowsFunction(Function &user, Type *element, unsigned matrices, unsigned registerBytes) {
  std::string name;
  raw_string_ostream(name) << "pewter_copy_" << *element << "_rows_of_" << 8 * matrices;
  if (Function *known = user.getParent()->getFunction(name))
    return known;
  IRBuilder<> builder(user.getContext());
  Type *pointer = builder.getPtrTy();
  Function *function = makeHelper(user, name, {pointer, pointer, builder.getInt64Ty()});
  builder.SetInsertPoint(BasicBlock::Create(user.getContext(), "entry", function));
  const unsigned bytes = element->getScalarSizeInBits() / 8;
  for (unsigned row = 0; row < 8; ++row) {
    Value *from = rowAt(builder, function->getArg(1), function->getArg(2), row);
    for (SideBySide part : registersOfRow(matrices, registerBytes)) {
      Value *line = builder.CreateAlignedLoad(
          FixedVectorType::get(element, 8 * part.count),
          builder.CreatePtrAdd(from, builder.getInt64(8 * part.first * bytes)), Align(bytes));
      builder.CreateAlignedStore(
          asFloats(builder, line),
          builder.CreatePtrAdd(function->getArg(0), builder.getInt64((row * matrices + part.first) * 32)),
          Align(4));
    }
  }
  builder.CreateRetVoid();
  return function;
}

/// What a ChainFunction is made for. Pitches are literals or null: an address with an index would be an
/// instruction of its own beside the multiply-add.
struct ChainShape {
  unsigned matrices = 0;                                       ///< Sums.
  Type *right = nullptr;                                       ///< Of an element.
  ConstantInt *leftPitch = nullptr, *rightPitch = nullptr;
  bool isPaired = false; ///< Sums stand side by side in memory, two by two.
  std::optional<SteadySteps> steady;
};

/// The function that takes sums in memory through a chain of products together:
///   void (sums..., left, rights..., steps, left pitch, right pitch)   for matrices that are steady
///   void (sums..., table, steps, left pitch, right pitch, whether right matrices stand side by side)
/// Of sums that are paired and of right matrices side by side only every second is an argument. The table has,
/// for each step, the places of the left matrix and of each right one. The sums are in registers from the first
/// step to the last. An element of the left matrix is spread by the load unit, which leaves the units that
/// shuffle to the multiply-adds, and once for all of its row: it loads no more than two registers a cycle.
class ChainFunction {
public:
  ChainFunction(Function &user, unsigned registerBytes, const ChainShape &shape)
      : user_(user), builder_(user.getContext()), shape_(shape),
        registers_(registersOfRow(shape.matrices, registerBytes)) {}

  Function *get() {
    std::string name;
    raw_string_ostream stream(name);
    stream << "pewter_multiply_" << shape_.matrices << (shape_.isPaired ? "_paired_" : "_") << *shape_.right;
    for (ConstantInt *pitch : {shape_.leftPitch, shape_.rightPitch})
      if (pitch)
        stream << "_" << pitch->getSExtValue();
      else
        stream << "_any";
    if (shape_.steady)
      stream << "_by_" << shape_.steady->left << "_" << shape_.steady->right
             << (shape_.steady->isSideBySide ? "_near" : "");
    Module &module = *user_.getParent();
    if (Function *known = module.getFunction(name))
      return known;
    const unsigned sums = shape_.isPaired ? registers_.size() : shape_.matrices;
    const unsigned rights = !shape_.steady ? 0 : shape_.steady->isSideBySide ? registers_.size() : shape_.matrices;
    Type *wide = builder_.getInt64Ty();
    SmallVector<Type *, 12> parameters(sums + 1 + rights, builder_.getPtrTy());
    parameters.append({wide, wide, wide});
    if (!shape_.steady)
      parameters.push_back(builder_.getInt1Ty());
    function_ = makeHelper(user_, name, parameters);
    const unsigned counts = sums + 1 + rights;
    firstPlace_ = sums;
    steps_ = function_->getArg(counts);
    auto pitchOr = [](ConstantInt *literal, Value *argument) { return literal ? literal : argument; };
    leftPitch_ = pitchOr(shape_.leftPitch, function_->getArg(counts + 1));
    rightPitch_ = pitchOr(shape_.rightPitch, function_->getArg(counts + 2));
    write();
    return function_;
  }

private:
  using Values = SmallVector<Value *, 16>;

  BasicBlock *block(const char *name) {
    return BasicBlock::Create(builder_.getContext(), name, function_);
  }
  Value *sumAt(unsigned matrix, unsigned row) {
    Value *sums = function_->getArg(shape_.isPaired ? matrix / 2 : matrix);
    return builder_.CreatePtrAdd(sums, builder_.getInt64(row * (shape_.isPaired ? 64 : 32)));
  }

  Value *loadSum(SideBySide matrices, unsigned row) {
    if (shape_.isPaired)
      return builder_.CreateAlignedLoad(FixedVectorType::get(builder_.getFloatTy(), 16),
                                        sumAt(matrices.first, row), Align(4));
    Value *sum = loadRow(builder_, builder_.getFloatTy(), sumAt(matrices.first, row));
    return matrices.count == 1 ? sum
                               : joined(builder_, sum,
                                        loadRow(builder_, builder_.getFloatTy(),
                                                sumAt(matrices.first + 1, row)));
  }

  void storeSum(Value *sum, SideBySide matrices, unsigned row) {
    if (shape_.isPaired || matrices.count == 1) {
      builder_.CreateAlignedStore(sum, sumAt(matrices.first, row), Align(4));
      return;
    }
    for (unsigned i = 0; i < matrices.count; ++i)
      builder_.CreateAlignedStore(half(builder_, sum, i), sumAt(matrices.first + i, row), Align(4));
  }

  void write() {
    BasicBlock *entry = block("entry"), *loop = block("loop"), *done = block("done");
    builder_.SetInsertPoint(entry);
    Values starts;
    for (unsigned row = 0; row < 8; ++row)
      for (SideBySide matrices : registers_)
        starts.push_back(loadSum(matrices, row));
    Values ends;
    if (shape_.steady || registers_.front().count == 1) {
      ends = writeLoop(starts, entry, loop, done, shape_.steady && shape_.steady->isSideBySide);
      builder_.SetInsertPoint(entry);
      builder_.CreateBr(loop);
      builder_.SetInsertPoint(done);
    } else {
      BasicBlock *near = block("near");
      ends = writeLoop(starts, entry, loop, done, /*sideBySide=*/false);
      Values others = writeLoop(starts, entry, near, done, /*sideBySide=*/true);
      builder_.SetInsertPoint(entry);
      builder_.CreateCondBr(function_->getArg(function_->arg_size() - 1), near, loop);
      builder_.SetInsertPoint(done);
      for (unsigned i = 0; i < ends.size(); ++i) {
        PHINode *phi = builder_.CreatePHI(ends[i]->getType(), 2);
        phi->addIncoming(ends[i], loop);
        phi->addIncoming(others[i], near);
        ends[i] = phi;
      }
    }
    for (unsigned row = 0; row < 8; ++row)
      for (unsigned i = 0; i < registers_.size(); ++i)
        storeSum(ends[row * registers_.size() + i], registers_[i], row);
    builder_.CreateRetVoid();
  }

  Values writeLoop(const Values &starts, BasicBlock *entry, BasicBlock *loop, BasicBlock *done,
                   bool sideBySide) {
    builder_.SetInsertPoint(loop);
    // Pointers that move on: to the matrices, or through the table.
    SmallVector<std::pair<PHINode *, int64_t>, 4> pointers;
    auto moving = [&](unsigned argument, int64_t step) {
      PHINode *pointer = builder_.CreatePHI(builder_.getPtrTy(), 2);
      pointer->addIncoming(function_->getArg(argument), entry);
      pointers.push_back({pointer, step});
      return pointer;
    };
    Value *left = moving(firstPlace_, shape_.steady ? shape_.steady->left : 8 * (1 + shape_.matrices));
    SmallVector<Value *, 4> rights; // Of each matrix; unused, if it is beside the one before.
    if (shape_.steady)
      for (unsigned i = 0, argument = firstPlace_ + 1; i < shape_.matrices; ++i)
        rights.push_back(sideBySide && i % 2 ? nullptr : moving(argument++, shape_.steady->right));
    PHINode *remaining = builder_.CreatePHI(builder_.getInt64Ty(), 2);
    SmallVector<PHINode *, 16> phis;
    for (Value *start : starts) {
      phis.push_back(builder_.CreatePHI(start->getType(), 2));
      phis.back()->addIncoming(start, entry);
    }
    if (!shape_.steady) {
      Value *table = left;
      auto entryOf = [&](unsigned index) {
        return builder_.CreateLoad(builder_.getPtrTy(),
                                   builder_.CreatePtrAdd(table, builder_.getInt64(8 * index)));
      };
      left = entryOf(0);
      for (unsigned i = 0; i < shape_.matrices; ++i)
        rights.push_back(entryOf(1 + i));
    }
    Values sums(phis.begin(), phis.end());
    for (unsigned k = 0; k < 8; ++k) {
      Values lines;
      for (SideBySide matrices : registers_)
        lines.push_back(asFloats(builder_, line(rights, matrices, k, sideBySide)));
      for (unsigned row = 0; row < 8; ++row) {
        Value *element = builder_.CreateAlignedLoad(
            builder_.getFloatTy(),
            builder_.CreatePtrAdd(rowAt(builder_, left, leftPitch_, row), builder_.getInt64(k * 4)),
            Align(4));
        for (unsigned i = 0; i < lines.size(); ++i) {
          Value *&sum = sums[row * lines.size() + i];
          unsigned width = cast<FixedVectorType>(sum->getType())->getNumElements();
          sum = multiplyAdd(builder_, builder_.CreateVectorSplat(width, element), lines[i], sum);
        }
      }
    }
    for (auto [pointer, step] : pointers)
      pointer->addIncoming(builder_.CreatePtrAdd(pointer, builder_.getInt64(step)), loop);
    Value *rest = builder_.CreateSub(remaining, builder_.getInt64(1));
    remaining->addIncoming(steps_, entry);
    remaining->addIncoming(rest, loop);
    for (unsigned i = 0; i < phis.size(); ++i)
      phis[i]->addIncoming(sums[i], loop);
    builder_.CreateCondBr(builder_.CreateICmpEQ(rest, builder_.getInt64(0)), done, loop);
    return sums;
  }

  /// Row `k` of one right matrix or of two, as in memory.
  Value *line(ArrayRef<Value *> rights, SideBySide matrices, unsigned k, bool sideBySide) {
    auto [first, count] = matrices;
    Value *place = rowAt(builder_, rights[first], rightPitch_, k);
    if (count == 2 && sideBySide)
      return builder_.CreateAlignedLoad(FixedVectorType::get(shape_.right, 16), place,
                                        Align(shape_.right->getScalarSizeInBits() / 8));
    Value *row = loadRow(builder_, shape_.right, place);
    return count == 1 ? row
                      : joined(builder_, row,
                               loadRow(builder_, shape_.right,
                                       rowAt(builder_, rights[first + 1], rightPitch_, k)));
  }

  Function &user_;
  Function *function_ = nullptr;
  IRBuilder<> builder_;
  const ChainShape shape_;
  SmallVector<SideBySide, 2> registers_;
  unsigned firstPlace_ = 0; ///< The argument behind the sums.
  Value *steps_ = nullptr, *leftPitch_ = nullptr, *rightPitch_ = nullptr;
};

bool isBarrierOfOneGroup(const Instruction &instruction) {
  auto *call = dyn_cast<CallInst>(&instruction);
  return call && call->getCalledFunction() &&
         call->getCalledFunction()->getName().starts_with("air.simdgroup.barrier");
}

bool isPrefetch(const Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  return call && call->getIntrinsicID() == Intrinsic::prefetch;
}

bool isMatrixCall(const Instruction &instruction, StringRef operation) {
  auto *call = dyn_cast<CallInst>(&instruction);
  if (!call || !call->getCalledFunction())
    return false;
  StringRef name = call->getCalledFunction()->getName();
  return name.consume_front("air.simdgroup_matrix_8x8_") && name.starts_with(operation);
}

} // namespace

/// The left and right matrices of one run, as it needs them.
struct KernelEmitter::MatrixOperands {
  DenseMap<const Value *, MatrixRows> waiting;  ///< Where those that waited are.
  DenseMap<const Value *, MatrixRows> widened;  ///< Copies as floats on the stack.
  DenseMap<const Value *, MatrixRows> pairs;    ///< The same of right matrices, two side by side.
  DenseMap<const Value *, MatrixRows> inRows;   ///< Copies of left matrices side by side.
  unsigned matricesInRows = 0;
  DenseMap<const Value *, unsigned> groups;     ///< How many groups read it as a right matrix.
  bool hasGroups = false;                       ///< More than one.
};

bool KernelEmitter::MatrixRows::isLike(const MatrixRows &other) const {
  auto isSame = [](const Value *left, const Value *right) {
    auto *a = dyn_cast<BinaryOperator>(left), *b = dyn_cast<BinaryOperator>(right);
    return left == right || (a && b && a->isIdenticalTo(b));
  };
  return element == other.element && isSame(pitch, other.pitch);
}

void KernelEmitter::countMatrices() {
  unsigned sums = 0;
  for (const Loop *loop : uniformity_.control().loops().getLoopsInPreorder())
    for (const PHINode &phi : loop->getHeader()->phis())
      sums += isMatrixType(phi.getType());
  for (const Instruction &instruction : instructions(uniformity_.function()))
    products_ += isMatrixCall(instruction, "multiply_accumulate");
  unsigned pieces = 8 / rowsPerPiece();
  matricesStayInMemory_ = sums * pieces > sumRegisters(options_.registerBytes) + 4;
  if (matricesStayInMemory_ && options_.registerBytes >= 64)
    pairSums();
}

/// Sums that one call will continue stand side by side: a register has a row of both. Which those are emitChains
/// decides; a pair that it does not make costs no more than two sums apart.
void KernelEmitter::pairSums() {
  for (const BasicBlock &block : uniformity_.function()) {
    DenseMap<const Value *, const PHINode *> unpaired; // By the left matrix.
    for (const Instruction &instruction : block) {
      auto *phi = isMatrixCall(instruction, "multiply_accumulate")
                      ? dyn_cast<PHINode>(instruction.getOperand(2))
                      : nullptr;
      if (!phi || !phi->hasOneUse() || !phi->getType()->getScalarType()->isFloatTy())
        continue;
      const PHINode *&first = unpaired[instruction.getOperand(0)];
      if (!first) {
        first = phi;
        continue;
      }
      pairedSums_[first] = {first, 0};
      pairedSums_[phi] = {first, 1};
      first = nullptr;
    }
  }
}

bool KernelEmitter::endsMatrixWork(const Instruction &instruction) const {
  if (waitingLoads_.empty() && waitingProducts_.empty())
    return false;
  if (isMatrixCall(instruction, "load") || isBarrierOfOneGroup(instruction) ||
      instruction.isLifetimeStartOrEnd() || isa<AssumeInst>(instruction) || isPrefetch(instruction))
    return false;
  auto waits = [&](const Value *value) {
    auto *call = dyn_cast<CallInst>(value);
    return call && (waitingLoads_.contains(call) || is_contained(waitingProducts_, call));
  };
  if (isMatrixCall(instruction, "multiply_accumulate")) {
    // Its factors must not wait, and a sum that waits must not have gone on already.
    auto isProduct = [&](const Value *value) { return is_contained(waitingProducts_, value); };
    return isProduct(instruction.getOperand(0)) || isProduct(instruction.getOperand(1)) ||
           (isProduct(instruction.getOperand(2)) &&
            waitingSums_.contains(instruction.getOperand(2)));
  }
  return instruction.mayWriteToMemory() || any_of(instruction.operands(), [&](const Use &operand) {
           return waits(operand.get());
         });
}

void KernelEmitter::addMultiplication(CallInst &call) {
  waitingProducts_.push_back(&call);
  waitingSums_.insert(call.getArgOperand(2));
}

void KernelEmitter::emitMatrixWork() {
  auto prefetches = std::move(waitingPrefetches_);
  waitingPrefetches_.clear();
  // A core has room for a dozen lines that are on their way: asked for at once they would hold up all else.
  auto prefetchSome = [&, next = size_t(0)](size_t end) mutable {
    for (; next < std::min(end, prefetches.size()); ++next)
      prefetch(prefetches[next]);
  };
  if (waitingLoads_.empty() && waitingProducts_.empty())
    return prefetchSome(prefetches.size());
  auto loads = std::move(waitingLoads_);
  auto products = std::move(waitingProducts_);
  waitingLoads_.clear();
  waitingProducts_.clear();
  waitingSums_.clear();

  // Loads that others than these products want are done first.
  SmallPtrSet<const User *, 32> now(products.begin(), products.end());
  MatrixOperands operands;
  for (auto &[call, rows] : loads) {
    bool isFactor = all_of(call->uses(), [&](const Use &use) {
      return use.getOperandNo() < 2 && now.contains(use.getUser());
    });
    if (isFactor)
      operands.waiting[call] = rows;
    else
      defineUniform(*call, matrixOf(loadMatrix(rows)));
  }

  SmallVector<SmallVector<CallInst *, 8>, 16> chains;
  DenseMap<const Value *, unsigned> ends;
  for (CallInst *product : products) {
    auto end = ends.find(product->getArgOperand(2));
    unsigned chain = chains.size();
    if (end == ends.end()) {
      chains.emplace_back();
    } else {
      chain = end->second;
      ends.erase(end);
    }
    chains[chain].push_back(product);
    ends[product] = chain;
  }

  auto isAlike = [](ArrayRef<CallInst *> left, ArrayRef<CallInst *> right) {
    return left.size() == right.size() && all_of(zip(left, right), [](auto pair) {
             auto [a, b] = pair;
             return a->getArgOperand(0) == b->getArgOperand(0) && a->getType() == b->getType();
           });
  };
  unsigned most = sumRegisters(options_.registerBytes) / (8 / rowsPerPiece());
  std::vector<SmallVector<ArrayRef<CallInst *>, 4>> groups;
  SmallVector<bool> done(chains.size(), false);
  for (unsigned first = 0; first < chains.size(); ++first) {
    if (done[first])
      continue;
    groups.emplace_back();
    for (unsigned i = first; i < chains.size() && groups.back().size() < most; ++i)
      if (!done[i] && isAlike(chains[first], chains[i])) {
        done[i] = true;
        groups.back().push_back(chains[i]);
      }
    SmallPtrSet<const Value *, 16> rights;
    for (ArrayRef<CallInst *> chain : groups.back())
      for (CallInst *product : chain)
        if (rights.insert(product->getArgOperand(1)).second)
          ++operands.groups[product->getArgOperand(1)];
  }
  operands.hasGroups = groups.size() > 1;
  for (unsigned i = 0; i < groups.size(); ++i) {
    prefetchSome(prefetches.size() * (i + 1) / groups.size());
    emitChains(groups[i], operands);
  }
  prefetchSome(prefetches.size());
}

void KernelEmitter::emitChains(ArrayRef<ArrayRef<CallInst *>> chains, MatrixOperands &operands) {
  if (matricesAreCalls()) {
    // As far as nobody asks for what lies between, and nothing is rounded there.
    const unsigned steps = chains.front().size();
    for (unsigned begin = 0; begin < steps;) {
      unsigned end = begin + 1;
      auto goesOn = [&](ArrayRef<CallInst *> chain) {
        return chain[end - 1]->hasOneUse() && chain[end - 1]->getType()->getScalarType()->isFloatTy();
      };
      while (end < steps && all_of(chains, goesOn))
        ++end;
      SmallVector<ArrayRef<CallInst *>, 4> parts;
      for (ArrayRef<CallInst *> chain : chains)
        parts.push_back(chain.slice(begin, end - begin));
      callChains(parts, operands);
      begin = end;
    }
    return;
  }
  SmallVector<Pieces, 4> sums;
  for (ArrayRef<CallInst *> chain : chains)
    sums.push_back(widened(piecesOf(uniform(chain.front()->getArgOperand(2)))));
  for (unsigned step = 0; step < chains.front().size(); ++step) {
    SmallVector<CallInst *, 4> products;
    for (ArrayRef<CallInst *> chain : chains)
      products.push_back(chain[step]);
    multiplyPieces(products, sums, operands);
    for (unsigned i = 0; i < chains.size(); ++i) {
      Pieces result = sums[i];
      if (Type *element = products[i]->getType()->getScalarType(); !element->isFloatTy()) {
        for (Value *&piece : result)
          piece = builder_.CreateFPTrunc(piece, FixedVectorType::get(element, rowsPerPiece() * 8));
        sums[i] = widened(result);
      }
      defineProduct(*products[i], step + 1 < chains[i].size() ? chains[i][step + 1] : nullptr,
                    result);
    }
  }
}

bool KernelEmitter::matricesAreCalls() const {
  return matricesStayInMemory_ || products_ > maxInlineProducts(options_.registerBytes);
}

void KernelEmitter::copyWidened(const Value *matrix, const MatrixRows &to, MatrixOperands &operands) {
  auto waiting = operands.waiting.find(matrix);
  if (waiting == operands.waiting.end())
    return storeMatrix(to, widened(piecesOf(uniform(matrix))));
  const MatrixRows &from = waiting->second;
  if (!matricesAreCalls())
    return storeMatrix(to, widened(loadMatrix(from)));
  unsigned pitch = unsigned(cast<ConstantInt>(to.pitch)->getZExtValue());
  builder_.CreateCall(copyFunction(target_, from.element, from.isTransposed, pitch),
                      {to.address, builder_.CreateAddrSpaceCast(from.address, builder_.getPtrTy()),
                       from.pitch});
}

/// Matrix `index` of memory on the stack that grows as needed; in pairs two stand side by side.
KernelEmitter::MatrixRows KernelEmitter::scratch(AllocaInst *&memory, unsigned index, bool inPairs) {
  auto *real = builder_.getFloatTy();
  const unsigned matrices = inPairs ? index / 2 * 2 + 2 : index + 1;
  if (!memory)
    memory = stack(ArrayType::get(real, 64 * matrices), "matrices");
  else if (cast<ArrayType>(memory->getAllocatedType())->getNumElements() < 64 * matrices)
    memory->setAllocatedType(ArrayType::get(real, 64 * matrices));
  const int64_t offset = inPairs ? index / 2 * 512 + index % 2 * 32 : index * 256;
  MatrixRows rows{builder_.CreatePtrAdd(memory, builder_.getInt64(offset)),
                  builder_.getInt64(inPairs ? 64 : 32), real};
  rows.root = memory;
  rows.offset = offset;
  return rows;
}

/// A copy of a factor as floats.
KernelEmitter::MatrixRows KernelEmitter::onStack(const Value *matrix, MatrixOperands &operands) {
  MatrixRows &copy = operands.widened[matrix];
  if (!copy.address) {
    copy = scratch(matrixScratch_, operands.widened.size() - 1, /*inPairs=*/false);
    copyWidened(matrix, copy, operands);
  }
  return copy;
}

/// The same of narrow left matrices that a chain takes one beside the other, in one go; empty for others.
SmallVector<KernelEmitter::MatrixRows, 32>
KernelEmitter::copiesInRows(ArrayRef<const Value *> matrices, MatrixOperands &operands) {
  const unsigned count = matrices.size();
  SmallVector<MatrixRows, 32> copies;
  for (const Value *matrix : matrices)
    if (auto known = operands.inRows.find(matrix); known != operands.inRows.end())
      copies.push_back(known->second);
  auto areBeside = [&](ArrayRef<MatrixRows> places, int64_t bytes) {
    for (unsigned i = 0; i + 1 < places.size(); ++i)
      if (!places[i].isLike(places[i + 1]) || distance(places[i], places[i + 1]) != bytes)
        return false;
    return places.size() == count && none_of(places, [](const MatrixRows &rows) { return rows.isTransposed; });
  };
  if (!copies.empty())
    return areBeside(copies, 32) ? copies : SmallVector<MatrixRows, 32>();
  SmallVector<MatrixRows, 32> places;
  for (const Value *matrix : matrices)
    if (auto waiting = operands.waiting.find(matrix); waiting != operands.waiting.end())
      places.push_back(waiting->second);
  if (count == 1 || places.empty() || places.front().element->isFloatTy() ||
      !areBeside(places, 8 * int64_t(layout_.getTypeStoreSize(places.front().element).getFixedValue())))
    return {};
  const unsigned before = operands.matricesInRows;
  operands.matricesInRows += count;
  scratch(rowScratch_, before + count - 1, /*inPairs=*/false);
  for (unsigned i = 0; i < count; ++i) {
    MatrixRows copy = scratch(rowScratch_, before, /*inPairs=*/false);
    copy.address = builder_.CreatePtrAdd(copy.address, builder_.getInt64(32 * i));
    copy.offset += 32 * i;
    copy.pitch = builder_.getInt64(32 * count);
    operands.inRows[matrices[i]] = copy;
    copies.push_back(copy);
  }
  const MatrixRows &from = places.front();
  builder_.CreateCall(copyRowsFunction(target_, from.element, count, options_.registerBytes),
                      {copies.front().address,
                       builder_.CreateAddrSpaceCast(from.address, builder_.getPtrTy()), from.pitch});
  return copies;
}

/// The same where two that are asked for in turn stand side by side.
KernelEmitter::MatrixRows KernelEmitter::inPair(const Value *matrix, MatrixOperands &operands) {
  MatrixRows &copy = operands.pairs[matrix];
  if (!copy.address) {
    copy = scratch(pairScratch_, operands.pairs.size() - 1, /*inPairs=*/true);
    copyWidened(matrix, copy, operands);
  }
  return copy;
}

/// Narrow right matrices that are used once are widened row by row on the way.
bool KernelEmitter::isReadInPlace(const Value *right, const MatrixOperands &operands) const {
  auto waiting = operands.waiting.find(right);
  return waiting != operands.waiting.end() && !waiting->second.isTransposed &&
         (waiting->second.element->isFloatTy() || operands.groups.lookup(right) == 1);
}

/// Chains as a call of the function that takes them through their steps.
void KernelEmitter::callChains(ArrayRef<ArrayRef<CallInst *>> chains, MatrixOperands &operands) {
  const unsigned steps = chains.front().size(), count = chains.size();
  // All of a kind are at one pitch, or they are copied.
  auto placesOf = [&](ArrayRef<const Value *> matrices, auto &&isReadable, auto &&copied) {
    SmallVector<MatrixRows, 32> places;
    auto agrees = [&](const Value *matrix) {
      return isReadable(matrix) &&
             operands.waiting.find(matrix)->second.isLike(operands.waiting.find(matrices.front())->second);
    };
    bool inPlace = all_of(matrices, agrees);
    for (const Value *matrix : matrices)
      places.push_back(inPlace ? operands.waiting.find(matrix)->second : copied(matrix));
    return places;
  };
  SmallVector<const Value *, 32> leftMatrices, rightMatrices;
  for (unsigned step = 0; step < steps; ++step) {
    leftMatrices.push_back(chains.front()[step]->getArgOperand(0));
    for (ArrayRef<CallInst *> chain : chains)
      rightMatrices.push_back(chain[step]->getArgOperand(1));
  }
  auto lefts = copiesInRows(leftMatrices, operands);
  auto isReadable = [&](const Value *matrix) {
    auto waiting = operands.waiting.find(matrix);
    return waiting != operands.waiting.end() && !waiting->second.isTransposed &&
           waiting->second.element->isFloatTy();
  };
  if (lefts.empty())
    lefts = placesOf(leftMatrices, isReadable,
                     [&](const Value *matrix) { return onStack(matrix, operands); });
  auto rights = placesOf(
      rightMatrices, [&](const Value *matrix) { return isReadInPlace(matrix, operands); },
      [&](const Value *matrix) {
        return count > 1 ? inPair(matrix, operands) : onStack(matrix, operands);
      });

  ChainShape shape;
  shape.matrices = count;
  shape.right = rights.front().element;
  shape.leftPitch = dyn_cast<ConstantInt>(lefts.front().pitch);
  shape.rightPitch = dyn_cast<ConstantInt>(rights.front().pitch);
  shape.steady = steadySteps(lefts, rights);
  // The sums of a loop are continued where they are, if all stand in pairs or none does.
  SmallVector<MatrixRows, 4> sums;
  SmallVector<bool, 4> isInPlace;
  for (ArrayRef<CallInst *> chain : chains) {
    const PHINode *phi = matricesStayInMemory_ ? sumItContinues(*chain.back()) : nullptr;
    isInPlace.push_back(phi && phi == chain.front()->getArgOperand(2) &&
                        phi->getType()->getScalarType()->isFloatTy());
    sums.push_back(isInPlace.back() ? matrixIn(slots_.find(phi)->second) : MatrixRows());
  }
  shape.isPaired = count % 2 == 0 && options_.registerBytes >= 64;
  const bool isApart = none_of(isInPlace, [](bool is) { return is; });
  for (unsigned i = 0; i + 1 < count && !isApart; i += 2)
    shape.isPaired &= isPair(sums[i], sums[i + 1]);
  for (unsigned i = 0; i < count; ++i) {
    isInPlace[i] = isInPlace[i] && (shape.isPaired || sums[i].pitch == builder_.getInt64(32));
    if (isInPlace[i])
      continue;
    sums[i] = scratch(sumScratch_, i, shape.isPaired);
    storeMatrix(sums[i], widened(piecesOf(uniform(chains[i].front()->getArgOperand(2)))));
  }

  // ChainFunction has the order of arguments.
  SmallVector<Value *, 16> arguments;
  auto add = [&](const MatrixRows &rows) {
    arguments.push_back(builder_.CreateAddrSpaceCast(rows.address, builder_.getPtrTy()));
  };
  for (unsigned i = 0; i < count; i += shape.isPaired ? 2 : 1)
    add(sums[i]);
  if (shape.steady) {
    add(lefts.front());
    for (unsigned i = 0; i < count; i += shape.steady->isSideBySide ? 2 : 1)
      add(rights[i]);
  } else {
    arguments.push_back(placesInTable(lefts, rights));
  }
  arguments.append({builder_.getInt64(steps), lefts.front().pitch, rights.front().pitch});
  if (!shape.steady)
    arguments.push_back(areSideBySide(rights, count));
  builder_.CreateCall(ChainFunction(target_, options_.registerBytes, shape).get(), arguments);

  for (unsigned i = 0; i < count; ++i) {
    CallInst &last = *chains[i].back();
    if (isInPlace[i]) {
      slots_.insert({&last, Slot(slots_.find(sumItContinues(last))->second)});
      continue;
    }
    Pieces result = loadMatrix(sums[i]);
    if (Type *element = last.getType()->getScalarType(); !element->isFloatTy())
      for (Value *&piece : result)
        piece = builder_.CreateFPTrunc(piece, FixedVectorType::get(element, rowsPerPiece() * 8));
    defineProduct(last, nullptr, result);
  }
}

std::optional<int64_t> KernelEmitter::distance(const MatrixRows &from, const MatrixRows &to) {
  if (!from.root || from.root != to.root)
    return std::nullopt;
  return to.offset - from.offset;
}

bool KernelEmitter::isPair(const MatrixRows &first, const MatrixRows &second) {
  return distance(first, second) == 32 && first.pitch == second.pitch &&
         cast<ConstantInt>(first.pitch)->equalsInt(64);
}

/// How matrices move on from step to step, where that is the same for all and known here.
std::optional<SteadySteps> KernelEmitter::steadySteps(ArrayRef<MatrixRows> lefts,
                                                      ArrayRef<MatrixRows> rights) const {
  const unsigned steps = lefts.size(), count = rights.size() / steps;
  auto step = [&](ArrayRef<MatrixRows> places, unsigned each) -> std::optional<int64_t> {
    std::optional<int64_t> common = steps == 1 ? std::optional<int64_t>(0) : distance(places[0], places[each]);
    for (unsigned i = each; common && i < places.size(); ++i)
      if (distance(places[i - each], places[i]) != common)
        return std::nullopt;
    return common;
  };
  auto left = step(lefts, 1), right = step(rights, count);
  if (!left || !right)
    return std::nullopt;
  const int64_t beside = 8 * int64_t(layout_.getTypeStoreSize(rights.front().element).getFixedValue());
  bool isSideBySide = count % 2 == 0 && options_.registerBytes >= 64;
  for (unsigned i = 0; i + 1 < count; i += 2)
    isSideBySide &= distance(rights[i], rights[i + 1]) == beside;
  return SteadySteps{*left, *right, isSideBySide};
}

/// A table of the places of each step.
Value *KernelEmitter::placesInTable(ArrayRef<MatrixRows> lefts, ArrayRef<MatrixRows> rights) {
  const unsigned entries = lefts.size() + rights.size(), count = rights.size() / lefts.size();
  AllocaInst *&table = chainTables_[PowerOf2Ceil(entries)];
  if (!table)
    table = stack(ArrayType::get(builder_.getPtrTy(), PowerOf2Ceil(entries)), "places");
  unsigned entry = 0;
  auto put = [&](const MatrixRows &rows) {
    builder_.CreateStore(builder_.CreateAddrSpaceCast(rows.address, builder_.getPtrTy()),
                         builder_.CreatePtrAdd(table, builder_.getInt64(8 * entry++)));
  };
  for (unsigned step = 0; step < lefts.size(); ++step) {
    put(lefts[step]);
    for (unsigned i = 0; i < count; ++i)
      put(rights[step * count + i]);
  }
  return table;
}

/// Whether every second right matrix of a step stands beside the one before.
Value *KernelEmitter::areSideBySide(ArrayRef<MatrixRows> rights, unsigned count) {
  Value *result = builder_.getTrue();
  Value *beside = builder_.getInt64(8 * layout_.getTypeStoreSize(rights.front().element).getFixedValue());
  for (unsigned first = 0; first < rights.size(); first += count)
    for (unsigned i = 0; i + 1 < count; i += 2) {
      Value *apart = builder_.CreatePtrDiff(builder_.getInt8Ty(), rights[first + i + 1].address,
                                            rights[first + i].address);
      result = builder_.CreateAnd(result, builder_.CreateICmpEQ(apart, beside));
    }
  return result;
}

void KernelEmitter::multiplyPieces(ArrayRef<CallInst *> step, MutableArrayRef<Pieces> sums,
                                   MatrixOperands &operands) {
  const unsigned rows = rowsPerPiece();
  // As floats in memory. Several groups would otherwise share what was read and keep it in registers.
  auto hidden = [&](MatrixRows place) {
    if (operands.hasGroups)
      place.address = builder_.CreateLaunderInvariantGroup(place.address);
    return place;
  };
  const Value *left = step.front()->getArgOperand(0);
  SmallVector<MatrixRows, 4> rights;
  for (CallInst *product : step) {
    const Value *right = product->getArgOperand(1);
    rights.push_back(hidden(isReadInPlace(right, operands) ? operands.waiting.find(right)->second
                                                           : onStack(right, operands)));
  }
  auto waiting = operands.waiting.find(left);
  bool isLeftRead = waiting != operands.waiting.end() &&
                    (rows == 2 || (!waiting->second.isTransposed && waiting->second.element->isFloatTy()));
  Pieces lefts;
  MatrixRows leftRows;
  if (rows == 2)
    lefts = widened(isLeftRead ? loadMatrix(hidden(waiting->second)) : piecesOf(uniform(left)));
  else
    leftRows = hidden(isLeftRead ? waiting->second : onStack(left, operands));
  for (unsigned k = 0; k < 8; ++k) {
    SmallVector<Value *, 4> lines;
    for (const MatrixRows &right : rights)
      lines.push_back(rightRow(builder_, rows, right.element, rowAddress(right, k)));
    for (unsigned piece = 0; piece < 8 / rows; ++piece) {
      Value *spread =
          rows == 2 ? spreadPair(builder_, lefts[piece], k)
                    : spreadElement(builder_, builder_.CreatePtrAdd(rowAddress(leftRows, piece),
                                                                    builder_.getInt64(k * 4)));
      for (unsigned i = 0; i < step.size(); ++i)
        sums[i][piece] = multiplyAdd(builder_, spread, lines[i], sums[i][piece]);
    }
  }
}

/// The phi whose memory the product may overwrite: the sum of a loop that this chain alone reads, once an
/// iteration, and that goes on with this product.
const PHINode *KernelEmitter::sumItContinues(const CallInst &call) const {
  const Value *start = call.getArgOperand(2);
  while (auto *before = dyn_cast<CallInst>(start)) {
    if (!isMatrixCall(*before, "multiply_accumulate") || before->getParent() != call.getParent() ||
        !before->hasOneUse())
      return nullptr;
    start = before->getArgOperand(2);
  }
  auto *phi = dyn_cast<PHINode>(start);
  if (!phi || !phi->hasOneUse() || phi->getType() != call.getType())
    return nullptr;
  const LoopInfo &loops = uniformity_.control().loops();
  const Loop *loop = loops.getLoopFor(phi->getParent());
  if (!loop || loop->getHeader() != phi->getParent() ||
      loops.getLoopFor(call.getParent()) != loop || !loop->getLoopLatch())
    return nullptr;
  return phi->getIncomingValueForBlock(loop->getLoopLatch()) == &call ? phi : nullptr;
}

void KernelEmitter::defineProduct(CallInst &call, const CallInst *next, const Pieces &pieces) {
  if (next && call.hasOneUse())
    return;
  if (matricesStayInMemory_ && !next)
    if (const PHINode *phi = sumItContinues(call)) {
      auto own = slots_.find(&call);
      if (own == slots_.end()) {
        Slot shared = slots_.find(phi)->second;
        own = slots_.insert({&call, std::move(shared)}).first;
      }
      storeSlot(own->second, {matrixOf(pieces), {}});
      return;
    }
  defineUniform(call, matrixOf(pieces));
}

} // namespace pewter::cpu::codegen
