; RUN: pewter-opt -passes=specialize-constants -constant=0=2.5 -constant=7=3 %s | FileCheck %s --check-prefixes=CHECK,SET
; RUN: pewter-opt -passes=specialize-constants -constant=0=2.5 %s | FileCheck %s --check-prefixes=CHECK,UNSET
; RUN: not pewter-opt -passes=specialize-constants %s 2>&1 | FileCheck %s --check-prefix=MISSING
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; MISSING: Function constant "scale" (index 0, type "float") of kernel "k" is not set.
; CHECK-NOT: llvm.global_ctors
; CHECK: @scale = internal addrspace(2) constant float 2.500000e+00
; SET: @steps = internal addrspace(2) constant i32 3
; UNSET: @steps = internal addrspace(2) constant i32 4
; CHECK-NOT: define internal void @init
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @init, ptr null }]
@scale = internal addrspace(2) global float undef
@scale.MTL_FC_INIT_0_f = internal addrspace(2) externally_initialized constant float undef, section "air.fc_initializer"
@steps = internal addrspace(2) global i32 undef
@steps.MTL_FC_INIT_7_i = internal addrspace(2) externally_initialized constant i32 undef, section "air.fc_initializer"
define internal void @init() {
  %1 = load float, ptr addrspace(2) @scale.MTL_FC_INIT_0_f
  store float %1, ptr addrspace(2) @scale
  %2 = call i1 @air.is_function_constant_defined(ptr addrspace(2) @steps.MTL_FC_INIT_7_i)
  br i1 %2, label %set, label %unset
set:
  %3 = load i32, ptr addrspace(2) @steps.MTL_FC_INIT_7_i
  br label %done
unset:
  br label %done
done:
  %4 = phi i32 [ %3, %set ], [ 4, %unset ]
  store i32 %4, ptr addrspace(2) @steps
  ret void
}
define void @k(ptr addrspace(1) %out) {
  %s = load float, ptr addrspace(2) @scale
  %n = load i32, ptr addrspace(2) @steps
  store float %s, ptr addrspace(1) %out
  store i32 %n, ptr addrspace(1) %out
  ret void
}
declare i1 @air.is_function_constant_defined(ptr addrspace(2))
!air.kernel = !{!0}
!air.function_constants = !{!5, !6}
!0 = !{ptr @k, !1, !2}
!1 = !{}
!2 = !{!3}
!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_name", !"int", !"air.arg_name", !"out"}
!5 = !{ptr addrspace(2) @scale.MTL_FC_INIT_0_f, !"float", !"scale", i32 0, i1 true}
!6 = !{ptr addrspace(2) @steps.MTL_FC_INIT_7_i, !"int", !"steps", i32 7, i1 true}
