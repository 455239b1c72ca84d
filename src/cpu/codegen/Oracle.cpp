// SPDX-License-Identifier: Apache-2.0
//
// Steps: number the blocks; give every loop an iteration counter; replace each collective call by a
// call through the runtime table with its key; lower atomics to LLVM's; give threadgroup variables
// their place; fetch parameters from memory.
//
// A `<64 x T>` value is a matrix of the whole SIMD group: each lane holds all of it. Reading
// element 0 or 1 means the lane's own two elements, and writing them is a collective step that
// leaves all lanes with the same matrix again.
//
// Tested by tests/kernels/Oracle*.cpp.
#include "cpu/codegen/Oracle.h"
#include "cpu/abi/OracleAbi.h"
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace pewter::cpu::codegen {
namespace {

using llvm::BasicBlock;
using llvm::CallInst;
using llvm::Instruction;
using llvm::StringRef;
using llvm::Type;
using llvm::Value;

/// Blocks in an order in which each stands after its predecessors (back edges aside) and each
/// loop's blocks stand together.
class BlockOrder {
public:
  BlockOrder(llvm::Function &function, const llvm::LoopInfo &loops) : loops_(loops) {
    llvm::ReversePostOrderTraversal<llvm::Function *> order(&function);
    std::vector<BasicBlock *> all(order.begin(), order.end());
    place(all, nullptr);
  }
  uint64_t operator[](const BasicBlock *block) const { return places_.lookup(block); }

private:
  void place(const std::vector<BasicBlock *> &blocks, const llvm::Loop *around) {
    llvm::SmallPtrSet<const llvm::Loop *, 8> done;
    for (BasicBlock *block : blocks) {
      const llvm::Loop *inner = loops_.getLoopFor(block);
      while (inner && inner->getParentLoop() != around && inner != around)
        inner = inner->getParentLoop();
      if (inner == around || !inner) {
        uint64_t next = places_.size() + 1;
        places_[block] = next;
        continue;
      }
      if (!done.insert(inner).second)
        continue;
      std::vector<BasicBlock *> members;
      for (BasicBlock *member : blocks)
        if (inner->contains(member))
          members.push_back(member);
      place(members, inner);
    }
  }

  const llvm::LoopInfo &loops_;
  llvm::DenseMap<const BasicBlock *, uint64_t> places_;
};

bool isMatrix(Type *type) {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector && vector->getNumElements() == 64;
}

bool isCollective(StringRef name) {
  return name.starts_with("air.simd_") || name.starts_with("air.quad_") ||
         name.starts_with("air.simdgroup_matrix_8x8_") || name.starts_with("air.wg.barrier") ||
         name.starts_with("air.simdgroup.barrier") || name.starts_with("air.is_uniform");
}

std::string spell(Type *type) {
  if (type->isVoidTy())
    return "void";
  if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    return fmt::format("v{}{}", vector->getNumElements(), spell(vector->getElementType()));
  if (type->isPointerTy())
    return "p";
  if (type->isHalfTy())
    return "f16";
  if (type->isBFloatTy())
    return "bf16";
  if (type->isFloatTy())
    return "f32";
  if (type->isIntegerTy())
    return fmt::format("i{}", type->getIntegerBitWidth());
  return "?";
}

class OracleGenerator {
public:
  explicit OracleGenerator(air::ir::CanonicalKernel kernel)
      : kernel_(std::move(kernel)), module_(*kernel_.module), context_(module_.getContext()),
        builder_(context_), pointer_(llvm::PointerType::get(context_, 0)) {}

  Result<GeneratedKernel> run() {
    makeEntry();
    dropPermissions();
    PEWTER_TRY_VOID(replaceMatrixElements());
    PEWTER_TRY_VOID(replaceCalls());
    placeThreadgroupVariables();

    GeneratedKernel result;
    result.module = std::move(kernel_.module);
    result.lanesPerCall = 1;
    result.reflection = std::move(kernel_.reflection);
    return result;
  }

private:
  template <class... Args>
  std::unexpected<Error> cannot(fmt::format_string<Args...> format, Args &&...args) const {
    return fail(ErrorKind::Unsupported, "Kernel \"{}\" has no oracle: {}.", kernel_.reflection.name,
                fmt::format(format, std::forward<Args>(args)...));
  }

  Value *lanePointer() { return entry_->getArg(1); }
  Value *field(size_t offset, Type *type) {
    return builder_.CreateLoad(
        type, builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), lanePointer(), offset));
  }

  /// The body of the kernel moves into void(arguments, lane); parameters become loads.
  void makeEntry() {
    llvm::Function &kernel = *kernel_.function;
    auto *type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer_, pointer_}, false);
    entry_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kSimdgroupEntryName,
                                    module_);
    entry_->splice(entry_->begin(), &kernel);
    builder_.SetInsertPoint(&entry_->getEntryBlock(), entry_->getEntryBlock().begin());
    threadgroupBase_ =
        field(offsetof(OracleLane, context.threadgroupMemory), builder_.getInt64Ty());
    for (llvm::Argument &parameter : kernel.args())
      parameter.replaceAllUsesWith(fetch(parameter));
    bodyStart_ = &*builder_.GetInsertPoint();
    if (llvm::NamedMDNode *kernels = module_.getNamedMetadata("air.kernel"))
      kernels->eraseFromParent();
    kernel.eraseFromParent();
    kernel_.function = nullptr;
  }

  const air::Argument *argumentOf(unsigned parameter) const {
    for (const air::Argument &argument : kernel_.reflection.arguments)
      if (argument.parameter == parameter)
        return &argument;
    return nullptr;
  }

  Value *fetch(llvm::Argument &parameter) {
    Type *type = parameter.getType();
    const air::Argument *argument = argumentOf(parameter.getArgNo());
    if (argument && argument->kind == air::ArgumentKind::Builtin) {
      size_t at = offsetof(OracleLane, builtins) + size_t(argument->builtin) * 3 * sizeof(uint32_t);
      auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
      Type *element = type->getScalarType();
      Value *result = llvm::PoisonValue::get(type);
      for (unsigned i = 0; i < (vector ? vector->getNumElements() : 1); ++i) {
        Value *component = builder_.CreateZExtOrTrunc(
            field(at + i * sizeof(uint32_t), builder_.getInt32Ty()), element);
        result = vector ? builder_.CreateInsertElement(result, component, i) : component;
      }
      return result;
    }
    Value *slot =
        builder_.CreateConstInBoundsGEP1_64(pointer_, entry_->getArg(0), parameter.getArgNo());
    if (argument && argument->kind == air::ArgumentKind::ThreadgroupMemory) {
      Value *offset = builder_.CreateLoad(builder_.getInt64Ty(), slot);
      return builder_.CreateIntToPtr(builder_.CreateAdd(threadgroupBase_, offset), type);
    }
    return builder_.CreateLoad(type, slot);
  }

  void dropPermissions() {
    for (Instruction &instruction : llvm::instructions(*entry_))
      if (llvm::isa<llvm::FPMathOperator>(instruction))
        instruction.setFastMathFlags({});
  }

  /// extractelement and insertelement of a matrix speak of the lane's own two elements.
  Result<void> replaceMatrixElements() {
    llvm::SmallVector<Instruction *, 16> found;
    for (Instruction &instruction : llvm::instructions(*entry_)) {
      bool touches = llvm::isa<llvm::ExtractElementInst, llvm::InsertElementInst,
                               llvm::ShuffleVectorInst, llvm::BitCastInst>(instruction) &&
                     isMatrix(instruction.getOperand(0)->getType());
      if (touches)
        found.push_back(&instruction);
    }
    for (Instruction *instruction : found) {
      bool isExtract = llvm::isa<llvm::ExtractElementInst>(instruction);
      if (!isExtract && !llvm::isa<llvm::InsertElementInst>(instruction))
        return cannot("a matrix is used by a {} instruction", instruction->getOpcodeName());
      Value *index = instruction->getOperand(isExtract ? 1 : 2);
      builder_.SetInsertPoint(instruction);
      // Lane's position in the matrix: row (q & 4) + lane / 2 % 4, column (q & 2) * 2 + lane % 2 *
      // 2, where q = lane / 4.
      Value *lane = field(offsetof(OracleLane, lane), builder_.getInt32Ty());
      Value *quarter = builder_.CreateLShr(lane, 2);
      Value *row = builder_.CreateAdd(builder_.CreateAnd(quarter, 4),
                                      builder_.CreateAnd(builder_.CreateLShr(lane, 1), 3));
      Value *column = builder_.CreateAdd(builder_.CreateShl(builder_.CreateAnd(quarter, 2), 1),
                                         builder_.CreateShl(builder_.CreateAnd(lane, 1), 1));
      Value *at = builder_.CreateAdd(builder_.CreateShl(row, 3), column);
      at = builder_.CreateAdd(at, builder_.CreateZExtOrTrunc(index, builder_.getInt32Ty()));
      Value *replacement;
      if (isExtract) {
        replacement = builder_.CreateExtractElement(instruction->getOperand(0), at);
      } else {
        // The new element and its place go to all lanes.
        Type *matrix = instruction->getType();
        auto callee = module_.getOrInsertFunction(
            "air.simdgroup_matrix_8x8_insert." + spell(matrix), matrix, matrix,
            instruction->getOperand(1)->getType(), builder_.getInt32Ty());
        replacement = builder_.CreateCall(
            callee, {instruction->getOperand(0), instruction->getOperand(1), at});
      }
      instruction->replaceAllUsesWith(replacement);
      instruction->eraseFromParent();
    }
    return {};
  }

  Result<void> replaceCalls() {
    llvm::DominatorTree dominators(*entry_);
    llvm::LoopInfo loops(dominators);
    BlockOrder order(*entry_, loops);
    llvm::SmallVector<CallInst *, 32> calls;
    for (Instruction &instruction : llvm::instructions(*entry_))
      if (auto *call = llvm::dyn_cast<CallInst>(&instruction))
        if (call->getCalledFunction() && call->getCalledFunction()->getName().starts_with("air."))
          calls.push_back(call);
    for (const llvm::Loop *loop : loops.getLoopsInPreorder())
      counters_[loop] = makeCounter(*loop);

    llvm::DenseMap<const BasicBlock *, uint64_t> callsInBlock;
    for (CallInst *call : calls) {
      StringRef name = call->getCalledFunction()->getName();
      if (isCollective(name)) {
        const BasicBlock *block = call->getParent();
        std::vector<Value *> key{builder_.getInt64(callsInBlock[block]++),
                                 builder_.getInt64(order[block])};
        for (const llvm::Loop *loop = loops.getLoopFor(block); loop; loop = loop->getParentLoop()) {
          key.push_back(counters_.lookup(loop));
          key.push_back(builder_.getInt64(order[loop->getHeader()]));
        }
        std::reverse(key.begin(), key.end());
        replaceCollective(*call, key);
      } else if (name.starts_with("air.atomic.")) {
        PEWTER_TRY_VOID(replaceAtomic(*call, name));
      } else if (name.starts_with("air.get_simdgroup_size")) {
        call->replaceAllUsesWith(llvm::ConstantInt::get(call->getType(), air::kSimdWidth));
        call->eraseFromParent();
      } else {
        return cannot("it calls {}", name.str());
      }
    }
    return {};
  }

  Value *makeCounter(const llvm::Loop &loop) {
    BasicBlock *header = loop.getHeader();
    builder_.SetInsertPoint(header, header->begin());
    llvm::PHINode *counter = builder_.CreatePHI(builder_.getInt64Ty(), 2, "iteration");
    for (BasicBlock *from : llvm::predecessors(header)) {
      Value *value = builder_.getInt64(0);
      if (loop.contains(from)) {
        builder_.SetInsertPoint(from->getTerminator());
        value = builder_.CreateAdd(counter, builder_.getInt64(1));
      }
      counter->addIncoming(value, from);
    }
    return counter;
  }

  Value *temporary(Type *type) {
    llvm::IRBuilder<>::InsertPointGuard guard(builder_);
    builder_.SetInsertPoint(&entry_->getEntryBlock(), entry_->getEntryBlock().begin());
    return builder_.CreateAlloca(type);
  }

  /// i1 has no place in memory of its own: it travels as a byte.
  Type *inMemory(Type *type) {
    if (!type->isIntOrIntVectorTy(1))
      return type;
    if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
      return llvm::FixedVectorType::get(builder_.getInt8Ty(), vector->getNumElements());
    return builder_.getInt8Ty();
  }

  void replaceCollective(CallInst &call, const std::vector<Value *> &key) {
    std::string site = call.getCalledFunction()->getName().str() + ";" + spell(call.getType());
    builder_.SetInsertPoint(&call);
    auto *keyType = llvm::ArrayType::get(builder_.getInt64Ty(), key.size());
    Value *keySlot = temporary(keyType);
    for (size_t i = 0; i < key.size(); ++i)
      builder_.CreateStore(key[i], builder_.CreateConstInBoundsGEP2_64(keyType, keySlot, 0, i));

    auto *operandsType = llvm::ArrayType::get(pointer_, std::max<size_t>(1, call.arg_size()));
    Value *operands = temporary(operandsType);
    for (unsigned i = 0; i < call.arg_size(); ++i) {
      Value *operand = call.getArgOperand(i);
      site += ";" + spell(operand->getType());
      Type *type = inMemory(operand->getType());
      Value *slot = temporary(type);
      builder_.CreateStore(
          type == operand->getType() ? operand : builder_.CreateZExt(operand, type), slot);
      builder_.CreateStore(slot, builder_.CreateConstInBoundsGEP2_64(operandsType, operands, 0, i));
    }
    bool hasResult = !call.getType()->isVoidTy();
    Type *resultType = hasResult ? inMemory(call.getType()) : builder_.getInt8Ty();
    Value *result = temporary(resultType);

    Value *runtime = field(offsetof(OracleLane, context.runtime), pointer_);
    Value *function = builder_.CreateLoad(
        pointer_, builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), runtime,
                                                      offsetof(OracleRuntimeTable, collective)));
    auto *type = llvm::FunctionType::get(
        builder_.getVoidTy(),
        {pointer_, pointer_, pointer_, builder_.getInt32Ty(), pointer_, pointer_}, false);
    auto *text = llvm::ConstantDataArray::getString(context_, site);
    auto *global = new llvm::GlobalVariable(module_, text->getType(), true,
                                            llvm::GlobalValue::PrivateLinkage, text, "site");
    builder_.CreateCall(type, function,
                        {lanePointer(), global, keySlot, builder_.getInt32(uint32_t(key.size())),
                         operands, result});
    if (hasResult) {
      Value *loaded = builder_.CreateLoad(resultType, result);
      if (resultType != call.getType())
        loaded = builder_.CreateTrunc(loaded, call.getType());
      call.replaceAllUsesWith(loaded);
    }
    call.eraseFromParent();
  }

  /// Lanes run one after the other on one thread, so any order of LLVM's will do.
  Result<void> replaceAtomic(CallInst &call, StringRef name) {
    llvm::SmallVector<StringRef, 6> parts;
    name.split(parts, '.');
    if (parts[2] == "fence") {
      call.eraseFromParent();
      return {};
    }
    if (parts.size() < 4)
      return cannot("it calls {}", name.str());
    StringRef operation = parts[3];
    builder_.SetInsertPoint(&call);
    Value *address = call.getArgOperand(0);
    Type *type = call.getType();
    constexpr auto ordering = llvm::AtomicOrdering::Monotonic;
    Value *result = nullptr;
    if (operation == "load") {
      auto *load = builder_.CreateLoad(type, address);
      load->setAlignment(llvm::Align(type->getScalarSizeInBits() / 8));
      load->setAtomic(ordering);
      result = load;
    } else if (operation == "store") {
      Value *value = call.getArgOperand(1);
      auto *store = builder_.CreateStore(value, address);
      store->setAlignment(llvm::Align(value->getType()->getScalarSizeInBits() / 8));
      store->setAtomic(ordering);
    } else if (operation == "cmpxchg") {
      // The old value is the result, and is written back through the second operand.
      Value *expectedAt = call.getArgOperand(1), *desired = call.getArgOperand(2);
      Type *bits = builder_.getIntNTy(desired->getType()->getScalarSizeInBits());
      Value *expected = builder_.CreateLoad(bits, expectedAt);
      Value *pair =
          builder_.CreateAtomicCmpXchg(address, expected, builder_.CreateBitCast(desired, bits),
                                       llvm::MaybeAlign(), ordering, ordering);
      Value *old = builder_.CreateExtractValue(pair, 0);
      builder_.CreateStore(old, expectedAt);
      result = builder_.CreateBitCast(old, type);
    } else {
      bool isSigned = parts.size() > 4 && parts[4] == "s";
      bool isFloat = call.getArgOperand(1)->getType()->isFloatingPointTy();
      auto code = llvm::StringSwitch<llvm::AtomicRMWInst::BinOp>(operation)
                      .Case("xchg", llvm::AtomicRMWInst::Xchg)
                      .Case("add", isFloat ? llvm::AtomicRMWInst::FAdd : llvm::AtomicRMWInst::Add)
                      .Case("sub", isFloat ? llvm::AtomicRMWInst::FSub : llvm::AtomicRMWInst::Sub)
                      .Case("and", llvm::AtomicRMWInst::And)
                      .Case("or", llvm::AtomicRMWInst::Or)
                      .Case("xor", llvm::AtomicRMWInst::Xor)
                      .Case("min", isSigned ? llvm::AtomicRMWInst::Min : llvm::AtomicRMWInst::UMin)
                      .Case("max", isSigned ? llvm::AtomicRMWInst::Max : llvm::AtomicRMWInst::UMax)
                      .Default(llvm::AtomicRMWInst::BAD_BINOP);
      if (code == llvm::AtomicRMWInst::BAD_BINOP)
        return cannot("it calls {}", name.str());
      result = builder_.CreateAtomicRMW(code, address, call.getArgOperand(1), llvm::MaybeAlign(),
                                        ordering);
    }
    if (result && !type->isVoidTy())
      call.replaceAllUsesWith(result);
    call.eraseFromParent();
    return {};
  }

  /// Each threadgroup variable gets an offset in the threadgroup's block.
  void placeThreadgroupVariables() {
    const llvm::DataLayout &layout = module_.getDataLayout();
    uint64_t end = 0;
    llvm::SmallVector<llvm::GlobalVariable *, 4> variables;
    for (llvm::GlobalVariable &global : module_.globals())
      if (global.getAddressSpace() == unsigned(air::AddressSpace::Threadgroup))
        variables.push_back(&global);
    for (llvm::GlobalVariable *variable : variables) {
      uint64_t alignment = std::max<uint64_t>(16, variable->getAlign().valueOrOne().value());
      end = llvm::alignTo(end, alignment);
      builder_.SetInsertPoint(bodyStart_);
      Value *address = builder_.CreateIntToPtr(
          builder_.CreateAdd(threadgroupBase_, builder_.getInt64(end)), variable->getType());
      llvm::convertUsersOfConstantsToInstructions({variable});
      variable->replaceAllUsesWith(address);
      end += layout.getTypeAllocSize(variable->getValueType());
      variable->eraseFromParent();
    }
    if (!variables.empty())
      kernel_.reflection.staticThreadgroupBytes = uint32_t(llvm::alignTo(end, 16));
  }

  air::ir::CanonicalKernel kernel_;
  llvm::Module &module_;
  llvm::LLVMContext &context_;
  llvm::IRBuilder<> builder_;
  Type *pointer_;
  llvm::Function *entry_ = nullptr;
  Value *threadgroupBase_ = nullptr; ///< As an integer.
  Instruction *bodyStart_ = nullptr; ///< The first instruction after the parameters' loads.
  llvm::DenseMap<const llvm::Loop *, Value *> counters_;
};

} // namespace

Result<GeneratedKernel> generateOracle(air::ir::CanonicalKernel kernel) {
  return OracleGenerator(std::move(kernel)).run();
}

} // namespace pewter::cpu::codegen
