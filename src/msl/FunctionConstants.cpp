// SPDX-License-Identifier: Apache-2.0
//
// Tested by: FunctionConstants_test.cpp.
#include "msl/FunctionConstants.h"
#include <fmt/format.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace pewter::msl {

using namespace llvm;

namespace {

constexpr unsigned kConstantSpace = 2;
constexpr char kInitializerSection[] = "air.static_init";

Type *memoryType(LLVMContext &context, air::DataType type) {
  const auto [scalar, count] = air::componentsOf(type);
  Type *element = nullptr;
  switch (scalar) {
  case air::DataType::Float: element = Type::getFloatTy(context); break;
  case air::DataType::Half: element = Type::getHalfTy(context); break;
  case air::DataType::BFloat: element = Type::getBFloatTy(context); break;
  default: element = IntegerType::get(context, 8 * air::sizeOf(scalar)); break;
  }
  return count == 1 ? element : FixedVectorType::get(element, count);
}

/// A global variable's plain name is its symbol; Apple mangles it all the same.
std::string mangled(StringRef symbol, const char *prefix) {
  if (symbol.starts_with("_Z"))
    return symbol.str();
  return fmt::format("{}{}{}", prefix, symbol.size(), symbol.str());
}

Function *makeInitializer(Module &module, const Twine &name) {
  auto *function =
      Function::Create(FunctionType::get(Type::getVoidTy(module.getContext()), false),
                       GlobalValue::InternalLinkage, name, module);
  function->setSection(kInitializerSection);
  BasicBlock::Create(module.getContext(), "", function);
  return function;
}

/// The functions that clang wants run at start, taken apart into one per variable where possible.
std::vector<Function *> takeConstructors(Module &module) {
  std::vector<Function *> functions;
  GlobalVariable *list = module.getGlobalVariable("llvm.global_ctors");
  if (!list)
    return functions;
  if (auto *array = dyn_cast<ConstantArray>(list->getInitializer()))
    for (const Use &element : array->operands()) {
      auto *function =
          dyn_cast<Function>(cast<ConstantStruct>(element)->getOperand(1)->stripPointerCasts());
      if (!function || function->isDeclaration())
        continue;
      std::vector<Function *> parts;
      bool onlyCalls = function->size() == 1;
      for (Instruction &instruction : instructions(function)) {
        auto *call = dyn_cast<CallInst>(&instruction);
        if (call && call->getCalledFunction() && call->arg_empty() &&
            call->getType()->isVoidTy() && !call->getCalledFunction()->isDeclaration())
          parts.push_back(call->getCalledFunction());
        else if (!isa<ReturnInst>(instruction))
          onlyCalls = false;
      }
      if (onlyCalls) {
        functions.insert(functions.end(), parts.begin(), parts.end());
        for (Instruction &instruction : make_early_inc_range(instructions(function)))
          if (isa<CallInst>(instruction))
            instruction.eraseFromParent();
      } else {
        functions.push_back(function);
      }
    }
  list->eraseFromParent();
  return functions;
}

void pointAtPlaceholder(Module &module, GlobalVariable *working, GlobalVariable *placeholder) {
  Function *test = module.getFunction("air.is_function_constant_defined");
  if (!test)
    return;
  for (User *user : test->users())
    if (auto *call = dyn_cast<CallInst>(user); call && call->getCalledFunction() == test)
      if (call->getArgOperand(0)->stripPointerCasts() == working)
        call->setArgOperand(0, placeholder);
}

GlobalVariable *makePredicate(Module &module, GlobalVariable *gate, unsigned number,
                              std::vector<StaticInitializer> &initializers) {
  Type *type = gate->getValueType();
  auto *predicate = new GlobalVariable(module, type, /*isConstant=*/false,
                                       GlobalValue::InternalLinkage, UndefValue::get(type),
                                       fmt::format("__metal_implicit_fc_pred_{}", number), nullptr,
                                       GlobalValue::NotThreadLocal, kConstantSpace);
  predicate->setAlignment(gate->getAlign());
  Function *initializer = makeInitializer(module, predicate->getName() + ".init");
  IRBuilder<> builder(&initializer->getEntryBlock());
  Value *value = builder.CreateLoad(type, gate);
  if (type->isIntegerTy()) {
    const FunctionCallee normalize = module.getOrInsertFunction(
        fmt::format("air.normalize_function_constant_predicate.i{}", type->getIntegerBitWidth()),
        type, type);
    value = builder.CreateCall(normalize, value);
  }
  builder.CreateStore(value, predicate);
  builder.CreateRetVoid();
  initializers.push_back({initializer, {}, {}});
  return predicate;
}

} // namespace

