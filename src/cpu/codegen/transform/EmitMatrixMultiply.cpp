// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices. A kernel writes them in whatever order reads well; registers hold a few sums at
// a time. So loads and products wait until something needs a result or writes memory, or the block
// ends, and are then emitted in an order of our own:
//   chain   products of which each continues the sum of the one before
//   group   chains that multiply the same left matrices, as many as registers can hold the sums of
// A group is done from its first step to its last before the next begins. In each step k runs from 0
// to 7; a row of the right matrix comes from memory, an element of the left one is spread by a shuffle
// (two rows in a register) or by a load (one row). Matrices that waited are read where they are used,
// again for each group: threadgroup memory is as near as a spill slot would be.
//
// Sums that live in a loop stay in memory when there are more than registers, and a chain that continues
// such a sum writes it back at once (matricesStayInMemory_); left to the register allocator, they would
// be copied between stack slots.
//
// Numbers: each product starts from C in float and adds fma(A[r][k], B[k][c], sum) for k = 0 .. 7.
#include "cpu/codegen/transform/KernelEmitter.h"
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>

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

Value *spreadElement(IRBuilder<> &builder, Value *address) {
  return builder.CreateVectorSplat(
      8, builder.CreateAlignedLoad(builder.getFloatTy(), address, Align(4)));
}

Value *multiplyAdd(IRBuilder<> &builder, Value *a, Value *b, Value *c) {
  return builder.CreateIntrinsic(Intrinsic::fma, {a->getType()}, {a, b, c});
}

/// void (sums, left, left pitch, right, right pitch): one product on sums in memory. A left matrix of one
/// row a piece is of floats.
Function *productFunction(Function &user, unsigned rows, Type *left, Type *right) {
  std::string name;
  raw_string_ostream(name) << "pewter_multiply_" << *left << "_" << *right;
  Module &module = *user.getParent();
  if (Function *known = module.getFunction(name))
    return known;
  IRBuilder<> builder(user.getContext());
  Type *pointer = builder.getPtrTy(), *wide = builder.getInt64Ty();
  auto *type =
      FunctionType::get(builder.getVoidTy(), {pointer, pointer, wide, pointer, wide}, false);
  auto *function = Function::Create(type, GlobalValue::InternalLinkage, name, module);
  function->addFnAttr(Attribute::NoInline);
  function->addFnAttr(Attribute::NoUnwind);
  function->addFnAttr("no-builtins");
  for (const char *key : {"target-cpu", "target-features", "prefer-vector-width",
                          "min-legal-vector-width", "frame-pointer"})
    if (user.hasFnAttribute(key))
      function->addFnAttr(user.getFnAttribute(key));
  builder.SetInsertPoint(BasicBlock::Create(user.getContext(), "entry", function));
  auto *pieceType = FixedVectorType::get(builder.getFloatTy(), rows * 8);
  auto sumAt = [&](unsigned piece) {
    return builder.CreatePtrAdd(function->getArg(0), builder.getInt64(piece * rows * 32));
  };
  Pieces sums, lefts;
  for (unsigned piece = 0; piece < 8 / rows; ++piece) {
    sums.push_back(builder.CreateAlignedLoad(pieceType, sumAt(piece), Align(32)));
    if (rows == 1)
      continue;
    Value *pair[2];
    for (unsigned i = 0; i < 2; ++i)
      pair[i] = loadRow(builder, left, rowAt(builder, function->getArg(1), function->getArg(2),
                                             piece * 2 + i));
    lefts.push_back(asFloats(
        builder, builder.CreateShuffleVector(pair[0], pair[1],
                                             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})));
  }
  for (unsigned k = 0; k < 8; ++k) {
    Value *line = rightRow(builder, rows, right,
                           rowAt(builder, function->getArg(3), function->getArg(4), k));
    for (unsigned piece = 0; piece < 8 / rows; ++piece) {
      Value *spread =
          rows == 2 ? spreadPair(builder, lefts[piece], k)
                    : spreadElement(builder, builder.CreatePtrAdd(
                                                 rowAt(builder, function->getArg(1),
                                                       function->getArg(2), piece),
                                                 builder.getInt64(k * 4)));
      sums[piece] = multiplyAdd(builder, spread, line, sums[piece]);
    }
  }
  for (unsigned piece = 0; piece < 8 / rows; ++piece)
    builder.CreateAlignedStore(sums[piece], sumAt(piece), Align(32));
  builder.CreateRetVoid();
  return function;
}

bool isBarrierOfOneGroup(const Instruction &instruction) {
  auto *call = dyn_cast<CallInst>(&instruction);
  return call && call->getCalledFunction() &&
         call->getCalledFunction()->getName().starts_with("air.simdgroup.barrier");
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
  DenseMap<const Value *, unsigned> groups;     ///< How many groups read it as a right matrix.
  bool hasGroups = false;                       ///< More than one.
};

