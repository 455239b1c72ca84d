// SPDX-License-Identifier: Apache-2.0
//
// Argument buffers in argument buffers: structs inside structs, and behind pointers.
#include "ApiTest.h"

namespace pewter::test {
namespace {

using ::testing::HasSubstr;

constexpr const char *kSource = R"(
#include <metal_stdlib>
using namespace metal;
struct Leaf { device const float *values; float factor; };
struct Branch { constant Leaf *leaf [[id(3)]]; int shift; };
struct Pair { device const float *first; device const float *second; };
struct Root {
  device float *out;
  Pair pairs[2];
  constant Branch *branch;
  array<device const float *, 2> more [[id(20)]];
  Leaf own;
};
kernel void gather(constant Root &root [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  root.out[i] = root.pairs[0].first[i] + 10 * root.pairs[0].second[i] + 100 * root.pairs[1].first[i] +
                1000 * root.pairs[1].second[i] + root.branch->leaf->values[i] * root.branch->leaf->factor +
                root.branch->shift + root.more[1][i] * 0.5f + root.own.values[i] * root.own.factor;
}
)";

struct ArgumentBuffers : ApiTest {};
PEWTER_EVERY_DEVICE(ArgumentBuffers);

TEST_P(ArgumentBuffers, Nest) {
  constexpr size_t kThreads = 40;
  NS::Error *error = nullptr;
  auto library = NS::TransferPtr(device->newLibrary(string(kSource), nullptr, &error));
  ASSERT_TRUE(library) << text(error);
  auto function = NS::TransferPtr(library->newFunction(MTLSTR("gather")));
  auto root = NS::TransferPtr(function->newArgumentEncoder(2));
  ASSERT_TRUE(root);
  // out 0, pairs 1 to 4, branch 5, more 20 and 21, own 22 and 23.
  auto branch = NS::TransferPtr(root->newArgumentEncoder(5));
  ASSERT_TRUE(branch);
  auto leaf = NS::TransferPtr(branch->newArgumentEncoder(3));
  ASSERT_TRUE(leaf);
  EXPECT_EQ(leaf->encodedLength(), 16u);
  EXPECT_EQ(root->newArgumentEncoder(0), nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("id (0) is not a pointer to an argument buffer"));

  std::vector<NS::SharedPtr<MTL::Buffer>> inputs;
  for (size_t k = 0; k < 7; ++k) {
    std::vector<float> values(kThreads);
    for (size_t i = 0; i < kThreads; ++i)
      values[i] = float(i % 8 + k);
    inputs.push_back(bufferOf(values));
  }
  auto out = buffer(kThreads * 4);
  auto rootBytes = buffer(root->encodedLength()), branchBytes = buffer(branch->encodedLength()),
       leafBytes = buffer(leaf->encodedLength());
  leaf->setArgumentBuffer(leafBytes.get(), 0);
  leaf->setBuffer(inputs[4].get(), 0, 0);
  *static_cast<float *>(leaf->constantData(1)) = 2;
  branch->setArgumentBuffer(branchBytes.get(), 0);
  branch->setBuffer(leafBytes.get(), 0, 3);
  *static_cast<int *>(branch->constantData(4)) = -7;
  root->setArgumentBuffer(rootBytes.get(), 0);
  root->setBuffer(out.get(), 0, 0);
  for (size_t k = 0; k < 4; ++k)
    root->setBuffer(inputs[k].get(), 0, 1 + k);
  root->setBuffer(branchBytes.get(), 0, 5);
  root->setBuffer(inputs[5].get(), 0, 21);
  root->setBuffer(inputs[6].get(), 0, 22);
  *static_cast<float *>(root->constantData(23)) = 3;

  auto state = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
  ASSERT_TRUE(state) << text(error);
  auto *commands = queue->commandBuffer();
  auto *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(state.get());
  encoder->setBuffer(rootBytes.get(), 0, 2);
  for (auto &input : inputs)
    encoder->useResource(input.get(), MTL::ResourceUsageRead);
  for (MTL::Buffer *used : {out.get(), branchBytes.get(), leafBytes.get()})
    encoder->useResource(used, MTL::ResourceUsageRead | MTL::ResourceUsageWrite);
  encoder->dispatchThreads(MTL::Size(kThreads, 1, 1), MTL::Size(32, 1, 1));
  encoder->endEncoding();
  finish(commands);
  if (!executes())
    return;
  for (size_t i = 0; i < kThreads; ++i) {
    const auto at = [&](size_t k) { return float(i % 8 + k); };
    EXPECT_EQ(contentsOf<float>(out)[i], at(0) + 10 * at(1) + 100 * at(2) + 1000 * at(3) + at(4) * 2 - 7 +
                                             at(5) * 0.5f + at(6) * 3);
  }
}

} // namespace
} // namespace pewter::test
