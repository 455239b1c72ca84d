// SPDX-License-Identifier: Apache-2.0
//
// The steps and why they stand in this order:
//   1. Annotation calls go first: they pin an alloca per parameter.
//   2. Function constants take their shape while each load still names its variable.
//   3. Threadgroup variables lose initialisers, guards and linkage that AIR does not have.
//   4. Conversions to integers saturate before anything can call them poison.
//   5. Entry points, then every call is inlined: a function that takes a generic pointer (`this`, a
//      reference) has no meaning in AIR on its own.
//   6. Per kernel: SROA, InferAddressSpaces and a little cleaning, then its own module.
// Full optimisation belongs to the pipeline stage, when function constants are known.
//
// Tested by: Compile_test.cpp.
#include "msl/Lower.h"
#include "msl/Builtins.h"
#include "msl/EntryPoints.h"
#include "msl/FunctionConstants.h"
#include "msl/InlineCalls.h"
#include "msl/KernelModule.h"
#include "msl/Logs.h"
#include "msl/Textures.h"
#include "msl/frontend/AirTarget.h"
#include <cstdlib>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/InferAddressSpaces.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Scalar/TailRecursionElimination.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace pewter::msl {

using namespace llvm;

namespace {

constexpr unsigned kThreadgroupSpace = 3;

void dropAnnotations(Module &module) {
  for (Function &function : make_early_inc_range(module))
    if (function.getName().starts_with("llvm.var.annotation") ||
        function.getName().starts_with("llvm.ptr.annotation")) {
      for (User *user : make_early_inc_range(function.users()))
        if (auto *call = dyn_cast<CallInst>(user)) {
          if (!call->getType()->isVoidTy())
            call->replaceAllUsesWith(call->getArgOperand(0));
          call->eraseFromParent();
        }
    }
  if (GlobalVariable *list = module.getGlobalVariable("llvm.global.annotations"))
    list->eraseFromParent();
}

/// Parameters that claim to be the only way to their memory: methods get the claim by the rewriting of
/// address spaces (MethodSpaceAttribute.cpp), and nobody keeps it.
void dropRestrict(Module &module) {
  for (Function &function : module)
    for (Argument &argument : function.args())
      argument.removeAttr(Attribute::NoAlias);
}

/// The guard of a local static's initialiser: always passed, so that the initialiser never runs.
void dropGuards(Module &module) {
  for (GlobalVariable &global : module.globals()) {
    if (!global.getName().starts_with("_ZGV"))
      continue;
    for (User *user : make_early_inc_range(global.users())) {
      if (auto *load = dyn_cast<LoadInst>(user)) {
        load->replaceAllUsesWith(ConstantInt::get(load->getType(), 1));
        load->eraseFromParent();
      } else if (auto *store = dyn_cast<StoreInst>(user)) {
        store->eraseFromParent();
      }
    }
  }
}

void shapeThreadgroupVariables(Module &module) {
  for (GlobalVariable &global : module.globals()) {
    if (global.getAddressSpace() != kThreadgroupSpace || !global.hasInitializer())
      continue;
    global.setInitializer(UndefValue::get(global.getValueType()));
    global.setLinkage(GlobalValue::InternalLinkage);
    global.setComdat(nullptr);
    global.setConstant(false);
  }
}

/// Constants of the program that lie in no space of Metal's, such as `const float table[4]`.
void moveConstants(Module &module) {
  constexpr unsigned kConstantSpace = 2;
  for (GlobalVariable &global : make_early_inc_range(module.globals())) {
    if (global.getAddressSpace() != 0 || !global.isConstant() || !global.hasInitializer() ||
        global.getName().starts_with("llvm."))
      continue;
    auto *moved = new GlobalVariable(module, global.getValueType(), /*isConstant=*/true,
                                     GlobalValue::InternalLinkage, global.getInitializer(), "",
                                     &global, GlobalValue::NotThreadLocal, kConstantSpace);
    moved->setAlignment(global.getAlign());
    moved->takeName(&global);
    global.replaceAllUsesWith(ConstantExpr::getAddrSpaceCast(moved, global.getType()));
    global.eraseFromParent();
  }
}

// Metal leaves a float out of an integer's range undefined; LLVM makes it poison, which spreads.
void saturateConversions(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      const unsigned opcode = instruction.getOpcode();
      if (opcode != Instruction::FPToSI && opcode != Instruction::FPToUI)
        continue;
      Type *types[] = {instruction.getType(), instruction.getOperand(0)->getType()};
      Function *intrinsic = Intrinsic::getOrInsertDeclaration(
          &module, opcode == Instruction::FPToSI ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
          types);
      auto *call = CallInst::Create(intrinsic, instruction.getOperand(0), "",
                                    instruction.getIterator());
      instruction.replaceAllUsesWith(call);
      instruction.eraseFromParent();
    }
}

