// SPDX-License-Identifier: Apache-2.0
#include "cpu/codegen/analysis/LoadGroups.h"
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

namespace pewter::cpu::codegen {
namespace {

/// The groups of a block in which %at is p + 34 * lane, as "[begin, end) of members".
std::string groupsOf(const std::string &body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(
      "declare void @llvm.prefetch.p1(ptr addrspace(1), i32, i32, i32)\n"
      "define void @k(ptr addrspace(1) %p, i32 %lane) {\nentry:\n"
      "  %wide = zext i32 %lane to i64\n  %bytes = mul i64 %wide, 34\n"
      "  %at = getelementptr i8, ptr addrspace(1) %p, i64 %bytes\n" + body + "  ret void\n}\n",
      diagnostic, context);
  if (!module)
    return diagnostic.getMessage().str();
  llvm::Function &function = *module->getFunction("k");
  air::KernelReflection reflection;
  air::Argument buffer, lane;
  buffer.parameter = 0;
  buffer.kind = air::ArgumentKind::Buffer;
  lane.parameter = 1;
  lane.kind = air::ArgumentKind::Builtin;
  lane.builtin = air::Builtin::ThreadIndexInSimdgroup;
  reflection.arguments = {buffer, lane};
  LaneModel model;
  PatternPool pool(model.lanes);
  Uniformity uniformity(function, reflection, model, pool);
  std::string text;
  for (const LoadGroup &group : findLoadGroups(function.getEntryBlock(), uniformity))
    text += "[" + std::to_string(group.begin) + ", " + std::to_string(group.end) + ") of " +
            std::to_string(group.members.size()) + "; ";
  return text;
}

std::string loadAt(const std::string &name, int offset, const std::string &type) {
  return "  %p" + name + " = getelementptr i8, ptr addrspace(1) %at, i64 " + std::to_string(offset) +
         "\n  %" + name + " = load " + type + ", ptr addrspace(1) %p" + name + ", align 1\n";
}

TEST(LoadGroups, NeighbouringBytesAreOneGroup) {
  EXPECT_EQ(groupsOf(loadAt("a", 2, "i8") + loadAt("b", 3, "i8") + loadAt("c", 8, "i32")),
            "[2, 12) of 3; ");
}

TEST(LoadGroups, AStoreEndsAGroup) {
  EXPECT_EQ(groupsOf(loadAt("a", 0, "i32") + loadAt("b", 4, "i32") +
                     "  store i32 1, ptr addrspace(1) %p\n" + loadAt("c", 8, "i32") +
                     loadAt("d", 12, "i32")),
            "[0, 8) of 2; [8, 16) of 2; ");
}

TEST(LoadGroups, APrefetchDoesNot) {
  EXPECT_EQ(groupsOf(loadAt("a", 0, "i32") +
                     "  call void @llvm.prefetch.p1(ptr addrspace(1) %p, i32 0, i32 3, i32 1)\n" +
                     loadAt("b", 4, "i32")),
            "[0, 8) of 2; ");
}

TEST(LoadGroups, FarBytesAreApart) {
  EXPECT_EQ(groupsOf(loadAt("a", 0, "i16") + loadAt("b", 2, "i16") + loadAt("c", 64, "i16") +
                     loadAt("d", 66, "i16")),
            "[0, 4) of 2; [64, 68) of 2; ");
}

} // namespace
} // namespace pewter::cpu::codegen
