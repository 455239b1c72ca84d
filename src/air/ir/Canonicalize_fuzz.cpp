// SPDX-License-Identifier: Apache-2.0
// Damaged modules give an error or a canonical kernel. Two kinds of input: bitcode as it is, and,
// when the first byte is 'T', textual IR, which reaches past LLVM's bitcode reader more often.
// LLVM's own reader is not hardened against every damage: its faults are caught, as they are in the
// product; what it survives must pass our checks, and a fault in our passes is a finding.
#include "air/ir/Canonicalize.h"
#include "air/ir/PassError.h"
#include "base/Check.h"
#include "compiler/Guarded.h"
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

using namespace pewter;

static void canonicalizeAll(ByteView bitcode) {
  std::vector<air::KernelReflection> kernels;
  {
    // Not freed where the reader faults: the context may be inconsistent then.
    auto context = std::make_unique<llvm::LLVMContext>();
    bool faulted = true;
    auto reflected = compiler::guarded("reading", [&]() -> Result<std::vector<air::KernelReflection>> {
      auto module = air::ir::parseModule(bitcode, *context);
      faulted = false;
      if (!module)
        return std::unexpected(module.error());
      return air::ir::reflectKernels(**module);
    });
    if (faulted)
      (void)context.release();
    if (!reflected)
      return;
    kernels = std::move(*reflected);
  }
  for (const air::KernelReflection &kernel : kernels) {
    llvm::LLVMContext context;
    auto module = air::ir::parseModule(bitcode, context);
    PEWTER_CHECK(module.has_value());
    std::vector<compiler::ConstantValue> constants;
    for (const air::FunctionConstant &constant : kernel.constants)
      constants.push_back({constant.index, constant.type, {std::byte(1)}});
    auto canonical = air::ir::canonicalize(std::move(*module), kernel.name, constants);
    if (canonical)
      PEWTER_CHECK(air::ir::verifyCanonical(*canonical).has_value());
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 0 && data[0] == 'T') {
    llvm::LLVMContext context;
    air::ir::ErrorCollector errors(context);
    llvm::SMDiagnostic problem;
    // The parser wants a terminator behind the text.
    const std::string text(reinterpret_cast<const char *>(data) + 1, size - 1);
    auto module = llvm::parseAssemblyString(text, problem, context);
    if (!module || errors.first())
      return 0;
    llvm::SmallVector<char, 0> buffer;
    llvm::raw_svector_ostream stream(buffer);
    llvm::WriteBitcodeToFile(*module, stream);
    canonicalizeAll(std::as_bytes(std::span(buffer.data(), buffer.size())));
  } else {
    canonicalizeAll(std::as_bytes(std::span(data, size)));
  }
  return 0;
}
