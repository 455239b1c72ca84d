// SPDX-License-Identifier: Apache-2.0
//
// Target: from an LLVM module to machine code that needs no linking. One call does everything that
// depends on the instruction set:
//
//   retarget(module, kind)           before optimisation: triple, data layout, function attributes
//   createTargetMachine(kind)        for passes that ask for costs (TargetTransformInfo)
//   generateCode(module, kind, ...)  lowers what the target lacks, emits, flattens into one blob
//
// Strict code gives the same bits for every kind: only operations that carry `contract` fuse, and
// what a target lacks (fused multiply-add, half conversions, bfloat rounding) is lowered to integer
// and float arithmetic with the same result (LowerArithmetic.h).
//
// Not for optimisation: the caller has run its passes. Modules are consumed: lowering changes them.
// Any thread, one LLVMContext per thread.
#pragma once
#include "base/Bytes.h"
#include "base/Error.h"
#include "compiler/Compiler.h"
#include <llvm/IR/Module.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Target/TargetMachine.h>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace pewter::cpu::codegen {

/// The machine that code of `kind` is made for. CpuOracle is the host's architecture. Ptx is an
/// error.
Result<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(compiler::TargetKind kind,
                    llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default);

/// Width in bits of the vector registers that code of `kind` uses.
uint32_t vectorBits(compiler::TargetKind kind);

/// Gives the module the triple and data layout of `machine`, after a check that every type it uses
/// has the same size and field offsets under both layouts, and every function the attributes of
/// `kind`.
Result<void> retarget(llvm::Module &module, const llvm::TargetMachine &machine,
                      compiler::TargetKind kind);

struct CodeBlob {
  Bytes code;                              ///< Machine code, then its read-only data.
  uint32_t alignment = 64;                 ///< Of the first byte, when mapped.
  std::map<std::string, uint64_t> entries; ///< Offset of each entry that was asked for.
  uint32_t stackBytes = 0;                 ///< Upper bound over all entries.
};

/// Machine code for `entries` and what they reach. Errors name the symbol or the section that keeps
/// the code from standing alone.
Result<CodeBlob> generateCode(llvm::Module &module, compiler::TargetKind kind,
                              std::span<const std::string> entries,
                              llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default);

/// The same code as assembly text, and as a relocatable ELF object.
Result<std::string> generateAssembly(llvm::Module &module, compiler::TargetKind kind,
                                     llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default);
Result<Bytes> generateObject(llvm::Module &module, compiler::TargetKind kind,
                             llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default);

} // namespace pewter::cpu::codegen
