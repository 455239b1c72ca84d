// SPDX-License-Identifier: Apache-2.0
//
// Every kernel of Apple-built libraries makes a pipeline on the widest instruction set of this
// machine, at two settings of its function constants. The newest library has its own test, which
// also runs its kernels (tests/kernels/ggml).
#include "CompileLibrary.h"
#include "Peers.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace pewter {
namespace {

void expectEveryKernelCompiles(const std::filesystem::path &path, size_t kernels) {
  auto bytes = readFile(path);
  ASSERT_TRUE(bytes.has_value());
  auto library = air::readMetallib(*bytes);
  ASSERT_TRUE(library.has_value()) << library.error().describe();
  ASSERT_EQ(library->functions.size(), kernels);
  const auto results =
      testing::compileLibrary(*pewterCompilerEntryPoints(), *library, testing::bestCpuTarget());
  for (size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(results[i].problem, "") << library->functions[i].name;
  fmt::print("{}\n", testing::summaryOf(results, *library));
}

TEST(CompileCorpus, OldLlama) {
  PEWTER_NEEDS_PEER(testing::kOldLlamaLibrary);
  expectEveryKernelCompiles(testing::kOldLlamaLibrary, 354);
}

TEST(CompileCorpus, Whisper) {
  PEWTER_NEEDS_PEER(testing::kWhisperLibrary);
  expectEveryKernelCompiles(testing::kWhisperLibrary, 385);
}

} // namespace
} // namespace pewter
