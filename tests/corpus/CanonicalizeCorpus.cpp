// SPDX-License-Identifier: Apache-2.0
// Every kernel of Apple-built libraries comes into canonical form and passes its verifier, with
// constants of two kinds: bools 1 and numbers 4, and everything 1. The times are printed; run with
// --gtest_filter=*Corpus* to see them.
#include "Peers.h"
#include "air/Metallib.h"
#include "air/ir/Canonicalize.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <gtest/gtest.h>
#include <llvm/IR/LLVMContext.h>

namespace pewter {
namespace {

struct CorpusCase {
  const char *name;
  std::filesystem::path path;
  size_t kernels;
  int64_t number; ///< Value of constants that are not bools; bools are 1.
};

class CanonicalizeCorpus : public ::testing::TestWithParam<CorpusCase> {};

Result<void> canonicalizeOne(const air::MetallibFunction &function, int64_t number) {
  llvm::LLVMContext context;
  PEWTER_TRY(std::unique_ptr<llvm::Module> module, air::ir::parseModule(function.module, context));
  std::vector<compiler::ConstantValue> constants;
  for (const air::MetallibConstant &constant : function.constants) {
    compiler::ConstantValue value{constant.index, constant.type, {}};
    const int64_t bits = constant.type == air::DataType::Bool ? 1 : number;
    std::memcpy(value.bytes.data(), &bits, sizeof(bits));
    constants.push_back(value);
  }
  PEWTER_TRY(air::ir::CanonicalKernel kernel,
             air::ir::canonicalize(std::move(module), function.name, constants));
  // The container and the IR list the same constants.
  if (kernel.reflection.constants.size() != function.constants.size())
    return fail(ErrorKind::Internal, "{} constants are reflected, the container lists {}.",
                kernel.reflection.constants.size(), function.constants.size());
  for (const air::MetallibConstant &constant : function.constants) {
    const auto found = std::ranges::find(kernel.reflection.constants, constant.index,
                                         &air::FunctionConstant::index);
    if (found == kernel.reflection.constants.end() || found->name != constant.name ||
        found->type != constant.type)
      return fail(ErrorKind::Internal, "Constant \"{}\" is not reflected as the container has it.",
                  constant.name);
  }
  return air::ir::verifyCanonical(kernel);
}

TEST_P(CanonicalizeCorpus, EveryKernelIsCanonical) {
  const CorpusCase &corpus = GetParam();
  PEWTER_NEEDS_PEER(corpus.path);
  auto bytes = readFile(corpus.path);
  ASSERT_TRUE(bytes.has_value());
  auto library = air::readMetallib(*bytes);
  ASSERT_TRUE(library.has_value()) << library.error().describe();
  ASSERT_EQ(library->functions.size(), corpus.kernels);
  std::vector<double> times;
  size_t done = 0;
  for (const air::MetallibFunction &function : library->functions) {
    const auto start = std::chrono::steady_clock::now();
    auto result = canonicalizeOne(function, corpus.number);
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
    EXPECT_TRUE(result.has_value()) << result.error().describe();
    done += result.has_value();
  }
  EXPECT_EQ(done, corpus.kernels);
  std::ranges::sort(times);
  double sum = 0;
  for (double time : times)
    sum += time;
  fmt::print("{}: {} of {} kernels, {:.1f} ms each (median {:.1f}, p90 {:.1f}, longest {:.1f})\n",
             corpus.name, done, corpus.kernels, sum / times.size(), times[times.size() / 2],
             times[times.size() * 9 / 10], times.back());
}

INSTANTIATE_TEST_SUITE_P(, CanonicalizeCorpus,
                         ::testing::Values(CorpusCase{"LlamaFours", testing::kLlamaLibrary, 574, 4},
                                           CorpusCase{"LlamaOnes", testing::kLlamaLibrary, 574, 1},
                                           CorpusCase{"OldLlama", testing::kOldLlamaLibrary, 354,
                                                      4},
                                           CorpusCase{"Whisper", testing::kWhisperLibrary, 385, 4}),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace pewter
