// SPDX-License-Identifier: Apache-2.0
//
// Every kernel of the Apple-built library makes a pipeline, at two settings of its function
// constants.
#include "CompileLibrary.h"
#include "Peers.h"
#include "device/CompilerLibrary.h"
#include "ggml/GgmlHarness.h"
#include <gtest/gtest.h>

namespace pewter::testing {
namespace {

TEST(GgmlLibrary, EveryKernelCompiles) {
  PEWTER_NEEDS_PEER(kLlamaLibrary);
  auto points = device::compilerLibrary();
  ASSERT_TRUE(points) << points.error().describe();
  auto bytes = readFile(kLlamaLibrary);
  ASSERT_TRUE(bytes);
  auto library = air::readMetallib(*bytes);
  ASSERT_TRUE(library) << library.error().describe();
  ASSERT_EQ(library->functions.size(), 574u);
  for (Executor executor : familyExecutors()) {
    const auto results = compileLibrary(**points, *library, targetOf(executor));
    for (size_t i = 0; i < results.size(); ++i) {
      const std::string &kernel = library->functions[i].name;
      EXPECT_EQ(results[i].problem, "") << kernel << " for " << nameOf(executor);
      if (results[i].problem.empty())
        recordCompiled(kernel);
    }
    fmt::print("{}\n", summaryOf(results, *library));
  }
}

} // namespace
} // namespace pewter::testing
