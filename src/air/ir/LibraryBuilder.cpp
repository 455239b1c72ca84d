// SPDX-License-Identifier: Apache-2.0
// Tested by LibraryBuilder_test.cpp.
#include "air/ir/LibraryBuilder.h"
#include "air/ir/Canonicalize.h"
#include "air/ir/ExtractKernel.h"
#include "air/ir/FunctionConstants.h"
#include "air/ir/PassError.h"
#include "air/ir/TargetInfo.h"
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

/// Two numbers from a list like `!air.version = !{!{i32 2, i32 7, i32 0}}`, starting at `from`.
std::array<uint16_t, 2> versionIn(const Module &module, StringRef list, unsigned from,
                                  std::array<uint16_t, 2> otherwise) {
  const NamedMDNode *node = module.getNamedMetadata(list);
  if (!node || node->getNumOperands() == 0)
    return otherwise;
  const auto major = integerAt(*node->getOperand(0), from);
  const auto minor = integerAt(*node->getOperand(0), from + 1);
  if (!major || !minor)
    return otherwise;
  return {static_cast<uint16_t>(*major), static_cast<uint16_t>(*minor)};
}

Bytes bitcodeOf(const Module &module) {
  SmallVector<char, 0> buffer;
  raw_svector_ostream stream(buffer);
  WriteBitcodeToFile(module, stream);
  const ByteView view = std::as_bytes(std::span(buffer.data(), buffer.size()));
  return wrapBitcode(view);
}

} // namespace

Result<void> LibraryBuilder::add(const Module &module) {
  PEWTER_TRY(const std::vector<KernelMetadata> kernels, readKernels(module));
  if (kernels.empty())
    return fail(ErrorKind::Validation, "AIR module \"{}\" has no kernels.",
                module.getModuleIdentifier());
  const Triple triple(module.getTargetTriple());
  if (library_.functions.empty() && triple.isMacOSX()) {
    const VersionTuple version = triple.getOSVersion();
    library_.system = {static_cast<uint16_t>(version.getMajor()),
                       static_cast<uint16_t>(version.getMinor().value_or(0)), 0};
  }
  for (const KernelMetadata &kernel : kernels) {
    MetallibFunction function;
    function.name = kernel.reflection.name;
    function.airVersion = versionIn(module, "air.version", 0, function.airVersion);
    function.languageVersion =
        versionIn(module, "air.language_version", 1, function.languageVersion);
    std::unique_ptr<Module> part = CloneModule(module);
    ErrorCollector errors(part->getContext());
    AnalysisManagers analyses;
    ExtractKernelPass({kernel.reflection.name}).run(*part, analyses.modules);
    PEWTER_TRY_VOID(errors.result());
    PEWTER_TRY(const std::vector<KernelMetadata> alone, readKernels(*part));
    PEWTER_TRY(const std::vector<ConstantPlaceholder> placeholders, readPlaceholders(*part));
    for (const FunctionConstant &constant : constantsOf(alone.front(), placeholders, /*all=*/true))
      function.constants.push_back(
          {constant.name, constant.type, static_cast<uint16_t>(constant.index), true});
    part->setModuleIdentifier(function.name);
    part->setSourceFileName(function.name);
    function.module = modules_.emplace_back(bitcodeOf(*part));
    library_.functions.push_back(std::move(function));
  }
  library_.madeByPewter = true;
  return {};
}

Result<void> LibraryBuilder::addBitcode(ByteView bytes) {
  LLVMContext context;
  PEWTER_TRY(std::unique_ptr<Module> module, parseModule(bytes, context));
  return add(*module);
}

Result<Bytes> LibraryBuilder::finish() const { return writeMetallib(library_); }

} // namespace pewter::air::ir
