// SPDX-License-Identifier: Apache-2.0
//
// Statements and expressions are drawn as the IR is built. Variables are allocas of the entry
// block; the canonicaliser turns them into values. Each generator function says in its name what it
// draws.
#include "generator/KernelGenerator.h"
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <random>

namespace pewter::testing {
namespace {

using llvm::BasicBlock;
using llvm::Type;
using llvm::Value;

constexpr const char *kLayout =
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:"
    "32-"
    "v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-"
    "v1024:1024:1024-n8:16:32";

constexpr uint32_t kInputWords = 1024; // Of each input buffer; indices are masked to it.
constexpr uint32_t kOwnWords = 8;      // Output words of one thread.
constexpr uint32_t kCounters = 16;     // Atomic counters.
constexpr uint32_t kPrivate = 8;       // Elements of a private array.

// Slots.
constexpr uint32_t kInts = 0, kFloats = 1, kOut = 2, kParams = 3, kAtomics = 4, kBytesOut = 5;

class Generator {
public:
  Generator(uint64_t seed, const GeneratorOptions &options)
      : random_(seed), options_(options), module_("kernel", context_), b_(context_) {
    module_.setDataLayout(kLayout);
    module_.setTargetTriple(llvm::Triple("air64-apple-macosx15.0.0"));
    i1_ = b_.getInt1Ty();
    i8_ = b_.getInt8Ty();
    i16_ = b_.getInt16Ty();
    i32_ = b_.getInt32Ty();
    i64_ = b_.getInt64Ty();
    f16_ = b_.getHalfTy();
    f32_ = b_.getFloatTy();
    v4f_ = llvm::FixedVectorType::get(f32_, 4);
  }

  KernelCase run() {
    drawLaunch();
    makeFunction();
    makeVariables();
    block(options_.maxStatements, 0, /*isConvergent=*/true);
    writeVariables();
    b_.CreateBr(exit_);
    b_.SetInsertPoint(exit_);
    b_.CreateRetVoid();
    addMetadata();
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    if (llvm::verifyModule(module_, &stream))
      std::abort(); // A fault of this file.

    llvm::SmallVector<char, 0> bitcode;
    llvm::raw_svector_ostream out(bitcode);
    llvm::WriteBitcodeToFile(module_, out);
    ByteView view = viewOf({bitcode.data(), bitcode.size()});
    case_.module = std::make_shared<Bytes>(view.begin(), view.end());
    case_.function = "generated";
    return std::move(case_);
  }

private:
  // Drawing.
  uint32_t below(uint32_t n) { return uint32_t(random_() % n); }
  bool chance(uint32_t percent) { return below(100) < percent; }
  template <class T> T pick(std::initializer_list<T> list) {
    return *(list.begin() + below(uint32_t(list.size())));
  }

  void drawLaunch() {
    Launch &launch = case_.launch;
    // Simple geometries with full SIMD groups, ragged ones, and two- and three-dimensional ones.
    switch (below(5)) {
    case 0:
      launch.threadsPerThreadgroup = {32, 1, 1};
      launch.threadsPerGrid = {32 * (1 + below(3)), 1 + below(2), 1};
      break;
    case 1:
      launch.threadsPerThreadgroup = {32 * (1 + below(4)), 1, 1};
      launch.threadsPerGrid = {launch.threadsPerThreadgroup[0] * (1 + below(2)), 1, 1};
      break;
    case 2:
      launch.threadsPerThreadgroup = {1 + below(100), 1, 1};
      launch.threadsPerGrid = {1 + below(200), 1, 1};
      break;
    case 3:
      launch.threadsPerThreadgroup = {1 + below(20), 1 + below(6), 1};
      launch.threadsPerGrid = {1 + below(40), 1 + below(9), 1};
      break;
    default:
      launch.threadsPerThreadgroup = {pick({4u, 8u, 16u, 32u, 5u}), 1 + below(4), 1 + below(3)};
      launch.threadsPerGrid = {1 + below(40), 1 + below(6), 1 + below(4)};
      break;
    }
    for (int i = 0; i < 3; ++i)
      launch.threadsPerThreadgroup[i] =
          std::min(launch.threadsPerThreadgroup[i], launch.threadsPerGrid[i]);
    launch.threadgroupMemory[0] = 4096;
    threads_ = product(launch.threadsPerGrid);

    std::vector<uint32_t> ints(kInputWords), floats(kInputWords);
    for (uint32_t &value : ints)
      value = chance(50) ? below(64) - 16 : uint32_t(random_());
    for (uint32_t &value : floats) {
      float f = float(int32_t(below(2001)) - 1000) / float(1 << below(8));
      value = std::bit_cast<uint32_t>(f);
      if (chance(3))
        value =
            pick({0x7f800000u, 0xff800000u, 0x7fc00000u, 0x00000001u, 0x80000000u, 0x7f7fffffu});
    }
    std::vector<uint32_t> params{below(8),   below(5), uint32_t(random_()),
                                 below(100), threads_, std::bit_cast<uint32_t>(1.5f),
                                 below(2),   below(33)};
    case_.buffers[kInts] = bytesOf(ints);
    case_.buffers[kFloats] = bytesOf(floats);
    case_.buffers[kOut] = poison(size_t(threads_) * kOwnWords * 4);
    case_.buffers[kParams] = bytesOf(params);
    case_.buffers[kAtomics] = Bytes(kCounters * 4);
    case_.buffers[kBytesOut] = poison(size_t(threads_) * kOwnWords);
  }

