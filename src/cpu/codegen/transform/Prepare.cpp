// SPDX-License-Identifier: Apache-2.0
//
// Tested through tests/kernels.
#include "cpu/codegen/transform/Prepare.h"
#include "cpu/codegen/analysis/Uniformity.h"
#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SCCP.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/FixIrreducible.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LowerSwitch.h>
#include <llvm/Transforms/Utils/UnifyFunctionExitNodes.h>

using namespace llvm;

namespace pewter::cpu::codegen {

using air::Builtin;

namespace {

/// The built-in's value when the threadgroup's size is `size`; one entry a component.
std::optional<std::array<uint32_t, 3>> literalOf(Builtin builtin,
                                                 const std::array<uint32_t, 3> &size) {
  uint32_t threads = size[0] * size[1] * size[2];
  switch (builtin) {
  case Builtin::ThreadsPerThreadgroup:
  case Builtin::DispatchThreadsPerThreadgroup:
    return size;
  case Builtin::SimdgroupsPerThreadgroup:
  case Builtin::DispatchSimdgroupsPerThreadgroup:
    return std::array<uint32_t, 3>{(threads + 31) / 32, 1, 1};
  case Builtin::QuadgroupsPerThreadgroup:
  case Builtin::DispatchQuadgroupsPerThreadgroup:
    return std::array<uint32_t, 3>{(threads + 3) / 4, 1, 1};
  default:
    return std::nullopt;
  }
}

/// Values lie below this; 0 when nothing is known.
uint32_t limitOf(Builtin builtin) {
  switch (builtin) {
  case Builtin::ThreadIndexInThreadgroup:
  case Builtin::ThreadPositionInThreadgroup:
    return 1024;
  case Builtin::ThreadIndexInSimdgroup:
  case Builtin::SimdgroupIndexInThreadgroup:
    return 32;
  case Builtin::QuadgroupIndexInThreadgroup:
    return 256;
  case Builtin::ThreadIndexInQuadgroup:
    return 4;
  case Builtin::ThreadsPerThreadgroup:
  case Builtin::DispatchThreadsPerThreadgroup:
    return 1025;
  case Builtin::SimdgroupsPerThreadgroup:
  case Builtin::DispatchSimdgroupsPerThreadgroup:
    return 33;
  case Builtin::ThreadsPerSimdgroup:
    return 33;
  default:
    return 0;
  }
}

bool replaceBuiltins(Function &kernel, const air::KernelReflection &reflection,
                     const LaneModel &model) {
  bool changed = false;
  for (const air::Argument &described : reflection.arguments) {
    if (described.builtin == Builtin::None || described.parameter >= kernel.arg_size())
      continue;
    Argument *argument = kernel.getArg(described.parameter);
    Type *type = argument->getType();
    std::optional<std::array<uint32_t, 3>> literal;
    if (model.size && model.body == LaneModel::Body::Full)
      literal = literalOf(described.builtin, *model.size);
    if (described.builtin == Builtin::ThreadsPerSimdgroup)
      literal = std::array<uint32_t, 3>{32, 1, 1};
    if (literal && type->isIntOrIntVectorTy()) {
      Constant *value;
      if (auto *vector = dyn_cast<FixedVectorType>(type)) {
        SmallVector<Constant *, 3> elements;
        for (unsigned i = 0; i < vector->getNumElements(); ++i)
          elements.push_back(ConstantInt::get(vector->getElementType(), i < 3 ? (*literal)[i] : 1));
        value = ConstantVector::get(elements);
      } else {
        value = ConstantInt::get(type, (*literal)[0]);
      }
      changed |= !argument->use_empty();
      argument->replaceAllUsesWith(value);
    }
    if (uint32_t limit = limitOf(described.builtin); limit && type->isIntOrIntVectorTy()) {
      unsigned bits = type->getScalarSizeInBits();
      if (bits >= 16)
        argument->addAttr(Attribute::get(kernel.getContext(), Attribute::Range,
                                         ConstantRange(APInt(bits, 0), APInt(bits, limit))));
    }
  }
  return changed;
}

void expandOverflow(WithOverflowInst &operation) {
  IRBuilder<> builder(&operation);
  Value *left = operation.getLHS(), *right = operation.getRHS();
  bool isSigned = operation.isSigned();
  Type *type = left->getType();
  Type *wide = type->getExtendedType();
  auto extend = [&](Value *value) {
    return isSigned ? builder.CreateSExt(value, wide) : builder.CreateZExt(value, wide);
  };
  Value *exact = builder.CreateBinOp(operation.getBinaryOp(), extend(left), extend(right));
  Value *result = builder.CreateTrunc(exact, type);
  Value *overflow = builder.CreateICmpNE(extend(result), exact);
  for (User *user : make_early_inc_range(operation.users())) {
    auto *extract = cast<ExtractValueInst>(user);
    extract->replaceAllUsesWith(extract->getIndices()[0] == 0 ? result : overflow);
    extract->eraseFromParent();
  }
  operation.eraseFromParent();
}

/// A reduction over the elements of one lane's vector: left to right.
bool expandReduction(IntrinsicInst &call) {
  Intrinsic::ID id = call.getIntrinsicID();
  bool hasStart = id == Intrinsic::vector_reduce_fadd || id == Intrinsic::vector_reduce_fmul;
  Value *vector = call.getArgOperand(hasStart ? 1 : 0);
  IRBuilder<> builder(&call);
  if (isa<FPMathOperator>(call))
    builder.setFastMathFlags(call.getFastMathFlags());
  Value *result = hasStart ? call.getArgOperand(0) : nullptr;
  for (unsigned i = 0; i < cast<FixedVectorType>(vector->getType())->getNumElements(); ++i) {
    Value *element = builder.CreateExtractElement(vector, i);
    if (!result) {
      result = element;
      continue;
    }
    switch (id) {
    case Intrinsic::vector_reduce_add:
      result = builder.CreateAdd(result, element);
      break;
    case Intrinsic::vector_reduce_mul:
      result = builder.CreateMul(result, element);
      break;
    case Intrinsic::vector_reduce_and:
      result = builder.CreateAnd(result, element);
      break;
    case Intrinsic::vector_reduce_or:
      result = builder.CreateOr(result, element);
      break;
    case Intrinsic::vector_reduce_xor:
      result = builder.CreateXor(result, element);
      break;
    case Intrinsic::vector_reduce_fadd:
      result = builder.CreateFAdd(result, element);
      break;
    case Intrinsic::vector_reduce_fmul:
      result = builder.CreateFMul(result, element);
      break;
    case Intrinsic::vector_reduce_smax:
      result = builder.CreateBinaryIntrinsic(Intrinsic::smax, result, element);
      break;
    case Intrinsic::vector_reduce_smin:
      result = builder.CreateBinaryIntrinsic(Intrinsic::smin, result, element);
      break;
    case Intrinsic::vector_reduce_umax:
      result = builder.CreateBinaryIntrinsic(Intrinsic::umax, result, element);
      break;
    case Intrinsic::vector_reduce_umin:
      result = builder.CreateBinaryIntrinsic(Intrinsic::umin, result, element);
      break;
    default:
      return false;
    }
  }
  call.replaceAllUsesWith(result);
  call.eraseFromParent();
  return true;
}

} // namespace

void prepareKernel(Function &kernel, const air::KernelReflection &reflection,
                   const LaneModel &model) {
  bool literals = replaceBuiltins(kernel, reflection, model);
  for (Instruction &instruction : make_early_inc_range(instructions(kernel))) {
    if (auto *overflow = dyn_cast<WithOverflowInst>(&instruction)) {
      if (all_of(overflow->users(), [](User *user) { return isa<ExtractValueInst>(user); }))
        expandOverflow(*overflow);
    } else if (auto *call = dyn_cast<IntrinsicInst>(&instruction)) {
      if (call->getCalledFunction()->getName().starts_with("llvm.vector.reduce."))
        expandReduction(*call);
    }
  }
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graphs;
  ModuleAnalysisManager modules;
  PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  FunctionPassManager passes;
  if (literals) {
    // Sizes have become literals: loops over them have known trip counts.
    passes.addPass(InstCombinePass());
    passes.addPass(SCCPPass());
    passes.addPass(SimplifyCFGPass());
    passes.addPass(EarlyCSEPass());
    passes.addPass(InstCombinePass());
    passes.addPass(SimplifyCFGPass());
  }
  passes.addPass(LowerSwitchPass());
  passes.addPass(UnifyFunctionExitNodesPass());
  passes.addPass(FixIrreduciblePass());
  passes.addPass(LoopSimplifyPass());
  passes.addPass(LCSSAPass());
  passes.run(kernel, functions);
}

} // namespace pewter::cpu::codegen
