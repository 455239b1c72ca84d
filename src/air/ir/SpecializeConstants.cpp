// SPDX-License-Identifier: Apache-2.0
// Initialisers are folded, then evaluated by LLVM's Evaluator: control flow without loops, calls,
// arithmetic, stores into globals. One that needs more is an error; initialisers never run at
// dispatch time. Tested by tests/lit/air/specialize-constants.
#include "air/ir/SpecializeConstants.h"
#include "air/ir/AirCalls.h"
#include "air/ir/FunctionConstants.h"
#include "air/ir/LowerMath.h"
#include "air/ir/PassError.h"
#include "air/ir/Reachability.h"
#include <cstring>
#include <llvm/ADT/StringSet.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SCCP.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Evaluator.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

/// The bytes of `value` as a constant of `type`; bools become exactly 0 or 1.
Constant *constantFrom(const compiler::ConstantValue &value, Type *type, const DataLayout &layout) {
  Type *scalar = type->getScalarType();
  const auto *vector = dyn_cast<FixedVectorType>(type);
  const unsigned count = vector ? vector->getNumElements() : 1;
  const unsigned size = layout.getTypeStoreSize(scalar);
  const bool isBool = componentsOf(value.type).scalar == DataType::Bool;
  SmallVector<Constant *, 4> elements;
  for (unsigned i = 0; i < count; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, value.bytes.data() + i * size, size);
    if (isBool)
      bits = bits != 0;
    if (scalar->isIntegerTy())
      elements.push_back(ConstantInt::get(scalar, bits));
    else
      elements.push_back(
          ConstantFP::get(scalar, APFloat(scalar->getFltSemantics(),
                                          APInt(scalar->getPrimitiveSizeInBits(), bits))));
  }
  return vector ? ConstantVector::get(elements) : elements.front();
}

bool fillPlaceholders(Module &module, const KernelMetadata &kernel,
                      const std::vector<compiler::ConstantValue> &values,
                      SmallPtrSetImpl<const Value *> &defined) {
  LLVMContext &context = module.getContext();
  auto placeholders = readPlaceholders(module);
  if (!placeholders) {
    report(context, placeholders.error());
    return false;
  }
  const auto constants = constantsOf(kernel, *placeholders, /*all=*/true);
  for (size_t i = 0; i < placeholders->size(); ++i) {
    const FunctionConstant &constant = constants[i];
    GlobalVariable *global = (*placeholders)[i].global;
    Type *type = global->getValueType();
    const auto value = std::ranges::find(values, constant.index, &compiler::ConstantValue::index);
    Constant *initializer = Constant::getNullValue(type);
    if (value != values.end()) {
      if (value->type != constant.type) {
        report(context, ErrorKind::Validation,
               "Function constant \"{}\" (index {}) of kernel \"{}\" is set as type \"{}\"; it is "
               "declared as \"{}\".",
               constant.name, constant.index, kernel.reflection.name, nameOf(value->type),
               nameOf(constant.type));
        return false;
      }
      Type *scalar = type->getScalarType();
      const auto *vector = dyn_cast<FixedVectorType>(type);
      if (!(scalar->isIntegerTy() || scalar->isFloatingPointTy()) ||
          module.getDataLayout().getTypeStoreSize(scalar) *
                  (vector ? vector->getNumElements() : 1) >
              value->bytes.size()) {
        report(
            context, ErrorKind::Unsupported,
            "Function constant \"{}\" of kernel \"{}\" is not an integer, a float, or a vector of "
            "these.",
            constant.name, kernel.reflection.name);
        return false;
      }
      initializer = constantFrom(*value, type, module.getDataLayout());
      defined.insert(global);
    } else if (constant.required) {
      report(context, ErrorKind::Validation,
             "Function constant \"{}\" (index {}, type \"{}\") of kernel \"{}\" is not set.",
             constant.name, constant.index, nameOf(constant.type), kernel.reflection.name);
      return false;
    }
    global->setInitializer(initializer);
    global->setExternallyInitialized(false);
    global->setConstant(true);
    global->setLinkage(GlobalValue::InternalLinkage);
    global->setSection("");
  }
  return true;
}

/// Replaces the two queries; false after reporting a malformed one.
bool foldQueries(Module &module, const SmallPtrSetImpl<const Value *> &defined) {
  for (Function &callee : make_early_inc_range(module)) {
    if (!callee.isDeclaration() || classify(callee) != AirCall::Constant)
      continue;
    for (User *user : make_early_inc_range(callee.users())) {
      auto *call = dyn_cast<CallInst>(user);
      if (!call || call->arg_size() != 1 || !call->getType()->isIntegerTy()) {
        report(module.getContext(), ErrorKind::Compile, "\"{}\" is used other than in a call.",
               callee.getName().str());
        return false;
      }
      IRBuilder<> builder(call);
      Value *argument = call->getArgOperand(0), *result;
      if (argument->getType()->isPointerTy())
        result = ConstantInt::get(call->getType(),
                                  defined.contains(argument->stripPointerCasts()) ? 1 : 0);
      else
        result = builder.CreateZExtOrTrunc(
            builder.CreateICmpNE(argument, Constant::getNullValue(argument->getType())),
            call->getType());
      call->replaceAllUsesWith(result);
      call->eraseFromParent();
    }
    callee.eraseFromParent();
  }
  return true;
}

