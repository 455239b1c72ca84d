; RUN: pewter-opt -passes=extract-kernel -kernel=first %s | FileCheck %s --check-prefix=FIRST
; RUN: pewter-opt -passes=extract-kernel -kernel=second %s | FileCheck %s --check-prefix=SECOND
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; FIRST: @n = internal addrspace(2) global
; FIRST-NOT: @m = internal addrspace(2) global
; FIRST-NOT: @other
; SECOND-NOT: @n =
; SECOND: @m = internal addrspace(2) global
; SECOND: @other = internal addrspace(2) constant
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @init, ptr null }]
@n = internal addrspace(2) global i32 undef
@n.MTL_FC_INIT_0_i = internal addrspace(2) externally_initialized constant i32 undef, section "air.fc_initializer"
@m = internal addrspace(2) global i32 undef
@m.MTL_FC_INIT_1_i = internal addrspace(2) externally_initialized constant i32 undef, section "air.fc_initializer"
@other = internal addrspace(2) constant i32 5

define internal void @init() {
  %a = load i32, ptr addrspace(2) @n.MTL_FC_INIT_0_i
  store i32 %a, ptr addrspace(2) @n
  %b = load i32, ptr addrspace(2) @m.MTL_FC_INIT_1_i
  %c = add i32 %b, 1
  store i32 %c, ptr addrspace(2) @m
  ret void
}

; FIRST: define void @first
; FIRST-NOT: define void @second
; SECOND-NOT: define weak_odr void @first
; SECOND: define void @second
define weak_odr void @first(ptr addrspace(1) %out) {
  %v = load i32, ptr addrspace(2) @n
  store i32 %v, ptr addrspace(1) %out
  ret void
}
define void @second(ptr addrspace(1) %out) {
  %v = load i32, ptr addrspace(2) @m
  %w = load i32, ptr addrspace(2) @other
  %s = add i32 %v, %w
  store i32 %s, ptr addrspace(1) %out
  ret void
}

; FIRST: !air.kernel = !{[[K:![0-9]+]]}
; FIRST: !air.function_constants = !{[[C:![0-9]+]]}
; FIRST: [[K]] = !{ptr @first
; FIRST: [[C]] = !{ptr addrspace(2) @n.MTL_FC_INIT_0_i
!air.kernel = !{!0, !4}
!air.function_constants = !{!5, !6}
!0 = !{ptr @first, !1, !2}
!1 = !{}
!2 = !{!3}
!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_name", !"int", !"air.arg_name", !"out"}
!4 = !{ptr @second, !1, !2}
!5 = !{ptr addrspace(2) @n.MTL_FC_INIT_0_i, !"int", !"n", i32 0}
!6 = !{ptr addrspace(2) @m.MTL_FC_INIT_1_i, !"int", !"m", i32 1}
