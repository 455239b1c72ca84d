// SPDX-License-Identifier: Apache-2.0
#include "cpu/codegen/CompileKernel.h"
#include "base/Toggles.h"
#include "cpu/codegen/Oracle.h"
#include "cpu/codegen/Vectorize.h"
#include "cpu/codegen/target/Target.h"
#include "cpu/codegen/target/MakeImage.h"
#include <llvm/Support/raw_ostream.h>

namespace pewter::cpu::codegen {
namespace {

using compiler::EmitKind;
using compiler::TargetKind;

Result<GeneratedKernel> generate(air::ir::CanonicalKernel kernel,
                                 const compiler::KernelRequest &request) {
  if (request.target == TargetKind::CpuOracle)
    return generateOracle(std::move(kernel));
  PEWTER_TRY(auto machine, createTargetMachine(request.target));
  VectorizeOptions options;
  options.target = request.target;
  options.shape = request.shape;
  return vectorize(std::move(kernel), options, *machine);
}

/// The oracle is read and debugged, not timed.
llvm::CodeGenOptLevel levelFor(TargetKind kind) {
  return kind == TargetKind::CpuOracle ? llvm::CodeGenOptLevel::Less
                                       : llvm::CodeGenOptLevel::Default;
}

std::string textOf(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

Bytes bytesOf(std::string_view text) {
  ByteView view = viewOf(text);
  return Bytes(view.begin(), view.end());
}

} // namespace

Result<cpu::KernelImage> compileKernel(air::ir::CanonicalKernel kernel,
                                       const compiler::KernelRequest &request) {
  if (enabled(Toggle::dump_air))
    llvm::errs() << textOf(*kernel.module);
  PEWTER_TRY(GeneratedKernel generated, generate(std::move(kernel), request));
  if (enabled(Toggle::dump_vector_ir))
    llvm::errs() << textOf(*generated.module);
  return makeImage(std::move(generated), request.target, request.shape, levelFor(request.target));
}

Result<Bytes> emit(air::ir::CanonicalKernel kernel, const compiler::KernelRequest &request,
                   EmitKind kind) {
  if (kind == EmitKind::ShapeReport) {
    VectorizeOptions options;
    options.target = request.target;
    options.shape = request.shape;
    PEWTER_TRY(std::string report, shapeReport(std::move(kernel), options));
    return bytesOf(report);
  }
  PEWTER_TRY(GeneratedKernel generated, generate(std::move(kernel), request));
  switch (kind) {
  case EmitKind::VectorIr:
    return bytesOf(textOf(*generated.module));
  case EmitKind::Assembly: {
    PEWTER_TRY(std::string text,
               generateAssembly(*generated.module, request.target, levelFor(request.target)));
    return bytesOf(text);
  }
  case EmitKind::Object:
    return generateObject(*generated.module, request.target, levelFor(request.target));
  default:
    return fail(ErrorKind::Internal, "Stage [{}] is not one of the CPU code generator's.",
                unsigned(kind));
  }
}

} // namespace pewter::cpu::codegen