bool callsMath(const Function &function) {
  for (const Function *reached : reachableFrom(function).functions)
    if (classify(*reached) == AirCall::Math)
      return true;
  return false;
}

/// Folds what the evaluator cannot: it runs loads, stores and control flow, but no intrinsic.
void foldInitializer(Function &initializer, FunctionAnalysisManager &analyses) {
  FunctionPassManager passes;
  passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  passes.addPass(EarlyCSEPass());
  passes.addPass(SCCPPass());
  passes.addPass(SimplifyCFGPass());
  passes.addPass(EarlyCSEPass());
  passes.run(initializer, analyses);
}

bool runInitializers(Module &module, const KernelMetadata &kernel,
                     FunctionAnalysisManager &analyses) {
  const std::vector<Function *> initializers = staticInitializers(module);
  // The evaluator knows arithmetic, not names.
  if (any_of(initializers, [](const Function *function) { return callsMath(*function); }))
    lowerMath(module);
  if (GlobalVariable *list = module.getGlobalVariable("llvm.global_ctors"))
    list->eraseFromParent();
  for (const char *name : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable *list = module.getGlobalVariable(name))
      list->eraseFromParent();
  // The evaluator stores only into globals that nobody else can define.
  for (GlobalVariable &global : module.globals())
    if (!global.isDeclaration())
      global.setLinkage(GlobalValue::InternalLinkage);

  for (Function *initializer : initializers) {
    if (!initializer->isDeclaration())
      foldInitializer(*initializer, analyses);
    Evaluator evaluator(module.getDataLayout(), /*TLI=*/nullptr);
    Constant *result = nullptr;
    if (initializer->isDeclaration() || initializer->arg_size() != 0 ||
        !evaluator.EvaluateFunction(initializer, result, SmallVector<Constant *, 0>())) {
      report(
          module.getContext(), ErrorKind::Unsupported,
          "Static initialiser \"{}\" of kernel \"{}\" cannot be evaluated before the kernel runs.",
          initializer->getName().str(), kernel.reflection.name);
      return false;
    }
    for (const auto &[global, value] : evaluator.getMutatedInitializers()) {
      if (global->getAddressSpace() != kConstantSpace) {
        report(module.getContext(), ErrorKind::Unsupported,
               "Static initialiser \"{}\" writes global \"{}\" in address space [{}]; only 2 "
               "(constant) is possible.",
               initializer->getName().str(), global->getName().str(), global->getAddressSpace());
        return false;
      }
      global->setInitializer(value);
    }
  }
  for (Function *initializer : initializers) {
    initializer->dropAllReferences();
    initializer->replaceAllUsesWith(PoisonValue::get(initializer->getType()));
  }
  for (Function *initializer : initializers)
    initializer->eraseFromParent();
  // Space 2 is read only while a kernel runs, and everything that may write it has run.
  for (GlobalVariable &global : module.globals())
    if (global.getAddressSpace() == kConstantSpace && global.hasInitializer())
      global.setConstant(true);
  return true;
}

} // namespace

bool specializeConstants(Module &module, const KernelMetadata &function,
                         const std::vector<compiler::ConstantValue> &values,
                         FunctionAnalysisManager &analyses) {
  SmallPtrSet<const Value *, 16> defined;
  return fillPlaceholders(module, function, values, defined) && foldQueries(module, defined) &&
         runInitializers(module, function, analyses);
}

PreservedAnalyses SpecializeConstantsPass::run(Module &module, ModuleAnalysisManager &manager) {
  auto &analyses = manager.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
  auto kernels = readKernels(module);
  if (!kernels) {
    report(module.getContext(), kernels.error());
    return PreservedAnalyses::none();
  }
  if (kernels->size() != 1) {
    report(module.getContext(), ErrorKind::Internal,
           "Module \"{}\" has {} kernels; one is expected here.", module.getModuleIdentifier(),
           kernels->size());
    return PreservedAnalyses::none();
  }
  const KernelMetadata &kernel = kernels->front();
  if (!specializeConstants(module, kernel, options_.values, analyses))
    return PreservedAnalyses::none();
  for (const ArgumentGate &gate : kernel.gates) {
    llvm::Argument *parameter = kernel.function->getArg(gate.argument);
    if (isGateClosed(gate))
      parameter->replaceAllUsesWith(Constant::getNullValue(parameter->getType()));
  }
  return PreservedAnalyses::none();
}

} // namespace pewter::air::ir
