; RUN: not pewter-opt -passes=extract-kernel -kernel=none %s 2>&1 | FileCheck %s
; CHECK: none is named "none"
define void @k() { ret void }
!air.kernel = !{!0}
!0 = !{ptr @k, !1, !1}
!1 = !{}
