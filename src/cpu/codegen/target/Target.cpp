// SPDX-License-Identifier: Apache-2.0
//
// What each kind of target is for LLVM, and the passage from a module to object bytes. The blob
// itself is made in LinkBlob.cpp.
//
//   kind           processor   features beyond it          vectors
//   CpuAvx512Vnni  x86-64-v4   as below, and 8-bit dots    512
//   CpuAvx512      x86-64-v4   gathers, no 256-bit tuning  512
//   CpuAvx2        x86-64-v3   gathers                     256
//   CpuBaseline    x86-64-v2                               128
//   CpuNeon        generic     neon                        128
//   CpuOracle      as the host's v3 or generic             128
//
// "Gathers" means that masked gathers become instructions rather than 32 branches.
//
// Tested by Target_test.cpp.
#include "cpu/codegen/target/Target.h"
#include "base/Check.h"
#include "cpu/codegen/target/CutBlocks.h"
#include "cpu/codegen/target/LinkBlob.h"
#include "cpu/codegen/target/LowerArithmetic.h"
#include "cpu/codegen/target/LowerDots.h"
#include "cpu/codegen/target/SpreadElements.h"
#include "cpu/codegen/target/TabulateCodes.h"
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetOptions.h>
#include <mutex>

namespace pewter::cpu::codegen {
namespace {

using compiler::TargetKind;

struct Traits {
  const char *triple;
  const char *processor;
  const char *features;
  uint32_t vectorBits;
};

constexpr const char *kX86 = "x86_64-unknown-linux-gnu";
constexpr const char *kArm = "aarch64-unknown-linux-gnu";

Result<Traits> traitsOf(TargetKind kind) {
  switch (kind) {
  case TargetKind::CpuAvx512Vnni:
    return Traits{kX86, "x86-64-v4", "-prefer-256-bit,+fast-gather,+avx512vnni", 512};
  case TargetKind::CpuAvx512:
    return Traits{kX86, "x86-64-v4", "-prefer-256-bit,+fast-gather", 512};
  case TargetKind::CpuAvx2:
    return Traits{kX86, "x86-64-v3", "+fast-gather", 256};
  case TargetKind::CpuBaseline:
    return Traits{kX86, "x86-64-v2", "", 128};
  case TargetKind::CpuNeon:
    return Traits{kArm, "generic", "+neon", 128};
  case TargetKind::CpuOracle:
#if defined(__aarch64__)
    return Traits{kArm, "generic", "+neon", 128};
#else
    return Traits{kX86, "x86-64-v3", "", 128};
#endif
  case TargetKind::Ptx:
    break;
  }
  return fail(ErrorKind::Unsupported, "Target kind [{}] is not a CPU target.", unsigned(kind));
}

void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
  });
}

/// Finds a type whose size or field offsets differ between two data layouts.
class LayoutCheck {
public:
  LayoutCheck(const llvm::DataLayout &before, const llvm::DataLayout &after)
      : before_(before), after_(after) {}

  Result<void> check(llvm::Type *type) {
    if (!type->isSized() || llvm::isa<llvm::ScalableVectorType>(type) || !seen_.insert(type).second)
      return {};
    bool isSame = before_.getTypeAllocSize(type) == after_.getTypeAllocSize(type) &&
                  before_.getTypeStoreSize(type) == after_.getTypeStoreSize(type);
    if (auto *structure = llvm::dyn_cast<llvm::StructType>(type)) {
      for (unsigned i = 0; i < structure->getNumElements(); ++i) {
        PEWTER_TRY_VOID(check(structure->getElementType(i)));
        isSame = isSame && before_.getStructLayout(structure)->getElementOffset(i) ==
                               after_.getStructLayout(structure)->getElementOffset(i);
      }
    } else if (auto *array = llvm::dyn_cast<llvm::ArrayType>(type)) {
      PEWTER_TRY_VOID(check(array->getElementType()));
    }
    if (isSame)
      return {};
    std::string text;
    llvm::raw_string_ostream(text) << *type;
    return fail(ErrorKind::Internal, "Type [{}] is laid out differently on the target.", text);
  }

private:
  const llvm::DataLayout &before_, &after_;
  llvm::SmallPtrSet<llvm::Type *, 32> seen_;
};

Result<void> checkLayouts(const llvm::Module &module, const llvm::DataLayout &after) {
  LayoutCheck layouts(module.getDataLayout(), after);
  for (const llvm::GlobalVariable &global : module.globals())
    PEWTER_TRY_VOID(layouts.check(global.getValueType()));
  for (const llvm::Function &function : module)
    for (const llvm::Instruction &instruction : llvm::instructions(function)) {
      PEWTER_TRY_VOID(layouts.check(instruction.getType()));
      if (auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction))
        PEWTER_TRY_VOID(layouts.check(address->getSourceElementType()));
      if (auto *slot = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
        PEWTER_TRY_VOID(layouts.check(slot->getAllocatedType()));
    }
  return {};
}

void setAttributes(llvm::Function &function, const Traits &traits) {
  for (const char *name : {"target-cpu", "tune-cpu", "target-features", "prefer-vector-width",
                           "min-legal-vector-width", "frame-pointer", "probe-stack",
                           "stack-protector", "stack-protector-buffer-size", "stack-probe-size"})
    function.removeFnAttr(name);
  function.removeFnAttr(llvm::Attribute::UWTable);
  function.addFnAttr("target-cpu", traits.processor);
  if (*traits.features)
    function.addFnAttr("target-features", traits.features);
  if (traits.vectorBits > 128) {
    // Without both, LLVM narrows 512-bit operations where it expects a slower clock.
    function.addFnAttr("prefer-vector-width", std::to_string(traits.vectorBits));
    function.addFnAttr("min-legal-vector-width", std::to_string(traits.vectorBits));
  }
  function.addFnAttr("frame-pointer", "none");
  function.addFnAttr(llvm::Attribute::NoUnwind);
}