/// Library functions whose name depends on the math mode: air.mode_exp.f32.
void chooseMathFunctions(Module &module, bool isPrecise) {
  for (Function &function : make_early_inc_range(module)) {
    StringRef name = function.getName();
    if (!name.consume_front("air.mode_"))
      continue;
    const std::string chosen =
        ((isPrecise ? "air." : "air.fast_") + name).str();
    if (Function *existing = module.getFunction(chosen)) {
      function.replaceAllUsesWith(existing);
      function.eraseFromParent();
    } else {
      function.setName(chosen);
    }
  }
}

/// Only operations across lanes and barriers are convergent; the language mode makes every call so.
bool crossesLanes(StringRef name) {
  for (const char *prefix : {"air.simd", "air.quad", "air.wg.", "air.sample"})
    if (name.starts_with(prefix))
      return true;
  return false;
}

void relaxConvergence(Module &module) {
  for (Function &function : module) {
    if (!function.isDeclaration() || !function.getName().starts_with("air.") ||
        crossesLanes(function.getName()))
      continue;
    function.removeFnAttr(Attribute::Convergent);
    for (User *user : function.users())
      if (auto *call = dyn_cast<CallInst>(user))
        call->removeFnAttr(Attribute::Convergent);
  }
}

void internalize(Module &module, const std::set<Function *> &entries) {
  for (Function &function : module) {
    if (function.isDeclaration() || entries.contains(&function))
      continue;
    function.setLinkage(GlobalValue::InternalLinkage);
    function.setComdat(nullptr);
    function.setVisibility(GlobalValue::DefaultVisibility);
    function.removeFnAttr(Attribute::NoInline);
    function.removeFnAttr(Attribute::OptimizeNone);
  }
  for (GlobalVariable &global : module.globals())
    if (global.hasInitializer() && !global.getName().starts_with("llvm.")) {
      global.setLinkage(GlobalValue::InternalLinkage);
      global.setComdat(nullptr);
    }
}

/// The analyses that the few passes below need.
bool callsItself(const Function &function) {
  return any_of(function.users(), [&](const User *user) {
    const auto *call = dyn_cast<CallBase>(user);
    return call && call->getCalledFunction() == &function && call->getFunction() == &function;
  });
}

class Passes {
public:
  Passes() {
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(groups_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, groups_, modules_);
    tailCalls_.addPass(SROAPass(SROAOptions::ModifyCFG));
    tailCalls_.addPass(SimplifyCFGPass());
    tailCalls_.addPass(TailCallElimPass());
    helpers_.addPass(SROAPass(SROAOptions::ModifyCFG));
    helpers_.addPass(EarlyCSEPass());
    helpers_.addPass(SimplifyCFGPass());
    cleaning_.addPass(SROAPass(SROAOptions::ModifyCFG));
    cleaning_.addPass(InferAddressSpacesPass(0));
    cleaning_.addPass(EarlyCSEPass());
    cleaning_.addPass(SimplifyCFGPass());
    // A function constant that only dead code reads is not one of the kernel's.
    cleaning_.addPass(ADCEPass());
  }
  /// Functions that end by calling themselves become loops; other recursion stays, and is refused later.
  void loopTailCalls(Module &module) {
    for (Function &function : module)
      if (callsItself(function))
        run(tailCalls_, function);
  }
  void clean(Function &function) { run(cleaning_, function); }
  void cleanHelper(Function &function) { run(helpers_, function); }

private:
  void run(FunctionPassManager &manager, Function &function) {
    manager.run(function, functions_);
    functions_.clear(function, function.getName());
  }

  LoopAnalysisManager loops_;
  FunctionAnalysisManager functions_;
  CGSCCAnalysisManager groups_;
  ModuleAnalysisManager modules_;
  PassBuilder builder_;
  FunctionPassManager tailCalls_, helpers_, cleaning_;
};

std::vector<CallBase *> callsOfHelpers(Function &function) {
  std::vector<CallBase *> calls;
  for (Instruction &instruction : instructions(function))
    if (auto *call = dyn_cast<CallBase>(&instruction))
      if (const Function *callee = call->getCalledFunction(); callee && !callee->isDeclaration())
        calls.push_back(call);
  return calls;
}

/// How messages name a function of the program.
std::string spokenName(const Function &function) {
  const std::string symbol = function.getName().str();
  if (symbol.find("$_") != std::string::npos) // Which the demangler does not read everywhere.
    return "a lambda";
  ItaniumPartialDemangler parts;
  if (parts.partialDemangle(symbol.c_str()))
    return fmt::format("'{}'", symbol);
  char *buffer = parts.getFunctionName(nullptr, nullptr);
  const std::string name = buffer ? buffer : symbol;
  std::free(buffer);
  if (name.find("'lambda") != std::string::npos)
    return "a lambda";
  return fmt::format("'{}'", name);
}

