// SPDX-License-Identifier: Apache-2.0
//
// The source of a published library compiled by us, compared with what Apple's compiler made of it
// (PeerSource.h, scripts/fetch-peers.sh): the same kernels, arguments and function constants.
#include "PeerSource.h"
#include "air/Metallib.h"
#include "air/ir/Canonicalize.h"
#include "msl/Compile.h"
#include <chrono>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/IR/LLVMContext.h>
#include <map>
#include <sys/resource.h>

namespace pewter {
namespace {

std::map<std::string, air::KernelReflection> reflectLibrary(ByteView bytes) {
  std::map<std::string, air::KernelReflection> kernels;
  auto library = air::readMetallib(bytes);
  EXPECT_TRUE(library.has_value()) << (library ? "" : library.error().describe());
  if (!library)
    return kernels;
  for (const air::MetallibFunction &function : library->functions) {
    EXPECT_TRUE(air::hashMatches(function)) << function.name;
    llvm::LLVMContext context;
    auto module = air::ir::parseModule(function.module, context);
    EXPECT_TRUE(module.has_value()) << function.name;
    if (!module)
      continue;
    auto reflections = air::ir::reflectKernels(**module);
    EXPECT_TRUE(reflections.has_value() && reflections->size() == 1) << function.name;
    if (reflections && reflections->size() == 1)
      kernels[function.name] = reflections->front();
  }
  return kernels;
}

std::string describe(const air::Argument &argument) {
  std::string text = fmt::format(
      "kind {} slot {} space {} access {} builtin {} size {} align {} bound {} type {} name {}",
      int(argument.kind), argument.slot, int(argument.addressSpace), int(argument.access),
      int(argument.builtin), argument.dataSize, argument.dataAlignment, argument.boundSize,
      argument.typeName, argument.name);
  for (const air::StructMember &member : argument.members)
    text += fmt::format(" | {} {} {} {} {}", member.offset, member.size, member.arrayLength,
                        member.typeName, member.name);
  return text;
}

std::string describe(const air::FunctionConstant &constant) {
  return fmt::format("{} {} {}", constant.index, air::nameOf(constant.type), constant.name);
}

void expectTheKernelsOfTheLibrary(const testing::PeerSource &source) {
  const auto built = readFile(testing::kLlamaLibrary);
  ASSERT_TRUE(built.has_value());
  const auto image = msl::compileSource(source.request);
  ASSERT_TRUE(image.has_value()) << image.error().message();
  const auto ours = reflectLibrary(image->metallib);
  const auto theirs = reflectLibrary(*built);
  EXPECT_EQ(theirs.size(), 574u);
  int different = 0;
  for (const auto &[name, expected] : theirs) {
    if (source.changed.contains(name))
      continue;
    const auto found = ours.find(name);
    if (found == ours.end()) {
      ADD_FAILURE() << "missing kernel " << name;
      continue;
    }
    const air::KernelReflection &actual = found->second;
    std::string difference;
    if (actual.arguments.size() != expected.arguments.size())
      difference = "argument count";
    for (size_t i = 0; i < expected.arguments.size() && difference.empty(); ++i)
      if (describe(actual.arguments[i]) != describe(expected.arguments[i]))
        difference = describe(actual.arguments[i]) + "\n  expected " + describe(expected.arguments[i]);
    std::string constants, expectedConstants;
    for (const auto &constant : actual.constants)
      constants += describe(constant) + ", ";
    for (const auto &constant : expected.constants)
      expectedConstants += describe(constant) + ", ";
    if (constants != expectedConstants)
      difference += "\n  constants " + constants + "\n  expected  " + expectedConstants;
    if (actual.maxTotalThreadsPerThreadgroup != expected.maxTotalThreadsPerThreadgroup)
      difference += "\n  thread limit";
    if (!difference.empty() && ++different <= 5)
      ADD_FAILURE() << name << ": " << difference;
  }
  EXPECT_EQ(different, 0);
  for (const auto &[name, kernel] : ours)
    EXPECT_TRUE(theirs.contains(name) || source.added.contains(name))
        << "kernel of ours only: " << name;
  fmt::print("{} kernels agree, {} are known to have another source\n",
             theirs.size() - source.changed.size() - size_t(different), source.changed.size());
}

TEST(MslSource, GivesTheKernelsOfTheAppleBuiltLibrary) {
  PEWTER_NEEDS_PEER(testing::kLlamaLibrary);
  const auto source = testing::exactSourceOfLlamaLibrary();
  if (!source)
    GTEST_SKIP() << "the revision of ggml that the library was built from is not in .cache/peers";
  expectTheKernelsOfTheLibrary(*source);
}

TEST(MslSource, APublishedSourceGivesThemToo) {
  PEWTER_NEEDS_PEER(testing::kLlamaLibrary);
  const auto source = testing::publishedSourceOfLlamaLibrary();
  if (!source)
    GTEST_SKIP() << "llama.rn@0.9.0 is not here; scripts/fetch-peers.sh fetches it.";
  expectTheKernelsOfTheLibrary(*source);
}

TEST(MslSource, CompilesALargerSourceWhole) {
  const auto path = testing::peerPath("llama.rn@0.12.9", "ggml-metal/ggml-metal.metal");
  PEWTER_NEEDS_PEER(path);
  const auto source = readFile(path);
  ASSERT_TRUE(source.has_value());
  const auto folder = path.parent_path();
  compiler::SourceRequest request;
  request.source = textOf(*source);
  request.includeDirectories = {folder, folder.parent_path()};
  const auto start = std::chrono::steady_clock::now();
  const auto image = msl::compileSource(request);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(image.has_value()) << image.error().message();
  EXPECT_EQ(image->diagnostics, "");
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  RecordProperty("seconds", fmt::format("{:.2f}", took.count()));
  RecordProperty("peakMegabytes", fmt::format("{}", usage.ru_maxrss / 1024));
}

} // namespace
} // namespace pewter
