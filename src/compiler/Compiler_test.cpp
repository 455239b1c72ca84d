// SPDX-License-Identifier: Apache-2.0
//
// The entry points on input that is not what it should be. LLVM's reader does not survive every
// damaged module; the process does.
#include "compiler/Compiler.h"
#include "air/Metallib.h"
#include <gmock/gmock.h>
#include <random>

namespace pewter::compiler {
namespace {

using ::testing::HasSubstr;

/// The module of one kernel that has something of everything: a loop, memory, calls, metadata.
Bytes moduleOfAKernel() {
  SourceRequest request;
  request.source = R"(
#include <metal_stdlib>
using namespace metal;
struct Shape { uint rows; float scale; };
kernel void sums(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
                 constant Shape &shape [[buffer(2)]], threadgroup float *part [[threadgroup(0)]],
                 uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
  float sum = 0;
  for (uint i = t; i < shape.rows; i += 32)
    sum += exp(in[g * shape.rows + i]) * shape.scale;
  part[t] = simd_sum(sum);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t == 0)
    out[g] = part[0];
}
)";
  auto image = pewterCompilerEntryPoints()->compileSource(request);
  EXPECT_TRUE(image.has_value()) << image.error().message();
  auto library = air::readMetallib(image->metallib);
  EXPECT_TRUE(library.has_value());
  return {library->functions[0].module.begin(), library->functions[0].module.end()};
}

TEST(CompilerEntryPoints, DamagedModulesGiveErrors) {
  const EntryPoints &compiler = *pewterCompilerEntryPoints();
  const Bytes module = moduleOfAKernel();
  std::mt19937 random(20261130);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    Bytes damaged = module;
    for (uint32_t changes = 1 + random() % 4; changes > 0; --changes)
      damaged[random() % damaged.size()] = std::byte(random());
    if (round % 5 == 0)
      damaged.resize(random() % damaged.size());
    auto described = compiler.describeModule(damaged);
    if (!described) {
      EXPECT_FALSE(described.error().message().empty());
      ++refused;
      continue;
    }
    KernelRequest request;
    request.module = damaged;
    request.function = "sums";
    if (auto image = compiler.compileKernel(request); !image) {
      EXPECT_FALSE(image.error().message().empty());
    }
  }
  EXPECT_GT(refused, 50);
  // The compiler still works.
  KernelRequest request;
  request.module = module;
  request.function = "sums";
  auto image = compiler.compileKernel(request);
  EXPECT_TRUE(image.has_value()) << image.error().message();
}

} // namespace
} // namespace pewter::compiler
