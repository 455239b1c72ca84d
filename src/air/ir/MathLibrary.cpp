// SPDX-License-Identifier: Apache-2.0
//
// The library is parsed lazily and only the functions that a kernel calls are linked, so that a
// kernel without math pays nothing and one with a few functions well under a millisecond.
#include "air/ir/MathLibrary.h"
#include "base/Check.h"
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <set>

namespace pewter::air::ir {
using namespace llvm;

namespace {

alignas(8) const unsigned char kLibrary[] = {
#include "MathLibrary.inc"
};

bool isMathName(StringRef name) { return name.starts_with("pewter_"); }

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

std::unique_ptr<Module> loadMathLibrary(LLVMContext &context) {
  MemoryBufferRef bytes(StringRef(reinterpret_cast<const char *>(kLibrary), sizeof(kLibrary)),
                        "MathLibrary");
  Expected<std::unique_ptr<Module>> module = getLazyBitcodeModule(bytes, context);
  PEWTER_CHECK(static_cast<bool>(module));
  std::unique_ptr<Module> library = std::move(*module);
  for (NamedMDNode &node : make_early_inc_range(library->named_metadata()))
    library->eraseNamedMetadata(&node);
  library->setTargetTriple(Triple());
  library->setDataLayout("");
  return library;
}

bool hasMathFunction(StringRef name) {
  static const std::set<std::string, std::less<>> names = [] {
    std::set<std::string, std::less<>> found;
    LLVMContext context;
    for (const Function &function : *loadMathLibrary(context))
      if (isMathName(function.getName()))
        found.insert(function.getName().str());
    return found;
  }();
  return names.contains(std::string_view(name));
}

void linkMathFunctions(Module &module) {
  std::vector<std::string> wanted;
  for (Function &function : module)
    if (function.isDeclaration() && isMathName(function.getName()) &&
        hasMathFunction(function.getName()))
      wanted.push_back(function.getName().str());
  if (wanted.empty())
    return;
  std::unique_ptr<Module> library = loadMathLibrary(module.getContext());
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  bool failed = Linker::linkModules(module, std::move(library), Linker::LinkOnlyNeeded);
  PEWTER_CHECK(!failed);
  for (const std::string &name : wanted) {
    Function &function = *module.getFunction(name);
    inlineCallsTo(function);
    if (function.use_empty())
      function.eraseFromParent();
  }
}

} // namespace pewter::air::ir
