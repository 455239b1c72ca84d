// SPDX-License-Identifier: Apache-2.0
//
// LoadedBlob: IR text to machine code that tests of this folder can call.
#pragma once
#include "cpu/codegen/target/Target.h"
#include <cstring>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>
#include <sys/mman.h>

namespace pewter::cpu::codegen {

inline bool canRun(compiler::TargetKind kind) {
#if defined(__x86_64__)
  switch (kind) {
  case compiler::TargetKind::CpuAvx512Vnni:
    return __builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512vnni");
  case compiler::TargetKind::CpuAvx512:
    return __builtin_cpu_supports("x86-64-v4");
  case compiler::TargetKind::CpuAvx2:
  case compiler::TargetKind::CpuOracle:
    return __builtin_cpu_supports("x86-64-v3");
  case compiler::TargetKind::CpuBaseline:
    return __builtin_cpu_supports("x86-64-v2");
  default:
    return false;
  }
#else
  return kind == compiler::TargetKind::CpuNeon || kind == compiler::TargetKind::CpuOracle;
#endif
}

inline std::unique_ptr<llvm::Module> parseText(const char *text, llvm::LLVMContext &context) {
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(text, diagnostic, context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str() << " at line " << diagnostic.getLineNo();
  return module;
}

class LoadedBlob {
public:
  static Result<std::unique_ptr<LoadedBlob>> fromText(const char *text, compiler::TargetKind kind,
                                                      std::vector<std::string> entries) {
    llvm::LLVMContext context;
    auto module = parseText(text, context);
    PEWTER_TRY(CodeBlob blob, generateCode(*module, kind, entries));
    return std::unique_ptr<LoadedBlob>(new LoadedBlob(std::move(blob)));
  }
  ~LoadedBlob() { munmap(memory_, blob_.code.size()); }

  const CodeBlob &blob() const { return blob_; }
  void *entry(const std::string &name) const {
    return static_cast<std::byte *>(memory_) + blob_.entries.at(name);
  }

private:
  explicit LoadedBlob(CodeBlob blob) : blob_(std::move(blob)) {
    memory_ = mmap(nullptr, blob_.code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    std::memcpy(memory_, blob_.code.data(), blob_.code.size());
    mprotect(memory_, blob_.code.size(), PROT_READ | PROT_EXEC);
  }
  CodeBlob blob_;
  void *memory_;
};

} // namespace pewter::cpu::codegen
