// SPDX-License-Identifier: Apache-2.0
//
// The whole way of a canonical kernel on the CPU: vector form or oracle, then machine code in an
// image. What compiler/ calls for every CPU target. Any thread.
#pragma once
#include "air/ir/Canonicalize.h"
#include "compiler/Compiler.h"
#include "cpu/abi/KernelImage.h"

namespace pewter::cpu::codegen {

Result<cpu::KernelImage> compileKernel(air::ir::CanonicalKernel kernel,
                                       const compiler::KernelRequest &request);

/// VectorIr, Assembly, Object or ShapeReport of the same kernel.
Result<Bytes> emit(air::ir::CanonicalKernel kernel, const compiler::KernelRequest &request,
                   compiler::EmitKind kind);

} // namespace pewter::cpu::codegen
