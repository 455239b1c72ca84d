// SPDX-License-Identifier: Apache-2.0
//
// linkBlob: the part of a linker that a kernel needs. Takes the sections of a relocatable ELF
// object that the entries reach, lays code before read-only data in one blob, and applies
// relocations that are relative to the place they stand in. What would need a loader is an error
// that names the symbol or section: absolute addresses, tables of the loader (GOT, PLT, TLS),
// writable data, symbols that are defined nowhere. The few functions that LLVM's code generator
// calls on its own account (memcpy, memmove, memset, conversions that LowerArithmetic was not asked
// about) are added when they are used.
//
// Values; any thread.
#pragma once
#include "cpu/codegen/target/Target.h"

namespace pewter::cpu::codegen {

Result<CodeBlob> linkBlob(ByteView object, compiler::TargetKind kind,
                          std::span<const std::string> entries);

/// The object that holds the functions named above, made for `kind`.
Result<Bytes> supportObject(compiler::TargetKind kind);

} // namespace pewter::cpu::codegen