  void makeFunction() {
    Type *device = llvm::PointerType::get(context_, 1),
         *constant = llvm::PointerType::get(context_, 2);
    Type *local = llvm::PointerType::get(context_, 3);
    Type *v3i = llvm::FixedVectorType::get(i32_, 3);
    auto *type = llvm::FunctionType::get(b_.getVoidTy(),
                                         {device, device, device, constant, device, device, local,
                                          v3i, v3i, i32_, v3i, i16_, i16_, v3i, v3i},
                                         false);
    function_ =
        llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "generated", module_);
    function_->addFnAttr(llvm::Attribute::Convergent);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    function_->addFnAttr("no-builtins");
    static const char *names[] = {"ints",      "floats", "out",  "params", "atomics",
                                  "bytes_out", "shared", "tpig", "tpitg",  "tiitg",
                                  "tgpig",     "lane",   "sg",   "ntg",    "grid"};
    for (unsigned i = 0; i < 15; ++i)
      function_->getArg(i)->setName(names[i]);
    b_.SetInsertPoint(BasicBlock::Create(context_, "entry", function_));
    exit_ = BasicBlock::Create(context_, "exit", function_);
  }

  llvm::Argument *argument(unsigned i) { return function_->getArg(i); }
  Value *component(unsigned i, unsigned c) {
    return b_.CreateExtractElement(argument(i), uint64_t(c));
  }
  Value *int32(int64_t value) { return llvm::ConstantInt::getSigned(i32_, value); }

  void makeVariables() {
    // The thread's number in the grid, for its own output words.
    Value *row = b_.CreateAdd(component(7, 1), b_.CreateMul(component(7, 2), component(14, 1)));
    thread_ = b_.CreateAdd(component(7, 0), b_.CreateMul(row, component(14, 0)), "thread");
    threadsHere_ =
        b_.CreateMul(component(13, 0), b_.CreateMul(component(13, 1), component(13, 2)), "here");
    auto make = [&](Type *type, unsigned count) {
      for (unsigned i = 0; i < count; ++i)
        variables_.push_back({type, b_.CreateAlloca(type)});
    };
    make(i32_, 4);
    make(f32_, 3);
    make(i64_, 1);
    make(f16_, 1);
    make(v4f_, 1);
    make(i8_, 1);
    arrays_.push_back({i32_, b_.CreateAlloca(llvm::ArrayType::get(i32_, kPrivate))});
    arrays_.push_back({f32_, b_.CreateAlloca(llvm::ArrayType::get(f32_, kPrivate))});
    hasArrays_ = chance(50);
    for (Variable &variable : variables_)
      b_.CreateStore(leaf(variable.type), variable.slot);
    if (hasArrays_)
      for (Variable &array : arrays_)
        for (unsigned i = 0; i < kPrivate; ++i)
          b_.CreateStore(leaf(array.type), element(array, int32(i)));
  }

  struct Variable {
    Type *type;
    Value *slot;
  };

  Value *element(const Variable &array, Value *index) {
    Value *wide = b_.CreateZExt(index, i64_);
    return b_.CreateInBoundsGEP(llvm::ArrayType::get(array.type, kPrivate), array.slot,
                                {b_.getInt64(0), wide});
  }
  Variable &variableOf(Type *type) {
    std::vector<Variable *> fitting;
    for (Variable &variable : variables_)
      if (variable.type == type)
        fitting.push_back(&variable);
    return *fitting[below(uint32_t(fitting.size()))];
  }

  // Memory.
  Value *address(unsigned parameter, Type *type, Value *index) {
    return b_.CreateInBoundsGEP(type, argument(parameter), b_.CreateZExt(index, i64_));
  }
  Value *parameterWord(uint32_t index) {
    return b_.CreateLoad(i32_, address(kParams, i32_, int32(index)));
  }

