// SPDX-License-Identifier: Apache-2.0
//
// The range entry is two loops, over threadgroups and over their SIMD groups, with the body inside,
// so that argument loads and whatever else does not change are hoisted out of both; what a threadgroup's
// size decides is asked once a threadgroup. The general body
// is a function of its own: it is cold, and it must not weigh on the registers of the other.
// Tested through tests/kernels.
#include "cpu/codegen/transform/EntryPoints.h"
#include "cpu/abi/KernelAbi.h"
#include "cpu/codegen/transform/ScalarBody.h"
#include <cstddef>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

using namespace llvm;

namespace pewter::cpu::codegen {

namespace {

constexpr char kRangeName[] = "pewter_range";
constexpr char kSimdgroupName[] = "pewter_simdgroup";
constexpr char kGeneralName[] = "pewter_general";

class EntryBuilder {
public:
  EntryBuilder(Function &kernel, Function *general, const air::KernelReflection &reflection,
               const ThreadgroupLayout &threadgroup, const EntryOptions &options)
      : kernel_(kernel), general_(general), reflection_(reflection), threadgroup_(threadgroup),
        options_(options), module_(*kernel.getParent()), context_(kernel.getContext()),
        builder_(context_), i32_(builder_.getInt32Ty()), i64_(builder_.getInt64Ty()),
        pointer_(builder_.getPtrTy()) {}

  Result<void> build() {
    if (general_)
      PEWTER_TRY_VOID(buildGeneral());
    return options_.hasRange ? buildRange() : buildSimdgroup();
  }

private:
  BasicBlock *block(const Twine &name) {
    return BasicBlock::Create(context_, name, builder_.GetInsertBlock()->getParent());
  }

  Function *makeFunction(const char *name, ArrayRef<Type *> parameters,
                         GlobalValue::LinkageTypes linkage) {
    auto *type = FunctionType::get(builder_.getVoidTy(), parameters, false);
    auto *function = Function::Create(type, linkage, name, module_);
    function->addFnAttr(Attribute::NoUnwind);
    function->addFnAttr("no-builtins");
    // What retarget() told the kernel about the machine.
    for (const char *key : {"target-cpu", "target-features", "prefer-vector-width",
                            "min-legal-vector-width", "frame-pointer"})
      if (kernel_.hasFnAttribute(key))
        function->addFnAttr(kernel_.getFnAttribute(key));
    builder_.SetInsertPoint(BasicBlock::Create(context_, "entry", function));
    return function;
  }

  Value *contextField(Value *context, uint64_t offset, Type *type, const Twine &name = "") {
    LoadInst *load =
        builder_.CreateLoad(type, builder_.CreatePtrAdd(context, builder_.getInt64(offset)), name);
    load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(context_, {}));
    return load;
  }

  void contextTriple(Value *context, uint64_t offset, Value *(&values)[3], const Twine &name) {
    for (unsigned i = 0; i < 3; ++i)
      values[i] = contextField(context, offset + 4 * i, i32_, name);
  }

  /// What does not depend on the place in the grid.
  void readDispatch(Launch &launch, const Function &kernel, Value *arguments, Value *context) {
    launch.context = context;
    Value *memory =
        contextField(context, offsetof(KernelContext, threadgroupMemory),
                     PointerType::get(context_, 3), "threadgroup.memory");
    launch.threadgroupMemory = memory;
    contextTriple(context, offsetof(KernelContext, threadgroupsPerGrid),
                  launch.threadgroupsPerGrid, "groups");
    contextTriple(context, offsetof(KernelContext, threadsPerGrid), launch.threadsPerGrid,
                  "threads");
    contextTriple(context, offsetof(KernelContext, threadsPerThreadgroup), launch.dispatchSize,
                  "size");
    for (const Argument &argument : kernel.args()) {
      const air::Argument *described = nullptr;
      for (const air::Argument &candidate : reflection_.arguments)
        if (candidate.parameter == argument.getArgNo())
          described = &candidate;
      if (!described || described->builtin != air::Builtin::None ||
          !argument.getType()->isPointerTy())
        continue;
      Value *place =
          builder_.CreatePtrAdd(arguments, builder_.getInt64(8 * argument.getArgNo()));
      bool isOffset = described->kind == air::ArgumentKind::ThreadgroupMemory ||
                      argument.getType()->getPointerAddressSpace() == 3;
      LoadInst *load = builder_.CreateLoad(isOffset ? i64_ : argument.getType(), place,
                                           argument.getName());
      load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(context_, {}));
      // A reference to constant memory may be read ahead of the test that guards it.
      if (!isOffset && described->boundSize && argument.getType()->getPointerAddressSpace() == 2) {
        auto literal = [&](uint64_t value) {
          return MDNode::get(context_, ConstantAsMetadata::get(builder_.getInt64(value)));
        };
        load->setMetadata(LLVMContext::MD_dereferenceable, literal(described->boundSize));
        load->setMetadata(LLVMContext::MD_align,
                          literal(std::max<uint64_t>(1, described->dataAlignment)));
      }
      launch.arguments[&argument] =
          isOffset ? builder_.CreatePtrAdd(memory, load) : static_cast<Value *>(load);
    }
  }

