// SPDX-License-Identifier: Apache-2.0
#include "cuda/codegen/target/NvptxTarget.h"
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <mutex>

extern "C" void LLVMInitializeNVPTXTargetInfo();
extern "C" void LLVMInitializeNVPTXTarget();
extern "C" void LLVMInitializeNVPTXTargetMC();
extern "C" void LLVMInitializeNVPTXAsmPrinter();

namespace pewter::cuda::codegen {
using namespace llvm;

Result<std::unique_ptr<TargetMachine>> makeNvptxTarget(uint32_t architecture) {
  if (architecture != 80 && architecture != 90 && architecture != 100)
    return fail(ErrorKind::Validation, "PTX architecture sm_{} is not one of sm_80, sm_90, sm_100.",
                architecture);
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return fail(ErrorKind::Internal, "LLVM has no NVPTX target: {}.", message);
  TargetOptions options;
  // Only operations that carry `contract` may fuse: fmuladd does not, as on the other devices.
  options.AllowFPOpFusion = FPOpFusion::Strict;
  std::string features = architecture >= 100 ? "+ptx86" : "+ptx80";
  return std::unique_ptr<TargetMachine>(
      target->createTargetMachine(triple, fmt::format("sm_{}", architecture), features, options,
                                  std::nullopt, std::nullopt, CodeGenOptLevel::Aggressive));
}

Result<std::string> emitPtx(Module &module, TargetMachine &machine) {
  SmallVector<char, 0> text;
  raw_svector_ostream stream(text);
  legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::AssemblyFile))
    return fail(ErrorKind::Internal, "LLVM's NVPTX target cannot emit text.");
  passes.run(module);
  return std::string(text.begin(), text.end());
}

} // namespace pewter::cuda::codegen
