// SPDX-License-Identifier: Apache-2.0
// Which constants a kernel depends on: from the globals that it reaches, backwards through the
// stores of the static initialisers. An initialiser with control flow counts as depending on
// everything it reads. Tested by FunctionConstants_test.cpp.
#include "air/ir/FunctionConstants.h"
#include "air/ir/AirCalls.h"
#include "air/ir/Reachability.h"
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

using GlobalSet = SmallPtrSet<const GlobalVariable *, 16>;

const GlobalVariable *globalOf(const Value *pointer) {
  return dyn_cast<GlobalVariable>(pointer->stripInBoundsConstantOffsets());
}

/// Index from a name like `_Z1n.MTL_FC_INIT_7_i`, for modules whose list leaves it out.
std::optional<uint32_t> indexFromName(StringRef name) {
  const size_t at = name.find("MTL_FC_INIT_");
  uint32_t index = 0;
  if (at == StringRef::npos)
    return std::nullopt;
  if (name.substr(at + strlen("MTL_FC_INIT_")).consumeInteger(10, index))
    return std::nullopt;
  return index;
}

DataType typeFromName(StringRef name) {
  const StringRef code = name.rsplit('_').second;
  const std::pair<StringRef, DataType> codes[] = {
      {"b", DataType::Bool},  {"c", DataType::Char},   {"h", DataType::UChar},
      {"s", DataType::Short}, {"t", DataType::UShort}, {"i", DataType::Int},
      {"j", DataType::UInt},  {"l", DataType::Long},   {"m", DataType::ULong},
      {"f", DataType::Float}, {"Dh", DataType::Half},  {"DF16b", DataType::BFloat}};
  for (const auto &[itanium, type] : codes)
    if (itanium == code)
      return type;
  return DataType::None;
}

/// Follows working copies back to placeholders.
class Dependencies {
public:
  explicit Dependencies(const Module &module) {
    for (const Function *initializer : staticInitializers(module)) {
      bool straight = initializer->size() == 1;
      for (const Instruction &instruction : instructions(*initializer)) {
        if (const auto *call = dyn_cast<CallBase>(&instruction))
          straight &=
              call->getCalledFunction() && classify(*call->getCalledFunction()) != AirCall::None;
        if (const auto *store = dyn_cast<StoreInst>(&instruction)) {
          if (const GlobalVariable *global = globalOf(store->getPointerOperand()))
            stores_[global].push_back(store);
          else
            straight = false;
        }
      }
      if (!straight)
        opaque_.push_back(initializer);
    }
  }

  /// Adds every global that `global`'s value depends on, itself included.
  void add(const GlobalVariable *global, GlobalSet &found) const {
    if (!found.insert(global).second)
      return;
    for (const Function *initializer : opaque_)
      for (const GlobalVariable *reached : reachableFrom(*initializer).globals)
        found.insert(reached);
    const auto stores = stores_.find(global);
    if (stores == stores_.end())
      return;
    for (const StoreInst *store : stores->second)
      addOperand(store->getValueOperand(), found);
  }

private:
  void addOperand(const Value *value, GlobalSet &found) const {
    SmallPtrSet<const Value *, 16> seen;
    SmallVector<const Value *, 16> work{value};
    while (!work.empty()) {
      const Value *next = work.pop_back_val();
      if (!seen.insert(next).second)
        continue;
      if (const auto *global = dyn_cast<GlobalVariable>(next))
        add(global, found);
      else if (const auto *user = dyn_cast<User>(next); user && !isa<Function>(next))
        for (const Use &operand : user->operands())
          work.push_back(operand);
    }
  }

  DenseMap<const GlobalVariable *, SmallVector<const StoreInst *, 2>> stores_;
  SmallVector<const Function *, 2> opaque_;
};

bool isAskedFor(const GlobalVariable &placeholder) {
  SmallVector<const Value *, 4> work{&placeholder};
  while (!work.empty())
    for (const User *user : work.pop_back_val()->users()) {
      if (isa<ConstantExpr>(user))
        work.push_back(user);
      if (const auto *call = dyn_cast<CallBase>(user))
        if (call->getCalledFunction() && classify(*call->getCalledFunction()) == AirCall::Constant)
          return true;
    }
  return false;
}

} // namespace