  /// The threadgroup's actual size, which the grid's edge may cut.
  void computeSize(Launch &launch) {
    for (unsigned i = 0; i < 3; ++i) {
      Value *begin = builder_.CreateMul(launch.position[i], launch.dispatchSize[i]);
      Value *left = builder_.CreateSub(launch.threadsPerGrid[i], begin);
      launch.size[i] =
          builder_.CreateBinaryIntrinsic(Intrinsic::umin, left, launch.dispatchSize[i]);
    }
  }

  Value *threadsOf(const Launch &launch) {
    return builder_.CreateMul(builder_.CreateMul(launch.size[0], launch.size[1]), launch.size[2]);
  }

  /// Position of the call's first lane from its SIMD group's index.
  void computeLocal(const Launch &launch, Value *simdgroup, Value *(&local)[3]) {
    Value *index = builder_.CreateMul(simdgroup, builder_.getInt32(32));
    local[0] = builder_.CreateURem(index, launch.size[0]);
    Value *rows = builder_.CreateUDiv(index, launch.size[0]);
    local[1] = builder_.CreateURem(rows, launch.size[1]);
    local[2] = builder_.CreateUDiv(rows, launch.size[1]);
  }

  /// The threadgroup has the size that the code was made for; null when any size will do.
  Value *sizeMatches(const Launch &launch) {
    if (!options_.full.size)
      return nullptr;
    Value *result = builder_.getTrue();
    for (unsigned i = 0; i < 3; ++i)
      result = builder_.CreateAnd(
          result, builder_.CreateICmpEQ(launch.size[i],
                                        builder_.getInt32((*options_.full.size)[i])));
    return result;
  }

  /// The call is one that the full body handles.
  Value *isFull(const Launch &launch, Value *matches) {
    if (options_.full.layout != LaneModel::Layout::Row)
      return matches;
    Value *end = builder_.CreateAdd(launch.local[0], builder_.getInt32(32));
    Value *fits = builder_.CreateICmpULE(end, launch.size[0]);
    if (options_.full.alignedRows) {
      Value *low = builder_.CreateAnd(launch.local[0], builder_.getInt32(31));
      fits = builder_.CreateAnd(fits, builder_.CreateICmpEQ(low, builder_.getInt32(0)));
    }
    return matches ? builder_.CreateAnd(fits, matches) : fits;
  }

  /// One test a threadgroup says that all its calls are ones that the full body handles: its size is the
  /// expected one, or its rows are whole SIMD groups.
  bool fullWhereSizeMatches() const {
    if (options_.full.layout != LaneModel::Layout::Row)
      return options_.full.size.has_value();
    return options_.full.size ? (*options_.full.size)[0] % air::kSimdWidth == 0
                              : options_.full.alignedRows;
  }

  /// All calls of a threadgroup by the general body.
  void buildGeneralWalk(Launch launch, Value *arguments, Value *threads, BasicBlock *before,
                        BasicBlock *after) {
    BasicBlock *walk = builder_.GetInsertBlock();
    PHINode *number = builder_.CreatePHI(i32_, 2, "simdgroup");
    number->addIncoming(builder_.getInt32(0), before);
    launch.simdgroup = number;
    callGeneral(launch, arguments);
    Value *following = builder_.CreateAdd(number, builder_.getInt32(options_.full.segments()));
    number->addIncoming(following, builder_.GetInsertBlock());
    Value *lanesDone = builder_.CreateMul(following, builder_.getInt32(32));
    builder_.CreateCondBr(builder_.CreateICmpULT(lanesDone, threads), walk, after);
  }