void KernelEmitter::countMatrices() {
  unsigned sums = 0;
  for (const Loop *loop : uniformity_.control().loops().getLoopsInPreorder())
    for (const PHINode &phi : loop->getHeader()->phis())
      sums += isMatrixType(phi.getType());
  for (const Instruction &instruction : instructions(uniformity_.function()))
    products_ += isMatrixCall(instruction, "multiply_accumulate");
  unsigned pieces = 8 / rowsPerPiece();
  matricesStayInMemory_ = sums * pieces > sumRegisters(options_.registerBytes) + 4;
}

bool KernelEmitter::endsMatrixWork(const Instruction &instruction) const {
  if (waitingLoads_.empty() && waitingProducts_.empty())
    return false;
  if (isMatrixCall(instruction, "load") || isBarrierOfOneGroup(instruction) ||
      instruction.isLifetimeStartOrEnd() || isa<AssumeInst>(instruction))
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
  if (waitingLoads_.empty() && waitingProducts_.empty())
    return;
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
  for (auto &group : groups)
    emitChains(group, operands);
}

void KernelEmitter::emitChains(ArrayRef<ArrayRef<CallInst *>> chains, MatrixOperands &operands) {
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

void KernelEmitter::multiplyPieces(ArrayRef<CallInst *> step, MutableArrayRef<Pieces> sums,
                                   MatrixOperands &operands) {
  auto *real = builder_.getFloatTy();
  const unsigned rows = rowsPerPiece();
  // As floats in memory. Several groups would otherwise share what was read and keep it in registers.
  auto hidden = [&](MatrixRows place) {
    if (operands.hasGroups)
      place.address = builder_.CreateLaunderInvariantGroup(place.address);
    return place;
  };
  auto onStack = [&](const Value *matrix) {
    MatrixRows &copy = operands.widened[matrix];
    if (!copy.address) {
      unsigned index = operands.widened.size() - 1;
      if (index == matrixScratch_.size())
        matrixScratch_.push_back(stack(ArrayType::get(real, 64), "matrix"));
      copy = {matrixScratch_[index], builder_.getInt64(32), real};
      auto waiting = operands.waiting.find(matrix);
      Pieces pieces = widened(waiting != operands.waiting.end() ? loadMatrix(waiting->second)
                                                                : piecesOf(uniform(matrix)));
      for (unsigned i = 0; i < pieces.size(); ++i)
        builder_.CreateAlignedStore(pieces[i], rowAddress(copy, i * rows), Align(32));
    }
    return hidden(copy);
  };
  const Value *left = step.front()->getArgOperand(0);
  SmallVector<MatrixRows, 4> rights;
  for (CallInst *product : step) {
    const Value *right = product->getArgOperand(1);
    auto waiting = operands.waiting.find(right);
    // Narrow ones that are used once are widened row by row on the way.
    bool isRead = waiting != operands.waiting.end() &&
                  (waiting->second.element->isFloatTy() || operands.groups[right] == 1);
    rights.push_back(isRead ? hidden(waiting->second) : onStack(right));
  }
  auto waiting = operands.waiting.find(left);
  bool isLeftRead = waiting != operands.waiting.end() &&
                    (rows == 2 || waiting->second.element->isFloatTy());
  if (products_ > maxInlineProducts(options_.registerBytes)) {
    MatrixRows from = isLeftRead ? waiting->second : onStack(left);
    for (unsigned i = 0; i < step.size(); ++i) {
      while (sumScratch_.size() <= i)
        sumScratch_.push_back(stack(ArrayType::get(real, 64), "sums"));
      MatrixRows place{sumScratch_[i], builder_.getInt64(32), real};
      for (unsigned piece = 0; piece < sums[i].size(); ++piece)
        builder_.CreateAlignedStore(sums[i][piece], rowAddress(place, piece * rows), Align(32));
      auto generic = [&](Value *address) {
        return builder_.CreateAddrSpaceCast(address, builder_.getPtrTy());
      };
      builder_.CreateCall(productFunction(target_, rows, from.element, rights[i].element),
                          {place.address, generic(from.address), from.pitch,
                           generic(rights[i].address), rights[i].pitch});
      for (unsigned piece = 0; piece < sums[i].size(); ++piece)
        sums[i][piece] = builder_.CreateAlignedLoad(FixedVectorType::get(real, rows * 8),
                                                    rowAddress(place, piece * rows), Align(32));
    }
    return;
  }
  Pieces lefts;
  MatrixRows leftRows;
  if (rows == 2)
    lefts = widened(isLeftRead ? loadMatrix(hidden(waiting->second)) : piecesOf(uniform(left)));
  else
    leftRows = isLeftRead ? hidden(waiting->second) : onStack(left);
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