std::vector<Function *> staticInitializers(const Module &module) {
  std::vector<std::pair<uint32_t, Function *>> found;
  const GlobalVariable *list = module.getGlobalVariable("llvm.global_ctors");
  if (list && list->hasInitializer())
    if (const auto *entries = dyn_cast<ConstantArray>(list->getInitializer()))
      for (const Use &entry : entries->operands())
        if (const auto *fields = dyn_cast<ConstantStruct>(entry))
          if (auto *function = dyn_cast<Function>(fields->getOperand(1)->stripPointerCasts()))
            if (const auto *priority = dyn_cast<ConstantInt>(fields->getOperand(0)))
              found.emplace_back(priority->getZExtValue(), function);
  std::ranges::sort(found, {}, &std::pair<uint32_t, Function *>::first);
  std::vector<Function *> functions;
  for (const auto &[priority, function] : found)
    if (!is_contained(functions, function))
      functions.push_back(function);
  return functions;
}

Result<std::vector<ConstantPlaceholder>> readPlaceholders(const Module &module) {
  std::vector<ConstantPlaceholder> placeholders;
  SmallPtrSet<const GlobalVariable *, 16> listed;
  if (const NamedMDNode *list = module.getNamedMetadata(kConstantList))
    for (const MDNode *node : list->operands()) {
      auto *global = globalAt<GlobalVariable>(*node, 0);
      if (!global)
        continue; // Its global was unused and is gone.
      const StringRef typeName = stringAt(*node, 1);
      const auto index = integerAt(*node, 3);
      const auto type = dataTypeNamed({typeName.data(), typeName.size()});
      if (!index || *index > UINT16_MAX || !type)
        return fail(ErrorKind::Compile,
                    "Function constant \"{}\" of module \"{}\" has type \"{}\" and index [{}]; a "
                    "scalar or vector type and an index up to 65535 are expected.",
                    stringAt(*node, 2).str(), module.getModuleIdentifier(), typeName.str(),
                    index ? std::to_string(*index) : "none");
      listed.insert(global);
      placeholders.push_back({global, {stringAt(*node, 2).str(), *type, *index, false}});
    }
  for (const GlobalVariable &global : module.globals())
    if (global.getSection() == kConstantSection && !listed.contains(&global))
      if (const auto index = indexFromName(global.getName()))
        placeholders.push_back(
            {const_cast<GlobalVariable *>(&global),
             {global.getName().str(), typeFromName(global.getName()), *index, false}});
  std::ranges::sort(placeholders, {},
                    [](const ConstantPlaceholder &p) { return p.constant.index; });
  for (size_t i = 0; i < placeholders.size(); ++i) {
    const FunctionConstant &constant = placeholders[i].constant;
    const uint64_t size =
        module.getDataLayout().getTypeAllocSize(placeholders[i].global->getValueType());
    if (size != sizeOf(constant.type) || size == 0)
      return fail(ErrorKind::Compile,
                  "Function constant \"{}\" (index {}) has {} bytes in memory; its type \"{}\" has "
                  "{}.",
                  constant.name, constant.index, size, nameOf(constant.type),
                  sizeOf(constant.type));
    if (i > 0 && placeholders[i - 1].constant.index == constant.index)
      return fail(ErrorKind::Compile, "Function constants \"{}\" and \"{}\" share index [{}].",
                  placeholders[i - 1].constant.name, constant.name, constant.index);
  }
  return placeholders;
}

std::vector<FunctionConstant> constantsOf(const KernelMetadata &kernel,
                                          const std::vector<ConstantPlaceholder> &placeholders,
                                          bool all) {
  if (placeholders.empty())
    return {};
  const Dependencies dependencies(*kernel.function->getParent());
  GlobalSet inCode, inGates;
  for (const GlobalVariable *global : reachableFrom(*kernel.function).globals)
    dependencies.add(global, inCode);
  for (const ArgumentGate &gate : kernel.gates)
    dependencies.add(gate.predicate, inGates);
  std::vector<FunctionConstant> constants;
  for (const ConstantPlaceholder &placeholder : placeholders) {
    FunctionConstant constant = placeholder.constant;
    const bool needed = inCode.contains(placeholder.global);
    if (!all && !needed && !inGates.contains(placeholder.global))
      continue;
    constant.required = needed && !isAskedFor(*placeholder.global);
    constants.push_back(std::move(constant));
  }
  return constants;
}

} // namespace pewter::air::ir