bool reachesItself(Function &function) {
  DenseSet<Function *> met;
  std::vector<Function *> work{&function};
  while (!work.empty()) {
    Function *next = work.back();
    work.pop_back();
    for (const CallBase *call : callsOfHelpers(*next)) {
      if (call->getCalledFunction() == &function)
        return true;
      if (met.insert(call->getCalledFunction()).second)
        work.push_back(call->getCalledFunction());
    }
  }
  return false;
}

/// Whether linking may find a function that is only declared; else what to say.
Result<void> checkUndefined(const Function &function, const KernelTable &table,
                            const compiler::SourceRequest &request) {
  const std::string symbol = function.getName().str();
  if (request.allowUndefined || std::ranges::binary_search(request.linkedSymbols, symbol))
    return {};
  const auto known = table.undefined.find(symbol);
  if (known != table.undefined.end() && known->second.isExternal)
    return {};
  if (known != table.undefined.end() && !known->second.diagnostic.empty())
    return fail(ErrorKind::Compile, "{}", known->second.diagnostic);
  return fail(ErrorKind::Compile, "error: function {} is used but not defined\n",
              spokenName(function));
}

Result<void> checkUndefinedIn(const Function &function, const KernelTable &table,
                              const compiler::SourceRequest &request) {
  for (const Instruction &instruction : instructions(function))
    for (const Use &operand : instruction.operands())
      if (const auto *callee = dyn_cast<Function>(operand);
          callee && callee->isDeclaration() && !callee->isIntrinsic() &&
          !callee->getName().starts_with("air."))
        PEWTER_TRY_VOID(checkUndefined(*callee, table, request));
  return {};
}

/// Inlines what turned out to be a direct call only when a function pointer became a constant; `what` is how
/// messages name the function.
Result<void> settleCalls(Function &function, const std::string &what, Passes &passes) {
  for (;;) {
    passes.clean(function);
    const std::vector<CallBase *> calls = callsOfHelpers(function);
    if (calls.empty())
      return {};
    for (CallBase *call : calls) {
      Function &callee = *call->getCalledFunction();
      if (reachesItself(callee))
        return fail(ErrorKind::Compile,
                    "error: {} calls {}, which calls itself; Metal does not allow recursion\n", what,
                    spokenName(callee));
      InlineFunctionInfo info;
      if (!InlineFunction(*call, info, /*MergeAttributes=*/true, /*CalleeAAR=*/nullptr,
                          /*InsertLifetime=*/false)
               .isSuccess())
        return fail(ErrorKind::Compile, "error: {} calls {}, which cannot be inlined\n", what,
                    spokenName(callee));
    }
  }
}

/// What a kernel calls that only a fragment function can; "" for nothing.
StringRef fragmentCall(const Function &function) {
  for (const Instruction &instruction : instructions(function))
    if (const auto *call = dyn_cast<CallBase>(&instruction))
      if (const Function *callee = call->getCalledFunction()) {
        StringRef name = callee->getName();
        if (!name.consume_front("air."))
          continue;
        name = name.split('.').first;
        if (is_contained({"dfdx", "dfdy", "fwidth", "discard_fragment", "get_num_samples",
                          "get_sample_position", "calculate_clamped_lod", "calculate_unclamped_lod"},
                         name))
          return name;
      }
  return "";
}

Bytes bitcodeOf(const Module &module) {
  SmallVector<char, 0> buffer;
  raw_svector_ostream stream(buffer);
  WriteBitcodeToFile(module, stream);
  const auto *data = reinterpret_cast<const std::byte *>(buffer.data());
  return Bytes(data, data + buffer.size());
}

LoweredFunction bodiless(const GraphicsEntry &entry, LLVMContext &context) {
  Module module(entry.name, context);
  module.setTargetTriple(Triple(kAirTriple));
  module.setDataLayout(kAirDataLayout);
  Function::Create(FunctionType::get(Type::getVoidTy(context), false),
                   GlobalValue::ExternalLinkage, entry.name, module);
  LoweredFunction result;
  result.reflection.name = entry.name;
  result.bitcode = bitcodeOf(module);
  result.kind = entry.kind;
  return result;
}

} // namespace

