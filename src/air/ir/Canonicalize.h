// SPDX-License-Identifier: Apache-2.0
//
// The canonicaliser: one kernel taken out of an AIR module and brought into the form that back-ends
// compile. The form, which `verifyCanonical` checks:
//
//   * The module holds one function definition: the kernel, external linkage, C convention, void.
//   Its
//     parameters are those of the AIR kernel in the same order; the reflection says what each one
//     is. One `ret`; reducible control flow; no switch; convergent operations where the source had
//     them.
//   * Function constants are literals; static initialisers have run; every helper is inlined. What
//     remains of globals: constants in space 2, threadgroup variables in space 3.
//   * Address spaces as in AIR (0 thread, 1 device, 2 constant, 3 threadgroup); opaque pointers; no
//     address-space casts; the AIR data layout.
//   * No `nnan`/`ninf` flags, no tbaa, alias scopes or noalias. `reassoc contract arcp afn nsz`
//   stay:
//     they are permissions.
//   * Calls left: llvm.* intrinsics on integers and floats that LLVM lowers inline everywhere
//   (fabs,
//     copysign, fma, sqrt, floor, ceil, trunc, rint/roundeven, minnum, maxnum, smin.., usub.sat..,
//     fshl, ctpop, ctlz, cttz, bitreverse, bswap, fptosi.sat, fptoui.sat, memcpy/memset of constant
//     length that could not be expanded), and the calls that only a back-end can do:
//     air.simd_*, air.quad_*, air.wg.barrier, air.simdgroup.barrier, air.simdgroup_matrix_8x8_*,
//     air.atomic.*, air.os_log. Texture calls are inlined from air/ir/texture. Math functions (exp, pow, tanh, ...) are
//     inlined from the one implementation in air/ir/math, branch free, so that a back-end sees only
//     arithmetic and every device computes the same bits.
//   * Integer division is guarded as Metal has it (never traps): x / 0 gives an unspecified value
//     but no fault, INT_MIN / -1 wraps; shifts are masked where the source leaves the amount free.
//
// Steps and their order: Pipeline.cpp. Nothing here knows a target.
#pragma once
#include "air/Reflection.h"
#include "compiler/Compiler.h"
#include <llvm/IR/Module.h>
#include <memory>
#include <span>

namespace pewter::air::ir {

struct CanonicalKernel {
  std::unique_ptr<llvm::Module> module;
  llvm::Function *function = nullptr;
  KernelReflection reflection;
};

/// Parses `bitcode` (with or without wrapper; typed or opaque pointers) into `context`.
Result<std::unique_ptr<llvm::Module>> parseModule(ByteView bitcode, llvm::LLVMContext &context);

/// Every kernel in `!air.kernel`, with the function constants of the module.
Result<std::vector<KernelReflection>> reflectKernels(const llvm::Module &module);

/// Takes `function` out of `module` and brings it into canonical form. Errors name the kernel and
/// the construct: unknown function, missing or mistyped constant, unsupported argument or
/// intrinsic, recursion, an initialiser that cannot be evaluated.
Result<CanonicalKernel> canonicalize(std::unique_ptr<llvm::Module> module,
                                     const std::string &function,
                                     std::span<const compiler::ConstantValue> constants,
                                     std::span<const compiler::LinkedFunction> linkedFunctions = {},
                                     unsigned maxCallStackDepth = 1);

/// The first way in which the kernel is not canonical, or nothing.
Result<void> verifyCanonical(const CanonicalKernel &kernel);

} // namespace pewter::air::ir
