; RUN: pewter-opt -passes=canonicalize %s | FileCheck %s
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"

; Attention kernels mark masked elements with -infinity, although they are compiled as "fast".
; CHECK-LABEL: define void @k(
; CHECK: fcmp {{.*}}oeq half %{{.*}}, 0xHFC00
define void @k(ptr addrspace(1) %a) {
  %x = load half, ptr addrspace(1) %a
  %masked = fcmp fast oeq half %x, 0xHFC00
  br i1 %masked, label %skip, label %work
work:
  store half 0xH3C00, ptr addrspace(1) %a
  br label %skip
skip:
  ret void
}
!air.kernel = !{!0}
!0 = !{ptr @k, !1, !2}
!1 = !{}
!2 = !{!3}
!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_name", !"half", !"air.arg_name", !"a"}
