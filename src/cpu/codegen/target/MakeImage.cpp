// SPDX-License-Identifier: Apache-2.0
// Tested by Target_test.cpp.
#include "cpu/codegen/target/MakeImage.h"

namespace pewter::cpu::codegen {

Result<KernelImage> makeImage(GeneratedKernel kernel, compiler::TargetKind kind,
                              const compiler::ThreadgroupShape &shape,
                              llvm::CodeGenOptLevel level) {
  std::vector<std::string> entries;
  for (const char *name : {kRangeEntryName, kSimdgroupEntryName})
    if (const llvm::Function *entry = kernel.module->getFunction(name);
        entry && !entry->isDeclaration())
      entries.push_back(name);
  if (entries.empty())
    return fail(ErrorKind::Internal, "The code of kernel \"{}\" has no entry.",
                kernel.reflection.name);

  auto blob = generateCode(*kernel.module, kind, entries, level);
  if (!blob)
    return std::unexpected(std::move(blob).error().whileDoing(
        fmt::format("making machine code for kernel \"{}\"", kernel.reflection.name)));

  KernelImage image;
  image.target = uint32_t(kind);
  image.lanesPerCall = kernel.lanesPerCall;
  image.shapeKind = uint32_t(shape.kind);
  for (int i = 0; i < 3; ++i)
    image.shapeSize[i] = shape.size[size_t(i)];
  auto offsetOf = [&](const char *name) {
    auto at = blob->entries.find(name);
    return at == blob->entries.end() ? KernelImage::kNoEntry : at->second;
  };
  image.rangeEntry = offsetOf(kRangeEntryName);
  image.simdgroupEntry = offsetOf(kSimdgroupEntryName);
  image.stackBytes = blob->stackBytes;
  image.codeAlignment = blob->alignment;
  image.prefersExactShape = kernel.prefersExactShape;
  image.reflection = std::move(kernel.reflection);
  image.code = std::move(blob->code);
  return image;
}

} // namespace pewter::cpu::codegen
