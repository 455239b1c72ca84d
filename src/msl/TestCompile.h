// SPDX-License-Identifier: Apache-2.0
//
// For the front-end's tests: compile a source, take the library's modules out again.
#pragma once
#include "air/ir/Canonicalize.h"
#include "msl/Compile.h"
#include <cstring>
#include <gtest/gtest.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

namespace pewter::msl {

struct CompiledSource {
  llvm::LLVMContext context;
  std::vector<std::unique_ptr<llvm::Module>> modules; ///< In library order.
  std::string diagnostics;                            ///< Warnings, or the errors.
  bool ok = false;

  llvm::Function *kernel(const std::string &name) const {
    for (const auto &module : modules)
      if (llvm::Function *function = module->getFunction(name); function && !function->isDeclaration())
        return function;
    return nullptr;
  }
  air::KernelReflection reflection(const std::string &name) const {
    for (const auto &module : modules) {
      const auto kernels = air::ir::reflectKernels(*module);
      EXPECT_TRUE(kernels.has_value()) << (kernels ? "" : kernels.error().describe());
      if (kernels)
        for (const air::KernelReflection &kernel : *kernels)
          if (kernel.name == name)
            return kernel;
    }
    ADD_FAILURE() << "no kernel " << name;
    return {};
  }
  std::string text() const {
    std::string text;
    llvm::raw_string_ostream stream(text);
    for (const auto &module : modules)
      module->print(stream, nullptr);
    return text;
  }
};

inline std::unique_ptr<CompiledSource> compileForTest(const compiler::SourceRequest &request) {
  auto compiled = std::make_unique<CompiledSource>();
  auto image = compileSource(request);
  if (!image) {
    compiled->diagnostics = image.error().message();
    return compiled;
  }
  compiled->diagnostics = image->diagnostics;
  compiled->ok = true;
  // Each module is a bitcode wrapper: magic, version, offset, size, CPU.
  const uint32_t magic = 0x0B17C0DE;
  const Bytes &bytes = image->metallib;
  for (size_t i = 0; i + 20 <= bytes.size();) {
    uint32_t words[5];
    std::memcpy(words, bytes.data() + i, sizeof(words));
    if (words[0] != magic || words[1] != 0 || words[2] != 20) {
      ++i;
      continue;
    }
    auto module = air::ir::parseModule(ByteView(bytes).subspan(i, 20 + words[3]), compiled->context);
    EXPECT_TRUE(module.has_value()) << (module ? "" : module.error().describe());
    if (module)
      compiled->modules.push_back(std::move(*module));
    i += 20 + words[3];
  }
  return compiled;
}

inline std::unique_ptr<CompiledSource>
compileForTest(const std::string &source,
               compiler::MathMode mode = compiler::MathMode::Fast) {
  compiler::SourceRequest request;
  request.source = source;
  request.mathMode = mode;
  return compileForTest(request);
}

} // namespace pewter::msl