  /// An index of an input word, in one of the patterns that kernels have.
  Value *inputIndex(uint32_t width) {
    Value *lane = b_.CreateZExt(argument(11), i32_);
    Value *index = nullptr;
    switch (below(7)) {
    case 0:
      index = thread_;
      break;
    case 1:
      index = b_.CreateMul(lane, int32(1 + below(9)));
      break;
    case 2:
      index = b_.CreateAdd(b_.CreateMul(b_.CreateUDiv(lane, int32(4)), int32(8)),
                           b_.CreateURem(lane, int32(4)));
      break;
    case 3:
      index = parameterWord(below(2));
      break;
    case 4:
      index = component(10, 0);
      break;
    case 5:
      index = argument(9);
      break;
    default:
      index = load(variableOf(i32_));
      break;
    }
    if (chance(50))
      index = b_.CreateAdd(index, int32(below(40)));
    return b_.CreateAnd(index, int32(kInputWords / width - 1));
  }
  Value *load(const Variable &variable) { return b_.CreateLoad(variable.type, variable.slot); }

  Value *input(Type *type) {
    if (type == i32_)
      return b_.CreateLoad(i32_, address(kInts, i32_, inputIndex(1)));
    if (type == f32_)
      return b_.CreateLoad(f32_, address(kFloats, f32_, inputIndex(1)));
    if (type == v4f_)
      return b_.CreateAlignedLoad(v4f_, address(kFloats, v4f_, inputIndex(4)), llvm::Align(16));
    if (type == i64_)
      return b_.CreateLoad(i64_, address(kInts, i64_, inputIndex(2)));
    if (type == i8_)
      return b_.CreateLoad(i8_, address(kInts, i8_, inputIndex(1)));
    return canonical(b_.CreateLoad(f16_, address(kInts, f16_, inputIndex(1))));
  }

  Value *leaf(Type *type) {
    if (chance(25))
      return input(type);
    if (type == f32_)
      return llvm::ConstantFP::get(f32_, pick({0.0, 1.0, -2.5, 3.0, 0.125, 1000.0}));
    if (type == f16_)
      return llvm::ConstantFP::get(f16_, pick({0.0, 1.0, -0.5, 100.0}));
    if (type == v4f_) {
      Value *vector = llvm::PoisonValue::get(v4f_);
      for (uint64_t i = 0; i < 4; ++i)
        vector =
            b_.CreateInsertElement(vector, llvm::ConstantFP::get(f32_, double(below(9)) - 4), i);
      return vector;
    }
    if (type == i32_)
      switch (below(6)) {
      case 0:
        return thread_;
      case 1:
        return argument(9);
      case 2:
        return b_.CreateZExt(argument(11), i32_);
      case 3:
        return component(pick({7u, 8u, 10u}), below(3));
      case 4:
        return parameterWord(below(8));
      default:
        return int32(int32_t(below(20)) - 5);
      }
    return llvm::ConstantInt::getSigned(type, int32_t(below(20)) - 5);
  }

  // Expressions.
  Value *call(const std::string &name, Type *result, std::vector<Value *> arguments,
              bool isConvergent) {
    std::vector<Type *> types;
    for (Value *value : arguments)
      types.push_back(value->getType());
    auto callee = module_.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
    auto *declared = llvm::cast<llvm::Function>(callee.getCallee());
    declared->addFnAttr(llvm::Attribute::NoUnwind);
    if (isConvergent)
      declared->addFnAttr(llvm::Attribute::Convergent);
    auto *result_ = b_.CreateCall(callee, arguments);
    if (isConvergent)
      result_->addFnAttr(llvm::Attribute::Convergent);
    return result_;
  }

  /// NaNs get one pattern: which of two operands' payloads an instruction gives is nobody's
  /// promise.
  Value *canonical(Value *value) {
    Value *isNaN = b_.CreateFCmpUNO(value, value);
    return b_.CreateSelect(isNaN, llvm::ConstantFP::getQNaN(value->getType()), value);
  }
  Value *plusZero(Value *value) {
    return b_.CreateFAdd(value, llvm::ConstantFP::get(value->getType(), 0.0));
  }