class CutBlocksPass final : public llvm::FunctionPass {
public:
  static char ID;
  CutBlocksPass() : FunctionPass(ID) {}
  llvm::StringRef getPassName() const override { return "Cut long blocks"; }
  // Below some thousands there is little to gain, and what runs often is left as it is.
  bool runOnFunction(llvm::Function &function) override {
    return cutBlocks(function, /*longest=*/4000, /*length=*/500);
  }
};
char CutBlocksPass::ID = 0;

/// Cuts long blocks, and leaves the scheduler out. On code as wide as ours it moves loads up until registers run
/// out, and the spills cost more than the order gains: the processor looks ahead further than a schedule does.
class CodePasses final : public llvm::legacy::PassManager {
public:
  void add(llvm::Pass *pass) override {
    if (pass->getPassID() == &llvm::MachineSchedulerID) {
      delete pass;
      return;
    }
    const bool isPreparation = pass->getPassName() == "CodeGen Prepare"; // It has no identifier for others.
    llvm::legacy::PassManager::add(pass);
    if (isPreparation)
      llvm::legacy::PassManager::add(new CutBlocksPass);
    cutsBlocks_ |= isPreparation;
  }
  bool cutsBlocks() const { return cutsBlocks_; }

private:
  bool cutsBlocks_ = false;
};

Result<llvm::SmallVector<char, 0>> emit(llvm::Module &module, TargetKind kind,
                                        llvm::CodeGenOptLevel level, llvm::CodeGenFileType type) {
  PEWTER_TRY(auto machine, createTargetMachine(kind, level));
  if (module.getTargetTriple() != machine->getTargetTriple())
    PEWTER_TRY_VOID(retarget(module, *machine, kind));
  lowerDots(module, dotSupport(kind), vectorBits(kind));
  if (vectorBits(kind) == 512)
    for (llvm::Function &function : module)
      if (!function.isDeclaration()) {
        tabulateCodes(function);
        spreadElements(function); // Tables have scales spread over them.
      }
  lowerArithmetic(module, arithmeticSupport(kind));

  llvm::SmallVector<char, 0> out;
  llvm::raw_svector_ostream stream(out);
  CodePasses passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, type))
    return fail(ErrorKind::Internal, "LLVM cannot emit code for target [{}].",
                machine->getTargetTriple().str());
  PEWTER_ASSERT(passes.cutsBlocks());
  passes.run(module);
  return out;
}

} // namespace

Result<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(TargetKind kind,
                                                                 llvm::CodeGenOptLevel level) {
  PEWTER_TRY(Traits traits, traitsOf(kind));
  initializeTargets();
  llvm::Triple triple(traits.triple);
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return fail(ErrorKind::Internal, "LLVM has no target [{}]: {}.", traits.triple, message);

  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict; // `contract` on an operation still allows it.
  options.EmitStackSizeSection = true;
  options.FunctionSections = true;
  options.DataSections = true; // So that the linker can leave out what no entry reaches.
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, traits.processor, traits.features, options,
                                  llvm::Reloc::PIC_, llvm::CodeModel::Small, level));
  if (!machine)
    return fail(ErrorKind::Internal, "LLVM makes no code for [{}].", traits.triple);
  return machine;
}

uint32_t vectorBits(TargetKind kind) {
  auto traits = traitsOf(kind);
  return traits ? traits->vectorBits : 0;
}

Result<void> retarget(llvm::Module &module, const llvm::TargetMachine &machine, TargetKind kind) {
  PEWTER_TRY(Traits traits, traitsOf(kind));
  llvm::DataLayout layout = machine.createDataLayout();
  if (!module.getDataLayoutStr().empty())
    PEWTER_TRY_VOID(checkLayouts(module, layout));
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(layout);
  if (module.getPICLevel() == llvm::PICLevel::NotPIC) // A second flag would be malformed.
    module.setPICLevel(llvm::PICLevel::BigPIC);
  for (llvm::Function &function : module)
    if (!function.isDeclaration()) {
      setAttributes(function, traits);
      function.setDSOLocal(true); // Else references inside the blob would go through a table.
    }
  for (llvm::GlobalVariable &global : module.globals())
    if (!global.isDeclaration())
      global.setDSOLocal(true);
  return {};
}

Result<Bytes> generateObject(llvm::Module &module, TargetKind kind, llvm::CodeGenOptLevel level) {
  PEWTER_TRY(auto object, emit(module, kind, level, llvm::CodeGenFileType::ObjectFile));
  ByteView view = viewOf({object.data(), object.size()});
  return Bytes(view.begin(), view.end());
}

Result<std::string> generateAssembly(llvm::Module &module, TargetKind kind,
                                     llvm::CodeGenOptLevel level) {
  PEWTER_TRY(auto text, emit(module, kind, level, llvm::CodeGenFileType::AssemblyFile));
  return std::string(text.data(), text.size());
}

Result<CodeBlob> generateCode(llvm::Module &module, TargetKind kind,
                              std::span<const std::string> entries, llvm::CodeGenOptLevel level) {
  PEWTER_TRY(Bytes object, generateObject(module, kind, level));
  return linkBlob(object, kind, entries);
}

} // namespace pewter::cpu::codegen
