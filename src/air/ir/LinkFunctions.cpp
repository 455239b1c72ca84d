// SPDX-License-Identifier: Apache-2.0
// A linked function loses its name: two may have the same one, or be one function with other constants.
// Symbols are compared by name first, so that of a large library only what is needed is read.
// Tested by tests/api/FunctionPointers_test.cpp and tests/api/DynamicLibrary_test.cpp.
#include "air/ir/LinkFunctions.h"
#include "air/ir/AirCalls.h"
#include "air/ir/Canonicalize.h"
#include "air/ir/MetadataReader.h"
#include "air/ir/PassError.h"
#include "air/ir/SpecializeConstants.h"
#include "air/ir/TargetInfo.h"
#include <llvm/Demangle/Demangle.h>
#include <llvm/Linker/Linker.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

constexpr char kPrefix[] = "pewter.linked.";

class FunctionLinker {
public:
  FunctionLinker(Module &module, const std::vector<compiler::LinkedFunction> &functions)
      : module_(module), functions_(functions), state_(functions.size()) {}

  Result<void> run() {
    for (size_t i = 0; i < functions_.size(); ++i)
      if (functions_[i].isInTables) {
        PEWTER_TRY(Function * linked, link(i));
        module_.getOrInsertNamedMetadata(kTableList)
            ->addOperand(
                MDNode::get(module_.getContext(), {ConstantAsMetadata::get(linked)}));
      }
    // What is linked may declare more.
    for (bool changed = true; changed;) {
      changed = false;
      for (Function &declared : make_early_inc_range(module_)) {
        if (!declared.isDeclaration() || declared.isIntrinsic() || declared.use_empty() ||
            declared.getName().starts_with("air."))
          continue;
        PEWTER_TRY(Function * found, find(declared.getName()));
        if (!found)
          continue; // inline-helpers says so, if it is still called then.
        if (found->getFunctionType() != declared.getFunctionType())
          return fail(ErrorKind::Validation,
                      "The linked function \"{}\" does not have the type that its caller declares.",
                      demangle(declared.getName().str()));
        declared.replaceAllUsesWith(found);
        declared.eraseFromParent();
        changed = true;
        break; // The list of functions has grown.
      }
    }
    return {};
  }

private:
  struct State {
    Function *function = nullptr;
    std::string symbol;
  };

  /// Null when no linked function has this symbol.
  Result<Function *> find(StringRef symbol) {
    for (size_t i = 0; i < functions_.size(); ++i)
      if (functions_[i].name == symbol || (state_[i].function && state_[i].symbol == symbol))
        return link(i);
    // Functions of tables and of private lists are named for people.
    for (size_t i = 0; i < functions_.size(); ++i)
      if (!state_[i].function && !StringRef(functions_[i].name).starts_with("_Z")) {
        PEWTER_TRY_VOID(link(i));
        if (state_[i].symbol == symbol)
          return state_[i].function;
      }
    return nullptr;
  }

  Result<Function *> link(size_t index) {
    State &state = state_[index];
    if (state.function)
      return state.function;
    const compiler::LinkedFunction &wanted = functions_[index];
    PEWTER_TRY(std::unique_ptr<Module> part, parseModule(wanted.module, module_.getContext()));
    const std::vector<CalleeMetadata> callees = readCallees(*part);
    const auto chosen = std::ranges::find(callees, wanted.name, [](const CalleeMetadata &callee) {
      return callee.function->getName().str();
    });
    if (chosen == callees.end())
      return fail(ErrorKind::Validation,
                  "The module of the linked function \"{}\" has no visible function of that name.",
                  wanted.name);
    state.symbol = chosen->symbol;
    Function *function = chosen->function;
    KernelMetadata named;
    named.function = function;
    named.reflection.name = wanted.name;
    ErrorCollector errors(module_.getContext());
    AnalysisManagers analyses;
    auto &functions = analyses.modules.getResult<FunctionAnalysisManagerModuleProxy>(*part)
                          .getManager();
    const bool settled = specializeConstants(*part, named, wanted.constants, functions);
    PEWTER_TRY_VOID(errors.result());
    if (!settled)
      return fail(ErrorKind::Internal, "The constants of function \"{}\" were not settled.",
                  wanted.name);
    for (GlobalObject &object : part->global_objects()) {
      object.setComdat(nullptr);
      if (!object.isDeclaration() && !object.getName().starts_with("llvm."))
        object.setLinkage(GlobalValue::InternalLinkage);
    }
    const std::string name = kPrefix + std::to_string(index);
    function->setName(name);
    function->setLinkage(GlobalValue::ExternalLinkage);
    // What the module says about itself is said by the kernel's already.
    for (NamedMDNode &list : make_early_inc_range(part->named_metadata()))
      part->eraseNamedMetadata(&list);
    part->setTargetTriple(module_.getTargetTriple());
    if (Linker::linkModules(module_, std::move(part)))
      return fail(ErrorKind::Compile, "Function \"{}\" cannot be linked to the kernel.",
                  wanted.name);
    state.function = module_.getFunction(name);
    // One that stands in no table is a helper as any other.
    if (!wanted.isInTables)
      state.function->setLinkage(GlobalValue::InternalLinkage);
    return state.function;
  }

  Module &module_;
  const std::vector<compiler::LinkedFunction> &functions_;
  std::vector<State> state_;
};

} // namespace

PreservedAnalyses LinkFunctionsPass::run(Module &module, ModuleAnalysisManager &) {
  if (options_.functions.empty())
    return PreservedAnalyses::all();
  if (auto linked = FunctionLinker(module, options_.functions).run(); !linked)
    report(module.getContext(), std::move(linked.error()));
  return PreservedAnalyses::none();
}

} // namespace pewter::air::ir