Result<std::vector<LoweredFunction>> lower(std::unique_ptr<Module> module, KernelTable table,
                                         const compiler::SourceRequest &request) {
  dropAnnotations(*module);
  dropRestrict(*module);
  returnTexels(*module);
  lowerBuiltins(*module);
  chooseMathFunctions(*module, request.preciseFunctions || request.mathMode == compiler::MathMode::Safe);
  ConstantShape shape = shapeConstants(*module, table);
  dropGuards(*module);
  shapeThreadgroupVariables(*module);
  moveConstants(*module);
  saturateConversions(*module);
  relaxConvergence(*module);

  // Values have no names (Compile.cpp), except what a reader of the kernel looks for.
  std::vector<Function *> entries;
  module->getContext().setDiscardValueNames(false);
  for (const KernelEntry &kernel : table.kernels) {
    PEWTER_TRY(Function * entry, makeEntryPoint(*module, kernel));
    entries.push_back(entry);
  }
  module->getContext().setDiscardValueNames(true);
  internalize(*module, {entries.begin(), entries.end()});

  Passes passes;
  passes.loopTailCalls(*module);
  std::vector<Function *> roots = entries;
  std::vector<Function *> callees;
  for (const CalleeEntry &callee : table.callees)
    callees.push_back(module->getFunction(callee.symbol));
  roots.insert(roots.end(), callees.begin(), callees.end());
  for (Function &function : *module)
    if (!function.isDeclaration() && function.hasAddressTaken())
      roots.push_back(&function);
  for (const StaticInitializer &initializer : shape.initializers)
    roots.push_back(initializer.function);
  PEWTER_TRY_VOID(
      inlineCalls(roots, [&](Function &function) { passes.cleanHelper(function); }));
  for (const StaticInitializer &initializer : shape.initializers)
    passes.clean(*initializer.function);
  readInitializers(shape);

  std::vector<LoweredFunction> lowered;
  for (size_t i = 0; i < entries.size(); ++i) {
    const KernelEntry &kernel = table.kernels[i];
    returnAtTraps(*entries[i]);
    PEWTER_TRY_VOID(
        settleCalls(*entries[i], fmt::format("kernel '{}'", kernel.reflection.name), passes));
    PEWTER_TRY_VOID(checkUndefinedIn(*entries[i], table, request));
    if (const StringRef name = fragmentCall(*entries[i]); !name.empty())
      return fail(ErrorKind::Compile,
                  "error: kernel '{}' calls '{}', which only fragment functions can\n",
                  kernel.reflection.name, name.str());
    PEWTER_TRY_VOID(shapeLogs(*entries[i], request.enableLogging));
    KernelModule made = extractKernel(*entries[i], kernel, shape, request);
    makeSamplerStates(*made.module);
    std::string broken;
    raw_string_ostream stream(broken);
    if (verifyModule(*made.module, &stream))
      return fail(ErrorKind::Internal, "Kernel \"{}\" is not valid LLVM IR: {}",
                  kernel.reflection.name, broken);
    LoweredFunction result{kernel.reflection, bitcodeOf(*made.module),
                           air::MetallibFunctionKind::Kernel};
    result.reflection.constants = std::move(made.constants);
    lowered.push_back(std::move(result));
  }
  for (size_t i = 0; i < callees.size(); ++i) {
    const CalleeEntry &callee = table.callees[i];
    const auto kind = callee.isExport ? air::MetallibFunctionKind::Unqualified
                                      : air::MetallibFunctionKind::Visible;
    returnAtTraps(*callees[i]);
    PEWTER_TRY_VOID(settleCalls(*callees[i], fmt::format("function '{}'", callee.name), passes));
    PEWTER_TRY_VOID(checkUndefinedIn(*callees[i], table, request));
    if (!fragmentCall(*callees[i]).empty()) {
      lowered.push_back(bodiless({callee.name, kind}, module->getContext()));
      continue;
    }
    PEWTER_TRY_VOID(shapeLogs(*callees[i], request.enableLogging));
    // A copy: others may take the address of the function.
    ValueToValueMapTy map;
    Function *copy = CloneFunction(callees[i], map);
    copy->setName(callee.name + ".copy");
    copy->setLinkage(GlobalValue::ExternalLinkage);
    KernelModule made = extractCallee(*copy, callee, shape, request);
    copy->setName(callee.name);
    makeSamplerStates(*made.module);
    std::string broken;
    raw_string_ostream stream(broken);
    if (verifyModule(*made.module, &stream))
      return fail(ErrorKind::Internal, "Function \"{}\" is not valid LLVM IR: {}", callee.name,
                  broken);
    LoweredFunction result{{}, bitcodeOf(*made.module), kind};
    result.reflection.name = callee.name;
    result.reflection.constants = std::move(made.constants);
    lowered.push_back(std::move(result));
  }
  for (const GraphicsEntry &entry : table.graphics)
    lowered.push_back(bodiless(entry, module->getContext()));
  return lowered;
}

} // namespace pewter::msl