ConstantShape shapeConstants(Module &module, const KernelTable &kernels) {
  ConstantShape shape;
  LLVMContext &context = module.getContext();
  const std::vector<Function *> derived = takeConstructors(module);
  for (const ConstantEntry &entry : kernels.constants) {
    GlobalVariable *declared = module.getGlobalVariable(entry.symbol, /*AllowInternal=*/true);
    if (!declared)
      continue;
    Type *type = memoryType(context, entry.constant.type);
    const std::string symbol = entry.symbol;
    auto *working = new GlobalVariable(module, declared->getValueType(), /*isConstant=*/false,
                                       GlobalValue::InternalLinkage,
                                       UndefValue::get(declared->getValueType()), "", declared,
                                       GlobalValue::NotThreadLocal, kConstantSpace);
    working->setAlignment(declared->getAlign());
    working->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    declared->replaceAllUsesWith(working);
    declared->eraseFromParent();
    working->setName(mangled(symbol, "_ZL"));
    auto *placeholder = new GlobalVariable(
        module, type, /*isConstant=*/true, GlobalValue::InternalLinkage, UndefValue::get(type),
        fmt::format("{}.MTL_FC_INIT_{}_{}", mangled(symbol, "_Z"), entry.constant.index,
                    entry.typeCode),
        nullptr, GlobalValue::NotThreadLocal, kConstantSpace, /*isExternallyInitialized=*/true);
    placeholder->setSection("air.fc_initializer");
    placeholder->setAlignment(working->getAlign());
    placeholder->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    pointAtPlaceholder(module, working, placeholder);

    Function *copy = makeInitializer(module, working->getName() + ".init");
    IRBuilder<> builder(&copy->getEntryBlock());
    builder.CreateStore(builder.CreateLoad(type, placeholder), working);
    builder.CreateRetVoid();
    shape.constants.push_back({&entry, working, placeholder});
    shape.initializers.push_back({copy, {}, {}});
  }
  for (Function *function : derived) {
    function->setSection(kInitializerSection);
    shape.initializers.push_back({function, {}, {}});
  }
  std::map<std::string, GlobalVariable *> workingOf;
  for (const ConstantGlobals &constant : shape.constants)
    workingOf[constant.entry->symbol] = constant.working;
  for (const KernelEntry &kernel : kernels.kernels)
    for (const std::string &gate : kernel.gates) {
      if (gate.empty() || shape.predicates.contains(gate))
        continue;
      const auto known = workingOf.find(gate);
      GlobalVariable *variable = known != workingOf.end()
                                     ? known->second
                                     : module.getGlobalVariable(gate, /*AllowInternal=*/true);
      if (variable)
        shape.predicates[gate] =
            makePredicate(module, variable, static_cast<unsigned>(shape.predicates.size()),
                          shape.initializers);
    }
  return shape;
}

void readInitializers(ConstantShape &shape) {
  for (StaticInitializer &initializer : shape.initializers) {
    for (Instruction &instruction : instructions(initializer.function)) {
      const Value *target = nullptr;
      if (auto *store = dyn_cast<StoreInst>(&instruction))
        target = getUnderlyingObject(store->getPointerOperand());
      else if (auto *move = dyn_cast<MemIntrinsic>(&instruction))
        target = getUnderlyingObject(move->getRawDest());
      for (const Use &operand : instruction.operands())
        if (auto *global = dyn_cast<GlobalVariable>(getUnderlyingObject(operand.get())))
          (global == target ? initializer.writes : initializer.reads)
              .insert(const_cast<GlobalVariable *>(global));
    }
  }
}

std::vector<const StaticInitializer *>
initializersFor(const ConstantShape &shape, const std::set<GlobalVariable *> &globals) {
  std::set<GlobalVariable *> wanted = globals;
  std::vector<bool> taken(shape.initializers.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = shape.initializers.size(); i-- > 0;) {
      const StaticInitializer &initializer = shape.initializers[i];
      if (taken[i])
        continue;
      for (GlobalVariable *written : initializer.writes)
        if (wanted.contains(written)) {
          taken[i] = changed = true;
          wanted.insert(initializer.reads.begin(), initializer.reads.end());
          break;
        }
    }
  }
  std::vector<const StaticInitializer *> list;
  for (size_t i = 0; i < taken.size(); ++i)
    if (taken[i])
      list.push_back(&shape.initializers[i]);
  return list;
}

} // namespace pewter::msl
