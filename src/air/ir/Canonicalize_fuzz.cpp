// SPDX-License-Identifier: Apache-2.0
// Damaged modules give an error or a canonical kernel. Two kinds of input: bitcode as it is, and,
// when the first byte is 'T', textual IR, which reaches past LLVM's bitcode reader more often.
// LLVM's own reader is not hardened against every damage; what it survives must pass our checks.
#include "air/ir/Canonicalize.h"
#include "air/ir/PassError.h"
#include "base/Check.h"
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

using namespace pewter;

static void canonicalizeAll(ByteView bitcode) {
  std::vector<air::KernelReflection> kernels;
  {
    llvm::LLVMContext context;
    auto module = air::ir::parseModule(bitcode, context);
    if (!module)
      return;
    auto reflected = air::ir::reflectKernels(**module);
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