  /// Without a general body such calls cannot be; should one come, the command buffer says so.
  void reportFault(Value *context) {
    Value *table = contextField(context, offsetof(KernelContext, runtime), pointer_);
    Value *function = builder_.CreateLoad(
        pointer_, builder_.CreatePtrAdd(table, builder_.getInt64(offsetof(RuntimeTable, fault))));
    auto *type = FunctionType::get(builder_.getVoidTy(), {pointer_, i32_}, false);
    builder_.CreateCall(type, function,
                        {context, builder_.getInt32(uint32_t(KernelFault::Unreachable))});
  }

  void callGeneral(const Launch &launch, Value *arguments) {
    if (!generalFunction_)
      return reportFault(launch.context);
    builder_.CreateCall(generalFunction_,
                        {arguments, launch.context, launch.position[0], launch.position[1],
                         launch.position[2], launch.simdgroup});
  }

  Result<void> buildGeneral() {
    Function *function =
        makeFunction(kGeneralName, {pointer_, pointer_, i32_, i32_, i32_, i32_},
                     GlobalValue::InternalLinkage);
    function->addFnAttr(Attribute::NoInline);
    function->addFnAttr(Attribute::Cold);
    Launch launch;
    readDispatch(launch, *general_, function->getArg(0), function->getArg(1));
    for (unsigned i = 0; i < 3; ++i)
      launch.position[i] = function->getArg(2 + i);
    launch.simdgroup = function->getArg(5);
    computeSize(launch);
    computeLocal(launch, launch.simdgroup, launch.local);
    if (canRunLaneByLane(*general_)) {
      generalFunction_ = function;
      buildLaneLoop(launch);
      return {};
    }
    unsigned lanes = options_.full.lanes;
    Value *begin = builder_.CreateMul(launch.simdgroup, builder_.getInt32(32));
    Value *live = builder_.CreateBinaryIntrinsic(
        Intrinsic::umin, builder_.CreateSub(threadsOf(launch), begin), builder_.getInt32(lanes));
    IntegerType *bits = builder_.getIntNTy(lanes);
    Value *dead = builder_.CreateSub(builder_.getInt32(lanes), live);
    launch.entryMask = builder_.CreateLShr(ConstantInt::get(bits, -1, true),
                                           builder_.CreateZExtOrTrunc(dead, bits));
    LaneModel model = options_.full;
    model.body = LaneModel::Body::General;
    model.layout = LaneModel::Layout::Scattered;
    BasicBlock *start = block("start"), *done = block("done");
    builder_.CreateBr(start);
    builder_.SetInsertPoint(done);
    builder_.CreateRetVoid();
    generalFunction_ = function;
    EmitterOptions emitter = options_.emitter;
    emitter.fastCopies = false;
    return emitBody(*general_, model, *function, launch, start, done, emitter);
  }

