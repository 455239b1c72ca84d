// SPDX-License-Identifier: Apache-2.0
// The entry-point table. Each stage is a call into the folder that owns it; this file only joins
// them and says what is not there.
#include "compiler/Compiler.h"
#include "compiler/Guarded.h"
#include "PewterBuildId.h"
#include "air/ir/Canonicalize.h"
#include "cuda/abi/KernelImage.h"
#include "cuda/codegen/Pipeline.h"
#include "air/ir/LibraryBuilder.h"
#include "air/ir/MetadataReader.h"
#include "cpu/codegen/CompileKernel.h"
#include "msl/Compile.h"
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

namespace pewter::compiler {

namespace {

Result<LibraryImage> linkAir(const std::vector<Bytes> &modules) {
  air::ir::LibraryBuilder builder;
  for (size_t i = 0; i < modules.size(); ++i)
    if (auto added = builder.addBitcode(modules[i]); !added)
      return std::unexpected(
          std::move(added).error().whileDoing(fmt::format("linking AIR module {}", i)));
  LibraryImage image;
  PEWTER_TRY(image.metallib, builder.finish());
  return image;
}

Result<ModuleDescription> describeModule(ByteView bytes) {
  llvm::LLVMContext context;
  PEWTER_TRY(std::unique_ptr<llvm::Module> module, air::ir::parseModule(bytes, context));
  ModuleDescription description;
  PEWTER_TRY(description.kernels, air::ir::reflectKernels(*module));
  for (const air::ir::CalleeMetadata &callee : air::ir::readCallees(*module))
    description.callees.push_back(
        {callee.function->getName().str(), callee.symbol, callee.signature});
  return description;
}

Result<air::ir::CanonicalKernel> canonicalKernel(const KernelRequest &request,
                                                 llvm::LLVMContext &context) {
  PEWTER_TRY(std::unique_ptr<llvm::Module> module, air::ir::parseModule(request.module, context));
  return air::ir::canonicalize(std::move(module), request.function, request.constants,
                               request.linkedFunctions, request.maxCallStackDepth);
}

/// The CPU back-end knows best what to prefetch on a processor.
void dropPrefetches(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function)))
    if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        call && call->getIntrinsicID() == llvm::Intrinsic::prefetch)
      call->eraseFromParent();
}

Result<KernelImage> compileKernel(const KernelRequest &request) {
  llvm::LLVMContext context;
  PEWTER_TRY(air::ir::CanonicalKernel kernel, canonicalKernel(request, context));
  if (request.target == TargetKind::Ptx) {
    PEWTER_TRY(cuda::KernelImage image,
               cuda::codegen::compileToPtx(std::move(kernel), {.architecture = request.ptxArchitecture}));
    return KernelImage{cuda::encode(image)};
  }
  dropPrefetches(*kernel.function);
  PEWTER_TRY(cpu::KernelImage image, cpu::codegen::compileKernel(std::move(kernel), request));
  return KernelImage{cpu::encode(image)};
}

Result<Bytes> emit(const KernelRequest &request, EmitKind kind) {
  llvm::LLVMContext context;
  std::string text;
  llvm::raw_string_ostream stream(text);
  switch (kind) {
  case EmitKind::Air: {
    PEWTER_TRY(std::unique_ptr<llvm::Module> module, air::ir::parseModule(request.module, context));
    module->print(stream, nullptr);
    break;
  }
  case EmitKind::CanonicalAir: {
    PEWTER_TRY(air::ir::CanonicalKernel kernel, canonicalKernel(request, context));
    kernel.module->print(stream, nullptr);
    break;
  }
  default: {
    PEWTER_TRY(air::ir::CanonicalKernel kernel, canonicalKernel(request, context));
    if (request.target == TargetKind::Ptx)
      return cuda::codegen::emit(std::move(kernel), {.architecture = request.ptxArchitecture}, kind);
    dropPrefetches(*kernel.function);
    return cpu::codegen::emit(std::move(kernel), request, kind);
  }
  }
  const ByteView view = viewOf(text);
  return Bytes(view.begin(), view.end());
}

// Every entry is guarded: see Guarded.h.
constexpr EntryPoints kEntryPoints{
    PEWTER_BUILD_ID,
    [](const SourceRequest &request) {
      return guarded(fmt::format("compiling \"{}\"", request.fileName),
                     [&] { return msl::compileSource(request); });
    },
    [](const std::vector<Bytes> &modules) {
      return guarded(fmt::format("linking {} AIR modules", modules.size()),
                     [&] { return linkAir(modules); });
    },
    [](ByteView module) {
      return guarded(fmt::format("reading an AIR module ({} bytes)", module.size()),
                     [&] { return describeModule(module); });
    },
    [](const KernelRequest &request) {
      return guarded(fmt::format("compiling function \"{}\"", request.function),
                     [&] { return compileKernel(request); });
    },
    [](const KernelRequest &request, EmitKind kind) {
      return guarded(fmt::format("compiling function \"{}\"", request.function),
                     [&] { return emit(request, kind); });
    }};

} // namespace

} // namespace pewter::compiler

extern "C" __attribute__((visibility("default"))) const pewter::compiler::EntryPoints *
pewterCompilerEntryPoints() {
  return &pewter::compiler::kEntryPoints;
}
