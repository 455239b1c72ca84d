// SPDX-License-Identifier: Apache-2.0
//
// The functions that LLVM's code generator may call without being asked, written in IR and compiled
// for the target at their first use. Plain byte loops: constant-length copies are expanded long
// before, so what comes here is rare.
//
// Tested by Target_test.cpp.
#include "cpu/codegen/target/LinkBlob.h"
#include <array>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>
#include <mutex>
#include <optional>

namespace pewter::cpu::codegen {
namespace {

constexpr const char *kSupport = R"(
define ptr @memcpy(ptr %to, ptr %from, i64 %size) #0 {
entry:
  %empty = icmp eq i64 %size, 0
  br i1 %empty, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %source = getelementptr i8, ptr %from, i64 %i
  %target = getelementptr i8, ptr %to, i64 %i
  %byte = load i8, ptr %source
  store i8 %byte, ptr %target
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %size
  br i1 %more, label %loop, label %done
done:
  ret ptr %to
}
define ptr @memmove(ptr %to, ptr %from, i64 %size) #0 {
entry:
  %empty = icmp eq i64 %size, 0
  br i1 %empty, label %done, label %choose
choose:
  %forward = icmp ult ptr %to, %from
  br i1 %forward, label %up, label %down
up:
  %i = phi i64 [ 0, %choose ], [ %i.next, %up ]
  %up.source = getelementptr i8, ptr %from, i64 %i
  %up.target = getelementptr i8, ptr %to, i64 %i
  %up.byte = load i8, ptr %up.source
  store i8 %up.byte, ptr %up.target
  %i.next = add i64 %i, 1
  %up.more = icmp ult i64 %i.next, %size
  br i1 %up.more, label %up, label %done
down:
  %left = phi i64 [ %size, %choose ], [ %j, %down ]
  %j = sub i64 %left, 1
  %down.source = getelementptr i8, ptr %from, i64 %j
  %down.target = getelementptr i8, ptr %to, i64 %j
  %down.byte = load i8, ptr %down.source
  store i8 %down.byte, ptr %down.target
  %down.more = icmp ne i64 %j, 0
  br i1 %down.more, label %down, label %done
done:
  ret ptr %to
}
define ptr @memset(ptr %to, i32 %value, i64 %size) #0 {
entry:
  %byte = trunc i32 %value to i8
  %empty = icmp eq i64 %size, 0
  br i1 %empty, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %target = getelementptr i8, ptr %to, i64 %i
  store i8 %byte, ptr %target
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %size
  br i1 %more, label %loop, label %done
done:
  ret ptr %to
}
define float @fmaf(float %a, float %b, float %c) #0 {
  %result = call float @llvm.fma.f32(float %a, float %b, float %c)
  ret float %result
}
define float @__extendhfsf2(half %value) #0 {
  %result = fpext half %value to float
  ret float %result
}
define half @__truncsfhf2(float %value) #0 {
  %result = fptrunc float %value to half
  ret half %result
}
define bfloat @__truncsfbf2(float %value) #0 {
  %result = fptrunc float %value to bfloat
  ret bfloat %result
}
declare float @llvm.fma.f32(float, float, float)
attributes #0 = { nounwind "no-builtins" }
)";

} // namespace

Result<Bytes> supportObject(compiler::TargetKind kind) {
  static std::mutex mutex;
  static std::array<std::optional<Bytes>, size_t(compiler::TargetKind::Ptx)> made;
  std::lock_guard lock(mutex);
  if (size_t(kind) < made.size() && made[size_t(kind)])
    return *made[size_t(kind)];
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(kSupport, diagnostic, context);
  if (!module)
    return fail(ErrorKind::Internal, "The support functions do not parse: {}.",
                diagnostic.getMessage().str());
  PEWTER_TRY(Bytes object, generateObject(*module, kind));
  if (size_t(kind) < made.size())
    made[size_t(kind)] = object;
  return object;
}

} // namespace pewter::cpu::codegen