  Value *condition(uint32_t depth) {
    if (chance(10))
      return b_.CreateICmpULT(b_.CreateZExt(argument(11), i32_), int32(below(33)));
    if (chance(30))
      return b_.CreateFCmp(pick({llvm::CmpInst::FCMP_OLT, llvm::CmpInst::FCMP_OGE,
                                 llvm::CmpInst::FCMP_UNE, llvm::CmpInst::FCMP_ORD}),
                           expression(f32_, depth), expression(f32_, depth));
    return b_.CreateICmp(
        pick({llvm::CmpInst::ICMP_SLT, llvm::CmpInst::ICMP_ULT, llvm::CmpInst::ICMP_EQ,
              llvm::CmpInst::ICMP_SGE, llvm::CmpInst::ICMP_NE}),
        expression(i32_, depth), expression(i32_, depth));
  }
  /// A condition that is the same for the whole threadgroup.
  Value *uniformCondition() {
    Value *value = chance(50) ? parameterWord(below(8)) : component(10, below(3));
    return b_.CreateICmp(
        pick({llvm::CmpInst::ICMP_ULT, llvm::CmpInst::ICMP_NE, llvm::CmpInst::ICMP_UGT}), value,
        int32(below(6)));
  }

  Value *expression(Type *type, uint32_t depth) {
    if (depth == 0 || chance(15))
      return chance(65) ? load(variableOf(type)) : leaf(type);
    if (chance(8))
      return b_.CreateSelect(condition(depth - 1), expression(type, depth - 1),
                             expression(type, depth - 1));
    if (type == i32_ || type == i64_ || type == i8_)
      return integer(type, depth - 1);
    if (type == v4f_)
      return vector(depth - 1);
    return real(type, depth - 1);
  }

  Value *integer(Type *type, uint32_t depth) {
    unsigned width = type->getIntegerBitWidth();
    auto any = [&] { return expression(type, depth); };
    auto one = [&](int64_t v) { return llvm::ConstantInt::getSigned(type, v); };
    switch (below(20)) {
    case 0:
      return b_.CreateAdd(any(), any());
    case 1:
      return b_.CreateSub(any(), any());
    case 2:
      return b_.CreateMul(any(), any());
    case 3:
      return b_.CreateAnd(any(), any());
    case 4:
      return b_.CreateOr(any(), any());
    case 5:
      return b_.CreateXor(any(), any());
    case 6:
      return b_.CreateShl(any(), b_.CreateAnd(any(), one(width - 1)));
    case 7:
      return b_.CreateLShr(any(), b_.CreateAnd(any(), one(width - 1)));
    case 8:
      return b_.CreateAShr(any(), b_.CreateAnd(any(), one(width - 1)));
    case 9:
      return b_.CreateSDiv(any(), b_.CreateOr(any(), one(1)));
    case 10:
      return b_.CreateURem(any(), b_.CreateOr(any(), one(1)));
    case 11:
      return b_.CreateBinaryIntrinsic(pick({llvm::Intrinsic::smin, llvm::Intrinsic::umax,
                                            llvm::Intrinsic::usub_sat, llvm::Intrinsic::sadd_sat}),
                                      any(), any());
    case 12:
      return b_.CreateUnaryIntrinsic(pick({llvm::Intrinsic::ctpop, llvm::Intrinsic::bitreverse}),
                                     any());
    case 13:
      return b_.CreateBinaryIntrinsic(pick({llvm::Intrinsic::ctlz, llvm::Intrinsic::cttz}), any(),
                                      b_.getFalse());
    case 14: {
      Type *other = type == i32_ ? pick({i64_, i8_}) : i32_;
      Value *value = expression(other, depth);
      return chance(50) ? b_.CreateZExtOrTrunc(value, type) : b_.CreateSExtOrTrunc(value, type);
    }
    case 15:
      if (type == i32_)
        return call("air.convert.s.i32.f.f32", i32_, {expression(f32_, depth)}, false);
      return any();
    case 16:
      if (type == i32_)
        return b_.CreateBitCast(canonical(expression(f32_, depth)), i32_);
      return any();
    case 17:
      return b_.CreateZExt(condition(depth), type);
    case 18:
      if (type == i32_)
        return b_.CreateTrunc(
            b_.CreateLShr(b_.CreateMul(b_.CreateZExt(any(), i64_), b_.CreateZExt(any(), i64_)), 32),
            i32_);
      return any();
    default:
      if (type == i32_ && hasArrays_)
        return b_.CreateLoad(i32_, element(arrays_[0], b_.CreateAnd(any(), int32(kPrivate - 1))));
      return any();
    }
  }