  /// The value of a built-in in one lane, as i32.
  Value *laneBuiltin(const Launch &launch, air::Builtin builtin, unsigned component, Value *index,
                     Value *(&local)[3]) {
    using air::Builtin;
    auto at = [&](Value *const (&values)[3], unsigned missing) -> Value * {
      return component < 3 ? values[component] : builder_.getInt32(missing);
    };
    auto groups = [&](Value *const (&size)[3], unsigned width) {
      Value *threads = builder_.CreateMul(builder_.CreateMul(size[0], size[1]), size[2]);
      return builder_.CreateUDiv(builder_.CreateAdd(threads, builder_.getInt32(width - 1)),
                                 builder_.getInt32(width));
    };
    auto low = [&](unsigned mask) { return builder_.CreateAnd(index, builder_.getInt32(mask)); };
    switch (builtin) {
    case Builtin::ThreadPositionInGrid:
      return builder_.CreateAdd(
          local[component],
          builder_.CreateMul(launch.position[component], launch.dispatchSize[component]));
    case Builtin::ThreadPositionInThreadgroup:
      return local[component];
    case Builtin::ThreadIndexInThreadgroup:
      return index;
    case Builtin::ThreadgroupPositionInGrid:
      return at(launch.position, 0);
    case Builtin::ThreadsPerGrid:
    case Builtin::GridSize:
      return at(launch.threadsPerGrid, 1);
    case Builtin::ThreadsPerThreadgroup:
      return at(launch.size, 1);
    case Builtin::ThreadgroupsPerGrid:
      return at(launch.threadgroupsPerGrid, 1);
    case Builtin::DispatchThreadsPerThreadgroup:
      return at(launch.dispatchSize, 1);
    case Builtin::ThreadIndexInSimdgroup:
      return low(31);
    case Builtin::ThreadIndexInQuadgroup:
      return low(3);
    case Builtin::SimdgroupIndexInThreadgroup:
      return builder_.CreateLShr(index, 5);
    case Builtin::QuadgroupIndexInThreadgroup:
      return builder_.CreateLShr(index, 2);
    case Builtin::SimdgroupsPerThreadgroup:
      return groups(launch.size, 32);
    case Builtin::DispatchSimdgroupsPerThreadgroup:
      return groups(launch.dispatchSize, 32);
    case Builtin::QuadgroupsPerThreadgroup:
      return groups(launch.size, 4);
    case Builtin::DispatchQuadgroupsPerThreadgroup:
      return groups(launch.dispatchSize, 4);
    case Builtin::ThreadsPerSimdgroup:
      return builder_.getInt32(32);
    case Builtin::GridOrigin:
    case Builtin::None:
      return builder_.getInt32(0);
    }
    llvm_unreachable("every built-in is handled");
  }

  /// Lanes [0, live) of the call, one after the other.
  void buildLaneLoop(const Launch &launch) {
    Function *body = makeScalarBody(*general_, threadgroup_);
    Value *begin = builder_.CreateMul(launch.simdgroup, builder_.getInt32(32));
    Value *end = builder_.CreateBinaryIntrinsic(
        Intrinsic::umin, threadsOf(launch),
        builder_.CreateAdd(begin, builder_.getInt32(options_.full.lanes)));
    BasicBlock *before = builder_.GetInsertBlock();
    BasicBlock *loop = block("lane"), *done = block("done");
    builder_.CreateCondBr(builder_.CreateICmpULT(begin, end), loop, done);
    builder_.SetInsertPoint(loop);
    PHINode *index = builder_.CreatePHI(i32_, 2, "thread");
    index->addIncoming(begin, before);
    Value *rows = builder_.CreateUDiv(index, launch.size[0]);
    Value *local[3] = {builder_.CreateURem(index, launch.size[0]),
                       builder_.CreateURem(rows, launch.size[1]),
                       builder_.CreateUDiv(rows, launch.size[1])};
    SmallVector<Value *> operands;
    for (Argument &argument : general_->args()) {
      Type *type = argument.getType();
      auto given = launch.arguments.find(&argument);
      if (given != launch.arguments.end()) {
        operands.push_back(given->second);
        continue;
      }
      air::Builtin builtin = air::Builtin::None;
      for (const air::Argument &described : reflection_.arguments)
        if (described.parameter == argument.getArgNo())
          builtin = described.builtin;
      if (builtin == air::Builtin::None || argument.use_empty()) {
        operands.push_back(PoisonValue::get(type));
        continue;
      }
      auto component = [&](unsigned i) {
        return builder_.CreateZExtOrTrunc(laneBuiltin(launch, builtin, i, index, local),
                                          type->getScalarType());
      };
      Value *value = nullptr;
      if (auto *vector = dyn_cast<FixedVectorType>(type)) {
        value = PoisonValue::get(type);
        for (unsigned i = 0; i < vector->getNumElements(); ++i)
          value = builder_.CreateInsertElement(value, component(i), i);
      } else {
        value = component(0);
      }
      operands.push_back(value);
    }
    operands.push_back(launch.threadgroupMemory);
    builder_.CreateCall(body, operands);
    Value *next = builder_.CreateAdd(index, builder_.getInt32(1));
    index->addIncoming(next, builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateICmpULT(next, end), loop, done);
    builder_.SetInsertPoint(done);
    builder_.CreateRetVoid();
  }

