// SPDX-License-Identifier: Apache-2.0
//
// Random kernels on every executor, byte for byte the same as on the oracle. PEWTER_FUZZ_SEEDS says
// how many (default: what takes some seconds), PEWTER_FUZZ_FIRST which is the first, and
// PEWTER_FUZZ_STATEMENTS and PEWTER_FUZZ_DEPTH how large they may be. A failure prints the seed and
// the smallest kernel of that seed's family that still fails.
#include "base/Toggles.h"
#include "generator/KernelGenerator.h"
#include <gtest/gtest.h>

namespace pewter::testing {
namespace {

uint64_t numberFrom(const char *variable, uint64_t otherwise) {
  auto text = environment(variable);
  return text ? std::stoull(*text) : otherwise;
}

/// Fewer statements and less nesting, as long as it still fails.
GeneratorOptions reduced(uint64_t seed, const GeneratorOptions &largest) {
  for (uint32_t depth = 0; depth <= largest.maxDepth; ++depth)
    for (uint32_t statements = 1; statements <= largest.maxStatements; ++statements) {
      GeneratorOptions options{.maxStatements = statements, .maxDepth = depth};
      if (!disagreement(generateKernel(seed, options)).empty())
        return options;
    }
  return largest;
}

TEST(GeneratedKernels, AgreeWithTheOracle) {
  uint64_t first = numberFrom("PEWTER_FUZZ_FIRST", 1), count = numberFrom("PEWTER_FUZZ_SEEDS", 8);
  GeneratorOptions largest;
  largest.maxStatements = uint32_t(numberFrom("PEWTER_FUZZ_STATEMENTS", largest.maxStatements));
  largest.maxDepth = uint32_t(numberFrom("PEWTER_FUZZ_DEPTH", largest.maxDepth));
  for (uint64_t seed = first; seed < first + count; ++seed) {
    std::string problem = disagreement(generateKernel(seed, largest));
    if (problem.empty())
      continue;
    GeneratorOptions options = reduced(seed, largest);
    KernelCase smallest = generateKernel(seed, options);
    const Size &grid = smallest.launch.threadsPerGrid,
               &group = smallest.launch.threadsPerThreadgroup;
    ADD_FAILURE() << "seed " << seed << ": " << problem << "\nwith " << options.maxStatements
                  << " statements, depth " << options.maxDepth << ": " << disagreement(smallest)
                  << fmt::format("\ngrid {} {} {}, threadgroup {} {} {}\n", grid[0], grid[1],
                                 grid[2], group[0], group[1], group[2])
                  << textOfKernel(smallest);
  }
}

TEST(GeneratedKernels, TheSameSeedGivesTheSameKernel) {
  KernelCase a = generateKernel(5), b = generateKernel(5), c = generateKernel(6);
  EXPECT_EQ(*a.module, *b.module);
  EXPECT_EQ(a.buffers, b.buffers);
  EXPECT_NE(*a.module, *c.module);
}

} // namespace
} // namespace pewter::testing
