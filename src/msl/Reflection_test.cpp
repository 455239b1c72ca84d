// SPDX-License-Identifier: Apache-2.0
#include "msl/TestCompile.h"

namespace pewter::msl {
namespace {

using air::ArgumentKind;
using air::Builtin;

TEST(Reflection, DescribesBuffersAndStructs) {
  const auto compiled = compileForTest(R"(#include <metal_stdlib>
using namespace metal;
struct Params { uint n; float eps; float3 tint; ushort4 q[3]; packed_float3 p; };
kernel void k(constant Params &params, device const char *bytes, device void *raw [[buffer(5)]],
              threadgroup half4 *shared, device atomic_uint *count, uint2 g [[threads_per_grid]]) {
  if (g.x < params.n) *(device float *)raw = params.eps + bytes[0];
  shared[0] = 1; atomic_fetch_add_explicit(count, 1u, memory_order_relaxed);
}
)");
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics;
  const air::KernelReflection kernel = compiled->reflection("k");
  ASSERT_EQ(kernel.arguments.size(), 6u);
  const air::Argument &params = kernel.arguments[0];
  EXPECT_EQ(params.kind, ArgumentKind::Buffer);
  EXPECT_EQ(params.addressSpace, air::AddressSpace::Constant);
  EXPECT_EQ(params.access, air::Access::Read);
  EXPECT_EQ(params.typeName, "Params");
  EXPECT_EQ(params.dataSize, 80u);
  EXPECT_EQ(params.dataAlignment, 16u);
  EXPECT_EQ(params.boundSize, 80u);
  ASSERT_EQ(params.members.size(), 5u);
  EXPECT_EQ(params.members[2].offset, 16u);
  EXPECT_EQ(params.members[2].typeName, "float3");
  EXPECT_EQ(params.members[3].arrayLength, 3u);
  EXPECT_EQ(params.members[3].typeName, "ushort4");
  EXPECT_EQ(params.members[3].size, 8u);
  EXPECT_EQ(params.members[4].typeName, "packed_float3");
  EXPECT_EQ(params.members[4].offset, 56u);
  EXPECT_EQ(kernel.arguments[1].slot, 1u);
  EXPECT_EQ(kernel.arguments[1].typeName, "char");
  EXPECT_EQ(kernel.arguments[1].boundSize, 0u);
  EXPECT_EQ(kernel.arguments[2].slot, 5u);
  EXPECT_EQ(kernel.arguments[2].typeName, "void");
  EXPECT_EQ(kernel.arguments[2].dataSize, 0u);
  EXPECT_EQ(kernel.arguments[2].access, air::Access::ReadWrite);
  EXPECT_EQ(kernel.arguments[3].kind, ArgumentKind::ThreadgroupMemory);
  EXPECT_EQ(kernel.arguments[3].slot, 0u);
  EXPECT_EQ(kernel.arguments[3].typeName, "half4");
  EXPECT_EQ(kernel.arguments[4].slot, 2u);
  EXPECT_EQ(kernel.arguments[5].builtin, Builtin::ThreadsPerGrid);
  EXPECT_EQ(kernel.arguments[5].typeName, "uint2");
}

// As Apple's compiler has it: const takes writing away from memory with a type only.
TEST(Reflection, SaysWhatMayBeWritten) {
  const auto compiled = compileForTest(
      "kernel void k(device const float *x, device float *y, device const void *z, constant void *c) "
      "{ y[0] = x[0] + *(device const float *)z + *(constant float *)c; }\n");
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics;
  const air::KernelReflection kernel = compiled->reflection("k");
  EXPECT_EQ(kernel.arguments[0].access, air::Access::Read);
  EXPECT_EQ(kernel.arguments[1].access, air::Access::ReadWrite);
  EXPECT_EQ(kernel.arguments[2].access, air::Access::ReadWrite);
  EXPECT_EQ(kernel.arguments[3].access, air::Access::Read);
}

TEST(Reflection, KnowsTheThreadLimitAndUnusedArguments) {
  const auto compiled = compileForTest(
      "[[max_total_threads_per_threadgroup(64)]] kernel void a(device int *x) { x[0] = 1; }\n"
      "kernel void b(device int *x, device int *y) { x[0] = 1; }\n");
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics;
  EXPECT_EQ(compiled->reflection("a").maxTotalThreadsPerThreadgroup, 64u);
  EXPECT_TRUE(compiled->reflection("a").arguments[0].used);
  EXPECT_FALSE(compiled->reflection("b").arguments[1].used);
}

TEST(Reflection, DescribesTexturesAndSamplers) {
  const auto compiled = compileForTest(R"(#include <metal_stdlib>
using namespace metal;
kernel void k(texture2d<half, access::sample> in [[texture(0)]], texture2d<float, access::write> out [[texture(1)]],
              sampler s [[sampler(2)]], uint2 p [[thread_position_in_grid]]) {
  constexpr sampler fixed(coord::pixel, filter::linear, address::repeat);
  half4 a = in.sample(s, float2(p)) + in.sample(fixed, float2(p), level(1));
  out.write(float4(a), p);
}
)");
  ASSERT_TRUE(compiled->ok) << compiled->diagnostics;
  const air::KernelReflection kernel = compiled->reflection("k");
  ASSERT_EQ(kernel.arguments.size(), 4u);
  EXPECT_EQ(kernel.arguments[0].kind, ArgumentKind::Texture);
  EXPECT_EQ(kernel.arguments[0].typeName, "texture2d<half, sample>");
  EXPECT_EQ(kernel.arguments[1].access, air::Access::Write);
  EXPECT_EQ(kernel.arguments[2].kind, ArgumentKind::Sampler);
  EXPECT_EQ(kernel.arguments[2].slot, 2u);
  const std::string text = compiled->text();
  EXPECT_NE(text.find("{ <4 x half>, i8 } @air.sample_texture_2d.v4f16(ptr addrspace(1)"),
            std::string::npos);
  EXPECT_NE(text.find("@air.write_texture_2d.v4f32(ptr addrspace(1)"), std::string::npos);
  EXPECT_NE(text.find("!air.sampler_states"), std::string::npos);
  EXPECT_EQ(text.find("inttoptr"), std::string::npos);
}

} // namespace
} // namespace pewter::msl
