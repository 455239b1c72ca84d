; RUN: pewter-opt -passes=specialize-constants -constant=1=7 -constant=2=2 %s | FileCheck %s
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; A bool that was set to anything but 0 is exactly 1; a vector takes all its components.
; CHECK: @v.MTL_FC_INIT_1_Dv3_s = internal addrspace(2) constant <3 x i16> splat (i16 7)
; CHECK: @b.MTL_FC_INIT_2_b = internal addrspace(2) constant i8 1
@v.MTL_FC_INIT_1_Dv3_s = internal addrspace(2) externally_initialized constant <3 x i16> undef, section "air.fc_initializer"
@b.MTL_FC_INIT_2_b = internal addrspace(2) externally_initialized constant i8 undef, section "air.fc_initializer"
define void @k() { ret void }
!air.kernel = !{!0}
!air.function_constants = !{!2, !3}
!0 = !{ptr @k, !1, !1}
!1 = !{}
!2 = !{ptr addrspace(2) @v.MTL_FC_INIT_1_Dv3_s, !"short3", !"v", i32 1}
!3 = !{ptr addrspace(2) @b.MTL_FC_INIT_2_b, !"bool", !"b", i32 2}