  Value *real(Type *type, uint32_t depth) {
    auto any = [&] { return expression(type, depth); };
    switch (below(15)) {
    case 0:
    case 1:
      return b_.CreateFAdd(any(), any());
    case 2:
      return b_.CreateFSub(any(), any());
    case 3:
    case 4:
      return b_.CreateFMul(any(), any());
    case 5:
      return b_.CreateFDiv(any(), any());
    case 6:
      return b_.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {any(), any(), any()});
    case 7: {
      Value *a = any();
      return plusZero(b_.CreateBinaryIntrinsic(
          pick({llvm::Intrinsic::minnum, llvm::Intrinsic::maxnum}), a, any()));
    }
    case 8:
      return b_.CreateUnaryIntrinsic(pick({llvm::Intrinsic::fabs, llvm::Intrinsic::floor,
                                           llvm::Intrinsic::trunc, llvm::Intrinsic::rint}),
                                     any());
    case 9:
      return b_.CreateFNeg(any());
    case 10:
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt,
                                     b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, any()));
    case 11:
      if (type == f32_)
        return b_.CreateFPExt(expression(f16_, depth), f32_);
      return b_.CreateFPTrunc(expression(f32_, depth), f16_);
    case 12:
      if (type == f32_)
        return call("air.convert.f.f32.s.i32", f32_, {expression(i32_, depth)}, false);
      return any();
    case 13:
      if (type == f32_)
        return b_.CreateExtractElement(
            expression(v4f_, depth),
            chance(70) ? int32(below(4)) : b_.CreateAnd(expression(i32_, depth), int32(3)));
      return any();
    default:
      if (type == f32_ && hasArrays_)
        return b_.CreateLoad(
            f32_, element(arrays_[1], b_.CreateAnd(expression(i32_, depth), int32(kPrivate - 1))));
      return any();
    }
  }

  Value *vector(uint32_t depth) {
    auto any = [&] { return expression(v4f_, depth); };
    switch (below(5)) {
    case 0:
      return b_.CreateFAdd(any(), any());
    case 1:
      return b_.CreateFMul(any(), any());
    case 2: {
      int mask[4];
      for (int &i : mask)
        i = int(below(8));
      return b_.CreateShuffleVector(any(), any(), mask);
    }
    case 3:
      return b_.CreateInsertElement(any(), expression(f32_, depth),
                                    chance(70) ? int32(below(4))
                                               : b_.CreateAnd(expression(i32_, depth), int32(3)));
    default:
      return b_.CreateFSub(any(), b_.CreateVectorSplat(4, expression(f32_, depth)));
    }
  }

  // Statements.
  void block(uint32_t statements, uint32_t depth, bool isConvergent) {
    uint32_t count = 1 + below(statements);
    for (uint32_t i = 0; i < count; ++i)
      statement(depth, isConvergent);
  }

  void statement(uint32_t depth, bool isConvergent) {
    uint32_t kind = below(100);
    bool mayNest = depth < options_.maxDepth;
    if (kind < 30)
      assign();
    else if (kind < 42 && mayNest)
      branch(depth, isConvergent);
    else if (kind < 54 && mayNest)
      loop(depth, isConvergent);
    else if (kind < 70)
      together(isConvergent && !hasReturned_);
    else if (kind < 76 && hasArrays_)
      storeArray();
    else if (kind < 84 && isConvergent && !hasReturned_)
      exchange();
    else if (kind < 88)
      countAtomically();
    else if (kind < 92)
      storeOwn();
    else if (kind < 94 && depth == 0)
      leaveEarly();
    else if (kind < 96 && mayNest)
      select(depth);
    else
      assign();
  }

  void assign() {
    Variable &variable = variables_[below(uint32_t(variables_.size()))];
    b_.CreateStore(expression(variable.type, 3), variable.slot);
  }

  BasicBlock *newBlock(const char *name) { return BasicBlock::Create(context_, name, function_); }

  void branch(uint32_t depth, bool isConvergent) {
    bool isUniform = chance(35);
    Value *test = isUniform ? uniformCondition() : condition(2);
    BasicBlock *yes = newBlock("yes"), *no = newBlock("no"), *join = newBlock("join");
    b_.CreateCondBr(test, yes, no);
    b_.SetInsertPoint(yes);
    block(4, depth + 1, isConvergent && isUniform);
    b_.CreateBr(join);
    b_.SetInsertPoint(no);
    if (chance(60))
      block(3, depth + 1, isConvergent && isUniform);
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
  }

  void select(uint32_t depth) {
    BasicBlock *join = newBlock("join");
    BasicBlock *other = newBlock("other");
    auto *choice = b_.CreateSwitch(b_.CreateAnd(expression(i32_, 2), int32(7)), other, 3);
    for (int i = 0; i < 3; ++i) {
      BasicBlock *one = newBlock("case");
      choice->addCase(llvm::cast<llvm::ConstantInt>(int32(i * 2)), one);
      b_.SetInsertPoint(one);
      block(2, depth + 1, false);
      b_.CreateBr(join);
    }
    b_.SetInsertPoint(other);
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
  }

  void loop(uint32_t depth, bool isConvergent) {
    bool isUniform = chance(50);
    Value *limit = isUniform ? b_.CreateAnd(parameterWord(below(8)), int32(pick({3, 7})))
                             : b_.CreateAnd(expression(i32_, 2), int32(pick({3, 7, 15})));
    if (chance(20))
      limit = int32(1 + below(5));
    BasicBlock *before = b_.GetInsertBlock();
    BasicBlock *header = newBlock("loop"), *latch = newBlock("next"), *done = newBlock("done"),
               *body = newBlock("body");
    b_.CreateBr(header);
    b_.SetInsertPoint(header);
    llvm::PHINode *counter = b_.CreatePHI(i32_, 2, "i");
    counter->addIncoming(int32(0), before);
    b_.CreateCondBr(b_.CreateICmpULT(counter, limit), body, done);
    b_.SetInsertPoint(body);
    bool inside = isConvergent && isUniform;
    if (chance(40))
      b_.CreateStore(b_.CreateAdd(load(variables_[0]), counter), variables_[0].slot);
    block(3, depth + 1, inside);
    if (chance(30)) {
      BasicBlock *rest = newBlock("rest");
      b_.CreateCondBr(inside ? uniformCondition() : condition(2), chance(50) ? done : latch, rest);
      b_.SetInsertPoint(rest);
      block(2, depth + 1, inside);
    }
    b_.CreateBr(latch);
    b_.SetInsertPoint(latch);
    counter->addIncoming(b_.CreateAdd(counter, int32(1)), latch);
    b_.CreateBr(header);
    b_.SetInsertPoint(done);
  }

  /// A SIMD-group or quad operation. Where lanes may be missing, only those that combine active
  /// lanes.
  void together(bool isConvergent) {
    Type *type = pick({i32_, i32_, f32_, f32_, f16_});
    std::string suffix = type == i32_ ? "i32" : type == f32_ ? "f32" : "f16";
    std::string sign = type == i32_ ? pick({"s.", "u."}) : "";
    Value *value = expression(type, 2);
    Value *result = nullptr;
    std::string group = chance(20) ? "quad_" : "simd_";
    uint32_t kind = below(isConvergent ? 14 : 8);
    switch (kind) {
    case 0:
    case 1:
      result = call("air." + group + "sum." + sign + suffix, type, {value}, true);
      break;
    case 2:
      result = call("air." + group + pick({"min.", "max."}) + sign + suffix, type, {value}, true);
      if (type != i32_)
        result = plusZero(result);
      break;
    case 3:
      if (type == i32_)
        result = call("air." + group + pick({"and.", "or.", "xor."}) + sign + suffix, type, {value},
                      true);
      else
        result = call("air." + group + "product." + suffix, type, {value}, true);
      break;
    case 4:
      result = call("air." + group + pick({"prefix_exclusive_sum.", "prefix_inclusive_sum."}) +
                        sign + suffix,
                    type, {value}, true);
      break;
    case 5:
      result = call("air." + group + "broadcast_first." + sign + suffix, type, {value}, true);
      break;
    case 6: {
      type = i64_;
      result = call("air.simd_ballot.i64", i64_, {condition(1)}, true);
      break;
    }
    case 7: {
      type = i32_;
      result = b_.CreateZExt(
          call("air.simd_" + std::string(pick({"all", "any"})), i1_, {condition(1)}, true), i32_);
      break;
    }
    default:
      result = shuffle(type, suffix, sign, value, kind);
    }
    b_.CreateStore(result, variableOf(type).slot);
  }

  /// All lanes that the SIMD group has are here; the last group of a threadgroup may be short.
  Value *shuffle(Type *type, const std::string &suffix, const std::string &sign, Value *value,
                 uint32_t kind) {
    Value *lane = b_.CreateZExt(argument(11), i32_);
    Value *first = b_.CreateSub(argument(9), lane);
    Value *lanes = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin,
                                            b_.CreateSub(threadsHere_, first), int32(32));
    auto name = [&](const char *operation) {
      return "air.simd_" + std::string(operation) + "." + sign + suffix;
    };
    Value *zero = llvm::Constant::getNullValue(type);
    switch (kind) {
    case 8:
    case 9: {
      Value *source = b_.CreateURem(expression(i32_, 1), lanes);
      return call(name("shuffle"), type, {value, b_.CreateTrunc(source, i16_)}, true);
    }
    case 10: {
      int32_t mask = int32_t(pick({1u, 2u, 4u, 8u, 16u, 3u, 31u}));
      Value *result = call(name("shuffle_xor"), type,
                           {value, llvm::ConstantInt::get(i16_, uint64_t(mask))}, true);
      return b_.CreateSelect(b_.CreateICmpULT(b_.CreateXor(lane, mask), lanes), result, zero);
    }
    case 11: {
      int32_t delta = 1 + int32_t(below(20));
      Value *result = call(name("shuffle_down"), type,
                           {value, llvm::ConstantInt::get(i16_, uint64_t(delta))}, true);
      Value *source = b_.CreateAdd(lane, int32(delta));
      Value *isDefined =
          b_.CreateOr(b_.CreateICmpULT(source, lanes), b_.CreateICmpUGE(source, int32(32)));
      return b_.CreateSelect(isDefined, result, zero);
    }
    case 12:
      return call(name("shuffle_up"), type,
                  {value, llvm::ConstantInt::get(i16_, uint64_t(below(32)))}, true);
    default: {
      Value *source = b_.CreateURem(parameterWord(below(8)), lanes);
      return call(name("broadcast"), type, {value, b_.CreateTrunc(source, i16_)}, true);
    }
    }
  }

  void storeArray() {
    Variable &array = arrays_[below(2)];
    Value *index = chance(50) ? int32(below(kPrivate))
                              : b_.CreateAnd(expression(i32_, 2), int32(kPrivate - 1));
    b_.CreateStore(expression(array.type, 2), element(array, index));
  }

  void barrier() { call("air.wg.barrier", b_.getVoidTy(), {int32(2), int32(1)}, true); }

  /// Each thread writes a word of threadgroup memory and reads another's.
  void exchange() {
    Type *type = pick({i32_, f32_});
    uint32_t stride = pick({1u, 1u, 2u, 3u});
    auto place = [&](Value *thread) {
      return b_.CreateInBoundsGEP(type, argument(6),
                                  b_.CreateZExt(b_.CreateMul(thread, int32(stride)), i64_));
    };
    barrier();
    b_.CreateStore(expression(type, 2), place(argument(9)));
    barrier();
    Value *other = b_.CreateURem(expression(i32_, 2), threadsHere_);
    Value *value = b_.CreateLoad(type, place(other));
    b_.CreateStore(value, variableOf(type).slot);
  }

  void countAtomically() {
    // One operation for each counter, so that the order in which threads come does not matter.
    uint32_t counter = below(kCounters);
    static const char *operations[] = {"add.u", "max.u", "or.u",  "min.s",
                                       "xor.u", "and.s", "max.s", "sub.u"};
    Value *at = b_.CreateInBoundsGEP(i32_, argument(kAtomics), b_.getInt64(counter));
    call(std::string("air.atomic.global.") + operations[counter % 8] + ".i32", i32_,
         {at, expression(i32_, 2), int32(0), int32(2), b_.getTrue()}, false);
  }

  void storeOwn() {
    Value *base = b_.CreateMul(thread_, int32(kOwnWords));
    uint32_t kind = below(3);
    if (kind == 0) {
      Value *at = b_.CreateAdd(base, int32(below(kOwnWords)));
      b_.CreateStore(expression(i32_, 2), address(kOut, i32_, at));
    } else if (kind == 1) {
      Value *at = b_.CreateAdd(base, int32(below(kOwnWords)));
      b_.CreateStore(expression(i8_, 2), address(kBytesOut, i8_, at));
    } else {
      Value *at = b_.CreateAdd(base, b_.CreateAnd(expression(i32_, 1), int32(kOwnWords - 1)));
      b_.CreateStore(canonical(expression(f32_, 2)), address(kOut, f32_, at));
    }
  }

  void leaveEarly() {
    BasicBlock *rest = newBlock("rest");
    b_.CreateCondBr(condition(2), exit_, rest);
    b_.SetInsertPoint(rest);
    hasReturned_ = true;
  }

  /// At the end every variable shows in the output.
  void writeVariables() {
    Value *base = b_.CreateMul(thread_, int32(kOwnWords));
    auto out = [&](Value *value, uint32_t word) {
      b_.CreateStore(value, address(kOut, value->getType(), b_.CreateAdd(base, int32(word))));
    };
    Value *mixed = int32(0);
    for (Variable &variable : variables_) {
      Value *value = load(variable);
      if (variable.type == i32_)
        out(value, below(3));
      else if (variable.type == f32_)
        out(canonical(value), 3 + below(2));
      else if (variable.type == v4f_)
        b_.CreateAlignedStore(canonical(value),
                              address(kOut, v4f_, b_.CreateLShr(b_.CreateAdd(base, int32(4)), 2)),
                              llvm::Align(16));
      else if (variable.type == f16_)
        mixed = b_.CreateXor(mixed, b_.CreateZExt(b_.CreateBitCast(canonical(value), i16_), i32_));
      else
        mixed = b_.CreateAdd(b_.CreateMul(mixed, int32(31)), b_.CreateZExtOrTrunc(value, i32_));
    }
    out(mixed, 2);
    b_.CreateStore(b_.CreateTrunc(mixed, i8_),
                   address(kBytesOut, i8_, b_.CreateAdd(base, int32(1))));
  }

  void addMetadata() {
    auto text = [&](const char *value) -> llvm::Metadata * {
      return llvm::MDString::get(context_, value);
    };
    auto number = [&](uint32_t value) -> llvm::Metadata * {
      return llvm::ConstantAsMetadata::get(b_.getInt32(value));
    };
    std::vector<llvm::Metadata *> arguments;
    auto buffer = [&](uint32_t parameter, uint32_t slot, bool writes, uint32_t space, uint32_t size,
                      const char *type) {
      arguments.push_back(llvm::MDNode::get(
          context_,
          {number(parameter), text("air.buffer"), text("air.location_index"), number(slot),
           number(1), text(writes ? "air.read_write" : "air.read"), text("air.address_space"),
           number(space), text("air.arg_type_size"), number(size), text("air.arg_type_align_size"),
           number(size), text("air.arg_type_name"), text(type), text("air.arg_name"),
           llvm::MDString::get(context_, argument(parameter)->getName())}));
    };
    auto builtin = [&](uint32_t parameter, const char *kind, const char *type) {
      arguments.push_back(llvm::MDNode::get(
          context_,
          {number(parameter), text(kind), text("air.arg_type_name"), text(type),
           text("air.arg_name"), llvm::MDString::get(context_, argument(parameter)->getName())}));
    };
    buffer(0, kInts, false, 1, 4, "int");
    buffer(1, kFloats, false, 1, 4, "float");
    buffer(2, kOut, true, 1, 4, "int");
    buffer(3, kParams, false, 2, 4, "int");
    buffer(4, kAtomics, true, 1, 4, "int");
    buffer(5, kBytesOut, true, 1, 1, "char");
    buffer(6, 0, true, 3, 4, "int");
    builtin(7, "air.thread_position_in_grid", "uint3");
    builtin(8, "air.thread_position_in_threadgroup", "uint3");
    builtin(9, "air.thread_index_in_threadgroup", "uint");
    builtin(10, "air.threadgroup_position_in_grid", "uint3");
    builtin(11, "air.thread_index_in_simdgroup", "ushort");
    builtin(12, "air.simdgroup_index_in_threadgroup", "ushort");
    builtin(13, "air.threads_per_threadgroup", "uint3");
    builtin(14, "air.threads_per_grid", "uint3");
    module_.getOrInsertNamedMetadata("air.kernel")
        ->addOperand(llvm::MDNode::get(context_, {llvm::ConstantAsMetadata::get(function_),
                                                  llvm::MDNode::get(context_, {}),
                                                  llvm::MDNode::get(context_, arguments)}));
    module_.getOrInsertNamedMetadata("air.version")
        ->addOperand(llvm::MDNode::get(context_, {number(2), number(7), number(0)}));
    module_.getOrInsertNamedMetadata("air.language_version")
        ->addOperand(llvm::MDNode::get(context_, {text("Metal"), number(3), number(2), number(0)}));
  }

  std::mt19937_64 random_;
  GeneratorOptions options_;
  llvm::LLVMContext context_;
  llvm::Module module_;
  llvm::IRBuilder<> b_;
  Type *i1_, *i8_, *i16_, *i32_, *i64_, *f16_, *f32_, *v4f_;
  llvm::Function *function_ = nullptr;
  BasicBlock *exit_ = nullptr;
  Value *thread_ = nullptr, *threadsHere_ = nullptr;
  std::vector<Variable> variables_, arrays_;
  bool hasArrays_ = false, hasReturned_ = false;
  uint32_t threads_ = 0;
  KernelCase case_;
};

} // namespace

KernelCase generateKernel(uint64_t seed, const GeneratorOptions &options) {
  return Generator(seed, options).run();
}

std::string textOfKernel(const KernelCase &test) {
  llvm::LLVMContext context;
  std::string_view bytes = textOf(*test.module);
  auto module = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef({bytes.data(), bytes.size()}, "kernel"), context);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (module)
    (*module)->print(stream, nullptr);
  else
    stream << llvm::toString(module.takeError());
  return text;
}

} // namespace pewter::testing
