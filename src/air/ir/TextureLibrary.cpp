// SPDX-License-Identifier: Apache-2.0
//
// A descriptor does not change while a kernel runs, so loads from one are marked invariant here: C
// has no word for that. Texels are ordinary memory, which other threads may write.
//
// Tested by tests/lit/air/lower-textures.
#include "air/ir/TextureLibrary.h"
#include "air/ir/BitcodeLibrary.h"
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

alignas(8) const unsigned char kBitcode[] = {
#include "TextureLibrary.inc"
};
constexpr BitcodeLibrary kLibrary{"TextureLibrary", kBitcode};

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

} // namespace

std::unique_ptr<Module> loadTextureLibrary(LLVMContext &context) { return kLibrary.load(context); }

void linkTextureFunctions(Module &module) {
  kLibrary.link(
      module, [](StringRef name) { return name.starts_with("pewter_texture_"); }, markDescriptorLoads);
  for (GlobalVariable &global : module.globals())
    if (global.getName().starts_with("pewter_"))
      global.setLinkage(GlobalValue::InternalLinkage);
}

} // namespace pewter::air::ir
