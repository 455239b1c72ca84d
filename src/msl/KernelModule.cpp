// SPDX-License-Identifier: Apache-2.0
//
// Tested by: Compile_test.cpp, FunctionConstants_test.cpp.
#include "msl/KernelModule.h"
#include "air/ir/MetadataWriter.h"
#include "msl/frontend/AirTarget.h"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

namespace pewter::msl {

using namespace llvm;

namespace {

/// The global variables that a function's instructions use, also inside constant expressions and in the
/// functions whose address they take.
void collectGlobals(const Constant *constant, std::set<GlobalVariable *> &found,
                    std::set<const Constant *> &seen) {
  if (isa<ConstantData>(constant) || !seen.insert(constant).second)
    return;
  if (const auto *function = dyn_cast<Function>(constant)) {
    for (const Instruction &instruction : instructions(*function))
      for (const Use &operand : instruction.operands())
        if (const auto *used = dyn_cast<Constant>(operand))
          collectGlobals(used, found, seen);
    return;
  }
  if (auto *global = dyn_cast<GlobalVariable>(constant)) {
    found.insert(const_cast<GlobalVariable *>(global));
    if (global->hasInitializer())
      collectGlobals(global->getInitializer(), found, seen);
    return;
  }
  if (isa<GlobalValue>(constant))
    return;
  for (const Use &operand : constant->operands())
    collectGlobals(cast<Constant>(operand), found, seen);
}

std::set<GlobalVariable *> globalsOf(const Function &function) {
  std::set<GlobalVariable *> found;
  std::set<const Constant *> seen;
  collectGlobals(&function, found, seen);
  return found;
}

/// Makes the globals of another module anew in `target` when they are first met.
class GlobalCopier final : public ValueMaterializer {
public:
  GlobalCopier(Module &target, ValueToValueMapTy &map) : target_(target), map_(map) {}

  Value *materialize(Value *value) override {
    if (auto *function = dyn_cast<Function>(value)) {
      auto *copy = Function::Create(function->getFunctionType(), GlobalValue::ExternalLinkage,
                                    function->getName(), target_);
      copy->copyAttributesFrom(function);
      copy->setComdat(nullptr);
      if (!function->isDeclaration())
        wanted_.emplace_back(function, copy);
      return copy;
    }
    if (auto *global = dyn_cast<GlobalVariable>(value)) {
      auto *copy = new GlobalVariable(target_, global->getValueType(), global->isConstant(),
                                      GlobalValue::InternalLinkage, nullptr, global->getName(),
                                      nullptr, GlobalValue::NotThreadLocal,
                                      global->getAddressSpace(), global->isExternallyInitialized());
      copy->copyAttributesFrom(global);
      map_[global] = copy;
      copy->setInitializer(global->hasInitializer()
                               ? MapValue(global->getInitializer(), map_, kFlags, nullptr, this)
                               : UndefValue::get(global->getValueType()));
      return copy;
    }
    return nullptr;
  }

  void remap(Function &function) {
    for (Instruction &instruction : instructions(function))
      for (Use &operand : instruction.operands())
        if (auto *constant = dyn_cast<Constant>(operand); constant && !isa<ConstantData>(constant))
          operand.set(MapValue(constant, map_, kFlags, nullptr, this));
  }
  /// Gives the functions whose address is taken their bodies.
  void copyBodies() {
    while (!wanted_.empty()) {
      const auto [original, declaration] = wanted_.back();
      wanted_.pop_back();
      ValueToValueMapTy local;
      Function *body = CloneFunction(original, local);
      body->removeFromParent();
      target_.getFunctionList().push_back(body);
      body->takeName(declaration);
      declaration->replaceAllUsesWith(body);
      declaration->eraseFromParent();
      body->setLinkage(GlobalValue::InternalLinkage);
      remap(*body);
    }
  }
  GlobalVariable *copyOf(GlobalVariable *global) {
    return cast<GlobalVariable>(MapValue(global, map_, kFlags, nullptr, this));
  }
  ValueToValueMapTy &map() { return map_; }

private:
  static constexpr RemapFlags kFlags = RF_None;
  std::vector<std::pair<Function *, Function *>> wanted_; ///< Original and declaration.
  Module &target_;
  ValueToValueMapTy &map_;
};

void composeInitializer(Module &module, GlobalCopier &copier, StringRef sourceName,
                        const std::vector<const StaticInitializer *> &parts) {
  LLVMContext &context = module.getContext();
  StructType *entryType = StructType::get(context, {Type::getInt32Ty(context),
                                                    PointerType::get(context, 0),
                                                    PointerType::get(context, 0)});
  std::vector<Constant *> entries;
  if (!parts.empty()) {
    auto *initializer =
        Function::Create(FunctionType::get(Type::getVoidTy(context), false),
                         GlobalValue::InternalLinkage, "_GLOBAL__sub_I_" + sourceName, module);
    initializer->setSection("air.static_init");
    IRBuilder<> builder(BasicBlock::Create(context, "", initializer));
    std::vector<CallInst *> calls;
    std::vector<Function *> copies;
    for (const StaticInitializer *part : parts) {
      // Cloned beside the original, then moved over: CloneFunction stays within a module.
      ValueToValueMapTy local;
      Function *copy = CloneFunction(part->function, local);
      copy->removeFromParent();
      module.getFunctionList().push_back(copy);
      copy->setLinkage(GlobalValue::InternalLinkage);
      copier.remap(*copy);
      copies.push_back(copy);
      calls.push_back(builder.CreateCall(copy));
    }
    builder.CreateRetVoid();
    for (CallInst *call : calls) {
      InlineFunctionInfo info;
      static_cast<void>(InlineFunction(*call, info));
    }
    for (Function *copy : copies)
      copy->eraseFromParent();
    entries.push_back(ConstantStruct::get(
        entryType, {ConstantInt::get(Type::getInt32Ty(context), 65535), initializer,
                    ConstantPointerNull::get(PointerType::get(context, 0))}));
  }
  ArrayType *arrayType = ArrayType::get(entryType, entries.size());
  new GlobalVariable(module, arrayType, /*isConstant=*/false, GlobalValue::AppendingLinkage,
                     ConstantArray::get(arrayType, entries), "llvm.global_ctors");
}

/// The placeholder's entry in the list that pipelines read.
void listConstant(Module &module, const air::FunctionConstant &constant,
                  GlobalVariable *placeholder) {
  LLVMContext &context = module.getContext();
  const auto name = air::nameOf(constant.type);
  module.getOrInsertNamedMetadata(air::ir::kConstantList)
      ->addOperand(MDNode::get(
          context,
          {ConstantAsMetadata::get(placeholder), MDString::get(context, StringRef(name)),
           MDString::get(context, constant.name),
           ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(context), constant.index)),
           ConstantAsMetadata::get(ConstantInt::getTrue(context))}));
}

} // namespace

