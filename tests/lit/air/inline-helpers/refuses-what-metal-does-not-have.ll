; RUN: sed -e 's/BODY/call void @self()/' %s > %t.ll
; RUN: not pewter-opt -passes=inline-helpers %t.ll 2>&1 | FileCheck %s --check-prefix=SELF
; RUN: sed -e 's/BODY/call void @missing()/' %s > %t.ll
; RUN: not pewter-opt -passes=inline-helpers %t.ll 2>&1 | FileCheck %s --check-prefix=MISSING

; SELF: Function "self" calls itself, directly or through others.
; MISSING: Function "k" calls the undefined function "missing".
define void @k(ptr %f) {
  BODY
  ret void
}
define internal void @self() {
  call void @self()
  ret void
}
declare void @missing()
