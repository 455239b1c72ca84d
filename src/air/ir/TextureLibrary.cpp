// SPDX-License-Identifier: Apache-2.0
//
// A descriptor does not change while a kernel runs, so loads from one are marked invariant here: C
// has no word for that. Texels are ordinary memory, which other threads may write.
//
// Tested by tests/lit/air/lower-textures.
#include "air/ir/TextureLibrary.h"
#include "base/Check.h"
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

alignas(8) const unsigned char kLibrary[] = {
#include "TextureLibrary.inc"
};

bool isTextureName(StringRef name) { return name.starts_with("pewter_texture_"); }

/// Also drops what the canonical form does not have.
void markDescriptorLoads(Function &function) {
  for (Instruction &instruction : make_early_inc_range(instructions(function))) {
    for (unsigned kind :
         {LLVMContext::MD_tbaa, LLVMContext::MD_alias_scope, LLVMContext::MD_noalias})
      instruction.setMetadata(kind, nullptr);
    if (auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction);
        intrinsic && intrinsic->getIntrinsicID() == Intrinsic::experimental_noalias_scope_decl)
      intrinsic->eraseFromParent();
    else if (auto *load = dyn_cast<LoadInst>(&instruction)) {
      const Value *base = load->getPointerOperand()->stripInBoundsOffsets();
      while (const auto *gep = dyn_cast<GetElementPtrInst>(base))
        base = gep->getPointerOperand()->stripInBoundsOffsets();
      if (isa<llvm::Argument>(base))
        load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(load->getContext(), {}));
    }
  }
}

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

std::unique_ptr<Module> loadTextureLibrary(LLVMContext &context) {
  MemoryBufferRef bytes(StringRef(reinterpret_cast<const char *>(kLibrary), sizeof(kLibrary)),
                        "TextureLibrary");
  Expected<std::unique_ptr<Module>> module = getLazyBitcodeModule(bytes, context);
  PEWTER_CHECK(static_cast<bool>(module));
  std::unique_ptr<Module> library = std::move(*module);
  for (NamedMDNode &node : make_early_inc_range(library->named_metadata()))
    library->eraseNamedMetadata(&node);
  return library;
}

void linkTextureFunctions(Module &module) {
  std::vector<std::string> wanted;
  for (Function &function : module)
    if (function.isDeclaration() && isTextureName(function.getName()))
      wanted.push_back(function.getName().str());
  if (wanted.empty())
    return;
  std::unique_ptr<Module> library = loadTextureLibrary(module.getContext());
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  bool failed = Linker::linkModules(module, std::move(library), Linker::LinkOnlyNeeded);
  PEWTER_CHECK(!failed);
  for (const std::string &name : wanted) {
    Function &function = *module.getFunction(name);
    markDescriptorLoads(function);
    inlineCallsTo(function);
    if (function.use_empty())
      function.eraseFromParent();
  }
  for (GlobalVariable &global : module.globals())
    if (global.getName().starts_with("pewter_"))
      global.setLinkage(GlobalValue::InternalLinkage);
}

} // namespace pewter::air::ir