namespace {

KernelModule extract(Function &entry, const KernelEntry &kernel, const CalleeEntry *callee,
                     const ConstantShape &shape, const compiler::SourceRequest &request) {
  LLVMContext &context = entry.getContext();
  KernelModule result;
  result.module = std::make_unique<Module>(kernel.reflection.name, context);
  Module &module = *result.module;
  module.setSourceFileName(kernel.reflection.name);
  module.setTargetTriple(Triple(kAirTriple));
  module.setDataLayout(kAirDataLayout);

  std::set<GlobalVariable *> used = globalsOf(entry);
  std::vector<GlobalVariable *> predicates;
  for (const std::string &gate : kernel.gates) {
    const auto predicate = shape.predicates.find(gate);
    predicates.push_back(predicate == shape.predicates.end() ? nullptr : predicate->second);
    if (predicates.back())
      used.insert(predicates.back());
  }
  const std::vector<const StaticInitializer *> parts = initializersFor(shape, used);
  for (const StaticInitializer *part : parts)
    used.insert(part->reads.begin(), part->reads.end());

  entry.removeFromParent();
  module.getFunctionList().push_back(&entry);
  ValueToValueMapTy map;
  GlobalCopier copier(module, map);
  copier.remap(entry);
  copier.copyBodies();
  composeInitializer(module, copier, request.fileName, parts);

  std::vector<const ConstantGlobals *> constants;
  for (const ConstantGlobals &constant : shape.constants)
    if (used.contains(constant.placeholder))
      constants.push_back(&constant);
  std::ranges::sort(constants, {}, [](const auto *constant) { return constant->entry->constant.index; });
  for (const ConstantGlobals *constant : constants) {
    listConstant(module, constant->entry->constant, copier.copyOf(constant->placeholder));
    result.constants.push_back(constant->entry->constant);
  }
  std::vector<air::ir::WrittenGate> gates;
  for (size_t i = 0; i < predicates.size(); ++i)
    if (predicates[i])
      gates.push_back({i, copier.copyOf(predicates[i]), kernel.gateTypes[i], kernel.gateNames[i]});
  air::ir::ModuleMetadata metadata;
  metadata.languageVersion = {request.languageVersion >> 16, request.languageVersion & 0xffff, 0};
  metadata.fastMath = request.mathMode != compiler::MathMode::Safe;
  air::ir::writeModuleMetadata(module, metadata);
  if (callee)
    air::ir::writeCallee(entry, callee->symbol, callee->signature);
  else
    air::ir::writeKernel(entry, kernel.reflection, gates);
  return result;
}

} // namespace

KernelModule extractKernel(Function &entry, const KernelEntry &kernel, const ConstantShape &shape,
                           const compiler::SourceRequest &request) {
  return extract(entry, kernel, nullptr, shape, request);
}

KernelModule extractCallee(Function &function, const CalleeEntry &callee, const ConstantShape &shape,
                           const compiler::SourceRequest &request) {
  KernelEntry named;
  named.reflection.name = callee.name;
  return extract(function, named, &callee, shape, request);
}

} // namespace pewter::msl
