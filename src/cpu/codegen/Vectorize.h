// SPDX-License-Identifier: Apache-2.0
//
// Whole-function vectorisation: a canonical kernel (air/ir/Canonicalize.h), written for one lane,
// becomes code that runs all lanes of a SIMD group at once, one vector element a lane. The order of
// the steps and the reasons for it: Vectorize.cpp.
//
//   auto canonical = air::ir::canonicalize(std::move(module), name, constants);
//   auto kernel = vectorize(std::move(*canonical), {.shape = request.shape}, *targetMachine);
//
// Which bits come out is a function of the kernel alone, not of the target or of merging:
//   * an instruction is fused or reassociated only as its own flags allow;
//   * simd_sum and simd_product of floats add lane l and lane l + 16, then 8, 4, 2, 1; lanes that are
//     not active count as -0.0 (sum) or 1.0 (product); half and bfloat are widened to float, reduced
//     and rounded once;
//   * simd_min and simd_max are minnum and maxnum in the same tree;
//   * inclusive prefix operations combine lane l with lane l - d for d = 1, 2, 4, 8, 16; exclusive
//     ones are the inclusive ones moved up by one lane, sums of floats with 0.0 added;
//   * simdgroup_multiply_accumulate starts from C in float and does fma(A[r][k], B[k][c], sum) for
//     k = 0 .. 7, then rounds once to the type of D;
//   * when lanes store different values to one address, the highest active lane wins.
#pragma once
#include "air/ir/Canonicalize.h"
#include "base/Error.h"
#include "compiler/Compiler.h"
#include "cpu/codegen/target/GeneratedKernel.h"
#include <string>

namespace llvm {
class TargetMachine;
}

namespace pewter::cpu::codegen {

struct VectorizeOptions {
  compiler::TargetKind target = compiler::TargetKind::CpuAvx2;
  compiler::ThreadgroupShape shape;
  bool optimize = true;      ///< Off leaves the IR as emitted, for tests of single passes.
  bool fastCopies = true;    ///< Off leaves out the all-lanes copies of divergent regions (tests).
};

/// Turns `kernel` into vector code. An instruction that has no vector form takes a slower path; an
/// error names the kernel and what stands in the way.
Result<GeneratedKernel> vectorize(air::ir::CanonicalKernel kernel, const VectorizeOptions &options,
                                  llvm::TargetMachine &machine);

/// For people: each value of the kernel with its shape, each block with its mask state, and how each
/// memory access is done.
Result<std::string> shapeReport(air::ir::CanonicalKernel kernel, const VectorizeOptions &options);

} // namespace pewter::cpu::codegen
