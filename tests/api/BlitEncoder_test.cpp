// SPDX-License-Identifier: Apache-2.0
#include "ApiTest.h"
#include <numeric>

namespace pewter::test {
namespace {

using ::testing::HasSubstr;

class BlitEncoderApi : public ApiTest {
protected:
  void SetUp() override {
    ApiTest::SetUp();
    commands = queue->commandBuffer();
    blit = commands->blitCommandEncoder();
  }
  MTL::CommandBuffer *commands = nullptr;
  MTL::BlitCommandEncoder *blit = nullptr;
};
PEWTER_EVERY_DEVICE(BlitEncoderApi);

TEST_P(BlitEncoderApi, CopiesRanges) {
  std::vector<int> values(100);
  std::iota(values.begin(), values.end(), 0);
  auto source = bufferOf(values), target = buffer(400);
  blit->copyFromBuffer(source.get(), 40, target.get(), 80, 20);
  blit->endEncoding();
  finish(commands);
  if (!executes())
    return;
  auto got = contentsOf<int>(target);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(got[i], i >= 20 && i < 25 ? i - 10 : 0) << i;
}

TEST_P(BlitEncoderApi, CopiesInOrderThroughPrivateMemory) {
  auto source = bufferOf(std::vector<int>{1, 2, 3, 4});
  auto hidden = buffer(16, MTL::ResourceStorageModePrivate);
  auto target = buffer(16);
  blit->copyFromBuffer(source.get(), 0, hidden.get(), 0, 16);
  blit->fillBuffer(hidden.get(), NS::Range(4, 4), 0xff);
  blit->copyFromBuffer(hidden.get(), 0, target.get(), 0, 16);
  blit->endEncoding();
  finish(commands);
  if (executes())
    EXPECT_EQ(contentsOf<int>(target), (std::vector<int>{1, -1, 3, 4}));
}

TEST_P(BlitEncoderApi, RefusesRangesOutsideAndOverlaps) {
  auto a = buffer(64), b = buffer(64);
  a->setLabel(MTLSTR("a"));
  blit->copyFromBuffer(a.get(), 60, b.get(), 0, 8);
  EXPECT_THAT(takeMisuse(),
              HasSubstr("8 bytes at offset (60) end past the 64 bytes of sourceBuffer "
                        "(buffer \"a\")"));
  blit->copyFromBuffer(a.get(), ~NS::UInteger(0), b.get(), 0, 8);
  EXPECT_THAT(takeMisuse(), HasSubstr("sourceBuffer"));
  blit->copyFromBuffer(nullptr, 0, b.get(), 0, 8);
  EXPECT_THAT(takeMisuse(), HasSubstr("sourceBuffer is null"));
  blit->copyFromBuffer(a.get(), 0, a.get(), 4, 8);
  EXPECT_THAT(takeMisuse(), HasSubstr("overlap"));
  blit->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusError);
}

TEST_P(BlitEncoderApi, SynchronizeIsForHostVisibleMemory) {
  blit->synchronizeResource(buffer(16, MTL::ResourceStorageModeManaged).get());
  blit->synchronizeResource(buffer(16, MTL::ResourceStorageModePrivate).get());
  EXPECT_THAT(takeMisuse(), HasSubstr("private storage"));
  blit->endEncoding();
}

TEST_P(BlitEncoderApi, CopiesTexelsBothWays) {
  auto *descriptor =
      MTL::TextureDescriptor::texture2DDescriptor(MTL::PixelFormatR32Uint, 5, 3, false);
  auto texture = NS::TransferPtr(device->newTexture(descriptor));
  ASSERT_TRUE(texture);
  std::vector<uint32_t> values(15);
  std::iota(values.begin(), values.end(), 100);
  auto source = bufferOf(values), target = buffer(60);
  blit->copyFromBuffer(source.get(), 0, 20, 60, MTL::Size(5, 3, 1), texture.get(), 0, 0,
                       MTL::Origin(0, 0, 0));
  blit->copyFromTexture(texture.get(), 0, 0, MTL::Origin(1, 1, 0), MTL::Size(3, 2, 1), target.get(),
                        0, 12, 24);
  blit->endEncoding();
  finish(commands);
  if (!executes())
    return;
  auto got = contentsOf<uint32_t>(target);
  EXPECT_EQ(std::vector<uint32_t>(got.begin(), got.begin() + 6),
            (std::vector<uint32_t>{106, 107, 108, 111, 112, 113}));
}

TEST_P(BlitEncoderApi, RefusesRegionsOutsideTheTexture) {
  auto *descriptor =
      MTL::TextureDescriptor::texture2DDescriptor(MTL::PixelFormatR32Uint, 5, 3, false);
  auto texture = NS::TransferPtr(device->newTexture(descriptor));
  auto target = buffer(60);
  blit->copyFromTexture(texture.get(), 0, 0, MTL::Origin(3, 0, 0), MTL::Size(3, 1, 1), target.get(),
                        0, 12, 12);
  EXPECT_THAT(takeMisuse(), HasSubstr("ends past the 5 x 3 x 1 texels"));
  blit->copyFromTexture(texture.get(), 0, 1, MTL::Origin(0, 0, 0), MTL::Size(1, 1, 1), target.get(),
                        0, 4, 4);
  EXPECT_THAT(takeMisuse(), HasSubstr("level (1)"));
  blit->endEncoding();
}

} // namespace
} // namespace pewter::test