  Result<void> emitBody(Function &kernel, const LaneModel &model, Function &target,
                        const Launch &launch, BasicBlock *start, BasicBlock *done,
                        const EmitterOptions &emitterOptions) {
    PatternPool pool(model.lanes);
    Uniformity uniformity(kernel, reflection_, model, pool);
    KernelEmitter emitter(uniformity, threadgroup_, target, emitterOptions);
    return emitter.emit(launch, start, done);
  }

  Result<void> buildSimdgroup() {
    Function *function =
        makeFunction(kSimdgroupName, {pointer_, pointer_}, GlobalValue::ExternalLinkage);
    Value *arguments = function->getArg(0), *context = function->getArg(1);
    Launch launch;
    readDispatch(launch, kernel_, arguments, context);
    contextTriple(context, offsetof(KernelContext, position), launch.position, "position");
    launch.simdgroup = contextField(context, offsetof(KernelContext, simdgroupIndex), i32_);
    computeSize(launch);
    computeLocal(launch, launch.simdgroup, launch.local);
    BasicBlock *body = block("full"), *general = block("general"), *done = block("done");
    Value *full = isFull(launch, sizeMatches(launch));
    builder_.CreateCondBr(full, body, general, MDBuilder(context_).createLikelyBranchWeights());
    builder_.SetInsertPoint(general);
    callGeneral(launch, arguments);
    builder_.CreateBr(done);
    builder_.SetInsertPoint(done);
    builder_.CreateRetVoid();
    return emitBody(kernel_, options_.full, *function, launch, body, done, options_.emitter);
  }

