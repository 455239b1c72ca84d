// SPDX-License-Identifier: Apache-2.0
#include "cpu/CodeMemory.h"
#include "cpu/TargetChoice.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace pewter::cpu {
namespace {

TEST(CodeMemory, RunsAndIsNeverWritable) {
#if defined(__x86_64__)
  const unsigned char code[] = {0x90, 0x8d, 0x47, 0x01, 0xc3}; // nop; lea eax, [rdi + 1]; ret
#else
  const uint32_t code[] = {0xd503201f, 0x11000400, 0xd65f03c0}; // nop; add w0, w0, #1; ret
#endif
  auto memory = CodeMemory::load(std::as_bytes(std::span(code)));
  ASSERT_TRUE(memory);
#if defined(__x86_64__)
  EXPECT_EQ(memory->at<int (*)(int)>(1)(41), 42);
#endif
  std::ifstream maps("/proc/self/maps");
  std::string address = fmt::format("{:x}-", reinterpret_cast<uint64_t>(memory->address()));
  bool found = false;
  for (std::string line; std::getline(maps, line);)
    if (line.starts_with(address)) {
      found = true;
      EXPECT_NE(line.find(" r-xp "), std::string::npos) << line;
    }
  EXPECT_TRUE(found);
  CodeMemory moved = std::move(*memory);
  EXPECT_EQ(memory->address(), nullptr);
  EXPECT_NE(moved.address(), nullptr);
}

TEST(TargetChoice, IsSomethingThatRuns) {
  EXPECT_TRUE(canRun(chooseTarget()));
  EXPECT_FALSE(canRun(compiler::TargetKind::Ptx));
  EXPECT_FALSE(processorName().empty());
}

} // namespace
} // namespace pewter::cpu
