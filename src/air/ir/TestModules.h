// SPDX-License-Identifier: Apache-2.0
//
// AIR modules as text, for the unit tests of this folder and of the code generators.
#pragma once
#include "air/ir/AirModule.h"
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>
#include <string>

namespace pewter::air::ir::testing {

/// Parses IR text, with the AIR data layout and triple put in front.
inline std::unique_ptr<llvm::Module> parseAir(llvm::LLVMContext &context, const std::string &text) {
  llvm::SMDiagnostic problem;
  auto module =
      llvm::parseAssemblyString("target datalayout = \"" + std::string(kDataLayout) +
                                    "\"\ntarget triple = \"air64-apple-macosx15.0.0\"\n" + text,
                                problem, context);
  if (!module)
    problem.print("test", llvm::errs());
  return module;
}

/// A kernel with a required constant (index 0, float) and one with a default (index 7, int = 4): it
/// multiplies each element `steps` times by `scale`.
inline const std::string kIterate = R"(
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @init, ptr null }]
@scale = internal addrspace(2) global float undef, align 4
@scale.MTL_FC_INIT_0_f = internal addrspace(2) externally_initialized constant float undef, section "air.fc_initializer", align 4
@steps = internal addrspace(2) global i32 undef, align 4
@steps.MTL_FC_INIT_7_i = internal addrspace(2) externally_initialized constant i32 undef, section "air.fc_initializer", align 4
define internal void @init() section "air.static_init" {
  %1 = load float, ptr addrspace(2) @scale.MTL_FC_INIT_0_f, align 4
  store float %1, ptr addrspace(2) @scale, align 4
  %2 = tail call i1 @air.is_function_constant_defined(ptr addrspace(2) @steps.MTL_FC_INIT_7_i)
  %3 = load i32, ptr addrspace(2) @steps.MTL_FC_INIT_7_i, align 4
  %4 = select i1 %2, i32 %3, i32 4
  store i32 %4, ptr addrspace(2) @steps, align 4
  ret void
}
define weak_odr void @iterate(ptr addrspace(1) noundef "air-buffer-no-alias" %buf, i32 noundef %gid) {
  %i = zext i32 %gid to i64
  %p = getelementptr inbounds float, ptr addrspace(1) %buf, i64 %i
  %v0 = load float, ptr addrspace(1) %p, align 4
  %n = load i32, ptr addrspace(2) @steps, align 4
  %k = load float, ptr addrspace(2) @scale, align 4
  %any = icmp sgt i32 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %j = phi i32 [ 0, %0 ], [ %j1, %loop ]
  %v = phi float [ %v0, %0 ], [ %v1, %loop ]
  %v1 = fmul fast float %v, %k
  %j1 = add nuw nsw i32 %j, 1
  %more = icmp slt i32 %j1, %n
  br i1 %more, label %loop, label %done
done:
  %r = phi float [ %v0, %0 ], [ %v1, %loop ]
  store float %r, ptr addrspace(1) %p, align 4
  ret void
}
declare i1 @air.is_function_constant_defined(ptr addrspace(2))
!air.kernel = !{!0}
!air.function_constants = !{!5, !6}
!0 = !{ptr @iterate, !1, !2}
!1 = !{}
!2 = !{!3, !4}
!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"buf"}
!4 = !{i32 1, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"gid"}
!5 = !{ptr addrspace(2) @scale.MTL_FC_INIT_0_f, !"float", !"scale", i32 0, i1 true}
!6 = !{ptr addrspace(2) @steps.MTL_FC_INIT_7_i, !"int", !"steps", i32 7, i1 true}
)";

} // namespace pewter::air::ir::testing
