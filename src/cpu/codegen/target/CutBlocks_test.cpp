// SPDX-License-Identifier: Apache-2.0
#include "cpu/codegen/target/CutBlocks.h"
#include "cpu/codegen/target/RunBlob_testing.h"
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Verifier.h>

namespace pewter::cpu::codegen {
namespace {

/// Runs of `length` operations, each of which needs two of its run; what a run gives is stored. Before the last run
/// a variable may be made.
std::string runs(unsigned count, unsigned length, bool makesVariable) {
  std::string text = "define void @k(ptr %out, i32 %x) {\n";
  for (unsigned run = 0; run < count; ++run) {
    if (makesVariable && run + 1 == count)
      text += "  %variable = alloca i32\n";
    const std::string name = "%v" + std::to_string(run) + "_";
    text += "  " + name + "0 = add i32 %x, " + std::to_string(run) + "\n";
    for (unsigned i = 1; i < length; ++i)
      text += "  " + name + std::to_string(i) + " = mul i32 " + name + std::to_string(i - 1) + ", " + name +
              std::to_string(i / 2) + "\n";
    text += "  store i32 " + name + std::to_string(length - 1) + ", ptr %out\n";
  }
  return text + "  ret void\n}\n";
}

std::vector<size_t> sizesAfter(const std::string &text, unsigned longest, unsigned length) {
  llvm::LLVMContext context;
  auto module = parseText(text.c_str(), context);
  if (!module)
    return {};
  llvm::Function &function = *module->getFunction("k");
  size_t before = function.getEntryBlock().size();
  const bool isChanged = cutBlocks(function, longest, length);
  EXPECT_EQ(isChanged, function.size() > 1);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  std::vector<size_t> sizes;
  size_t after = 0;
  for (llvm::BasicBlock &block : function) {
    sizes.push_back(block.size());
    after += block.size() - (block.getNextNode() != nullptr); // The branch to the next one.
    if (&block != &function.getEntryBlock()) {
      for (llvm::Instruction &instruction : block)
        EXPECT_FALSE(llvm::isa<llvm::AllocaInst>(instruction));
    }
  }
  EXPECT_EQ(after, before);
  return sizes;
}

TEST(CutBlocks, CutsWhereNothingCrosses) {
  // A run has 31 instructions; from 50 to 99 behind the last cut there is one end of a run or there are two.
  std::vector<size_t> sizes = sizesAfter(runs(12, 30, false), 200, 50);
  ASSERT_GT(sizes.size(), 3u);
  for (size_t i = 0; i + 1 < sizes.size(); ++i)
    EXPECT_EQ((sizes[i] - 1) % 31, 0u) << "part " << i;
}

TEST(CutBlocks, LeavesShortBlocksAlone) {
  EXPECT_EQ(sizesAfter(runs(12, 30, false), 400, 50).size(), 1u);
}

TEST(CutBlocks, VariablesStayInTheEntry) {
  std::vector<size_t> sizes = sizesAfter(runs(3, 200, true), 200, 50);
  ASSERT_GT(sizes.size(), 1u);
  EXPECT_GT(sizes[0], 402u);
}

} // namespace
} // namespace pewter::cpu::codegen