  Result<void> buildRange() {
    Function *function = makeFunction(kRangeName, {pointer_, pointer_, i64_, i64_},
                                      GlobalValue::ExternalLinkage);
    Value *arguments = function->getArg(0), *context = function->getArg(1);
    Value *begin = function->getArg(2), *end = function->getArg(3);
    Launch launch;
    readDispatch(launch, kernel_, arguments, context);
    BasicBlock *entry = block("walk"), *group = block("group"), *simdgroup = block("simdgroup");
    BasicBlock *body = block("full"), *general = block("general"), *next = block("next");
    BasicBlock *row = block("row"), *odd = block("odd");
    BasicBlock *nextGroup = block("next.group"), *done = block("done");
    builder_.CreateCondBr(builder_.CreateICmpULT(begin, end), entry, done);

    builder_.SetInsertPoint(entry);
    Value *wideX = builder_.CreateZExt(launch.threadgroupsPerGrid[0], i64_);
    Value *wideY = builder_.CreateZExt(launch.threadgroupsPerGrid[1], i64_);
    Value *rows = builder_.CreateUDiv(begin, wideX);
    Value *firstPosition[3] = {
        builder_.CreateTrunc(builder_.CreateURem(begin, wideX), i32_),
        builder_.CreateTrunc(builder_.CreateURem(rows, wideY), i32_),
        builder_.CreateTrunc(builder_.CreateUDiv(rows, wideY), i32_)};
    builder_.CreateBr(group);

    builder_.SetInsertPoint(group);
    PHINode *index = builder_.CreatePHI(i64_, 2, "index");
    index->addIncoming(begin, entry);
    PHINode *position[3];
    for (unsigned i = 0; i < 3; ++i) {
      position[i] = builder_.CreatePHI(i32_, 2, "position");
      position[i]->addIncoming(firstPosition[i], entry);
      launch.position[i] = position[i];
    }
    computeSize(launch);
    Value *matches = sizeMatches(launch);
    Value *threads = threadsOf(launch);
    Value *zero = builder_.getInt32(0);
    BasicBlock *groupEnd = builder_.GetInsertBlock();
    bool hoistsTest = fullWhereSizeMatches();
    if (hoistsTest) {
      if (!matches)
        matches = builder_.CreateICmpEQ(
            builder_.CreateAnd(launch.size[0], builder_.getInt32(air::kSimdWidth - 1)), zero);
      builder_.CreateCondBr(matches, simdgroup, general,
                            MDBuilder(context_).createLikelyBranchWeights());
      builder_.SetInsertPoint(general);
      buildGeneralWalk(launch, arguments, threads, groupEnd, nextGroup);
      if (options_.full.size) {
        for (unsigned i = 0; i < 3; ++i)
          launch.size[i] = builder_.getInt32((*options_.full.size)[i]);
        threads = builder_.getInt32(options_.full.threads());
      }
    } else {
      builder_.CreateBr(simdgroup);
    }

    builder_.SetInsertPoint(simdgroup);
    PHINode *number = builder_.CreatePHI(i32_, 2, "simdgroup");
    number->addIncoming(zero, groupEnd);
    launch.simdgroup = number;
    PHINode *local[3];
    for (unsigned i = 0; i < 3; ++i) {
      local[i] = builder_.CreatePHI(i32_, 4, "local");
      local[i]->addIncoming(zero, groupEnd);
      launch.local[i] = local[i];
    }
    if (hoistsTest) {
      builder_.CreateBr(body);
    } else {
      Value *full = isFull(launch, matches);
      builder_.CreateCondBr(full, body, general, MDBuilder(context_).createLikelyBranchWeights());
      builder_.SetInsertPoint(general);
      callGeneral(launch, arguments);
      builder_.CreateBr(next);
    }

    // The next SIMD group: in the same row, or by division where rows end.
    builder_.SetInsertPoint(next);
    Value *following = builder_.CreateAdd(number, builder_.getInt32(options_.full.segments()));
    Value *lanesDone = builder_.CreateMul(following, builder_.getInt32(32));
    Value *x = builder_.CreateAdd(local[0], builder_.getInt32(32));
    BasicBlock *more = block("more");
    builder_.CreateCondBr(builder_.CreateICmpULT(lanesDone, threads), more, nextGroup);
    builder_.SetInsertPoint(more);
    bool isOneRow = hoistsTest && options_.full.size &&
                    (*options_.full.size)[0] == options_.full.threads();
    builder_.CreateCondBr(isOneRow ? builder_.getTrue()
                                   : builder_.CreateICmpULT(x, launch.size[0]), row, odd);
    builder_.SetInsertPoint(row);
    builder_.CreateBr(simdgroup);
    builder_.SetInsertPoint(odd);
    Value *found[3];
    computeLocal(launch, following, found);
    builder_.CreateBr(simdgroup);
    number->addIncoming(following, row);
    number->addIncoming(following, odd);
    for (unsigned i = 0; i < 3; ++i) {
      local[i]->addIncoming(i == 0 ? x : static_cast<Value *>(local[i]), row);
      local[i]->addIncoming(found[i], odd);
    }

    builder_.SetInsertPoint(nextGroup);
    Value *nextIndex = builder_.CreateAdd(index, builder_.getInt64(1));
    Value *one = builder_.getInt32(1);
    Value *nextX = builder_.CreateAdd(position[0], one);
    Value *wrapX = builder_.CreateICmpEQ(nextX, launch.threadgroupsPerGrid[0]);
    Value *nextY = builder_.CreateAdd(position[1], builder_.CreateZExt(wrapX, i32_));
    Value *wrapY = builder_.CreateICmpEQ(nextY, launch.threadgroupsPerGrid[1]);
    Value *nextZ = builder_.CreateAdd(position[2], builder_.CreateZExt(wrapY, i32_));
    index->addIncoming(nextIndex, nextGroup);
    position[0]->addIncoming(builder_.CreateSelect(wrapX, zero, nextX), nextGroup);
    position[1]->addIncoming(builder_.CreateSelect(wrapY, zero, nextY), nextGroup);
    position[2]->addIncoming(nextZ, nextGroup);
    builder_.CreateCondBr(builder_.CreateICmpULT(nextIndex, end), group, done);
    builder_.SetInsertPoint(done);
    builder_.CreateRetVoid();
    return emitBody(kernel_, options_.full, *function, launch, body, next, options_.emitter);
  }

  Function &kernel_;
  Function *general_;
  const air::KernelReflection &reflection_;
  const ThreadgroupLayout &threadgroup_;
  const EntryOptions &options_;
  Module &module_;
  LLVMContext &context_;
  IRBuilder<> builder_;
  Type *i32_, *i64_, *pointer_;
  Function *generalFunction_ = nullptr;
};

} // namespace

Result<void> makeEntryPoints(Function &kernel, Function *general,
                             const air::KernelReflection &reflection,
                             const ThreadgroupLayout &threadgroup, const EntryOptions &options) {
  return EntryBuilder(kernel, general, reflection, threadgroup, options).build();
}

} // namespace pewter::cpu::codegen
