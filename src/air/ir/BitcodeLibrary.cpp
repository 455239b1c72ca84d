// SPDX-License-Identifier: Apache-2.0
//
// A library is parsed lazily and only the functions that a kernel calls are linked, so that a kernel
// without any pays nothing and one with a few well under a millisecond.
//
// Tested by MathLibrary_test.cpp and tests/lit/air/lower-textures.
#include "air/ir/BitcodeLibrary.h"
#include "base/Check.h"
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

void inlineCallsTo(Function &function) {
  for (User *user : make_early_inc_range(function.users())) {
    auto *call = dyn_cast<CallInst>(user);
    if (!call || call->getCalledOperand() != &function)
      continue;
    InlineFunctionInfo info;
    InlineResult result = InlineFunction(*call, info);
    PEWTER_CHECK(result.isSuccess());
  }
}

} // namespace

std::unique_ptr<Module> BitcodeLibrary::load(LLVMContext &context) const {
  MemoryBufferRef bytes(StringRef(reinterpret_cast<const char *>(bitcode.data()), bitcode.size()), name);
  Expected<std::unique_ptr<Module>> module = getLazyBitcodeModule(bytes, context);
  PEWTER_CHECK(static_cast<bool>(module));
  std::unique_ptr<Module> library = std::move(*module);
  for (NamedMDNode &node : make_early_inc_range(library->named_metadata()))
    library->eraseNamedMetadata(&node);
  library->setTargetTriple(Triple());
  library->setDataLayout("");
  return library;
}

void BitcodeLibrary::link(Module &module, function_ref<bool(StringRef)> isMember,
                          function_ref<void(Function &)> prepare) const {
  std::vector<std::string> wanted;
  for (Function &function : module)
    if (function.isDeclaration() && isMember(function.getName()))
      wanted.push_back(function.getName().str());
  if (wanted.empty())
    return;
  std::unique_ptr<Module> library = load(module.getContext());
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  bool failed = Linker::linkModules(module, std::move(library), Linker::LinkOnlyNeeded);
  PEWTER_CHECK(!failed);
  for (const std::string &functionName : wanted) {
    Function &function = *module.getFunction(functionName);
    prepare(function);
    inlineCallsTo(function);
    if (function.use_empty())
      function.eraseFromParent();
  }
}

} // namespace pewter::air::ir
