// SPDX-License-Identifier: Apache-2.0
//
// Textures, samplers, residency sets, capture, counters and logs: what the host sees of them.
#include "ApiTest.h"
#include <cstring>
#include <numeric>

namespace pewter::test {
namespace {

using ::testing::HasSubstr;

class TextureApi : public ApiTest {
protected:
  NS::SharedPtr<MTL::Texture> texture(MTL::PixelFormat format, NS::UInteger width,
                                      NS::UInteger height) {
    return NS::TransferPtr(device->newTexture(
        MTL::TextureDescriptor::texture2DDescriptor(format, width, height, false)));
  }
};
PEWTER_EVERY_DEVICE(TextureApi);

TEST_P(TextureApi, GivesBackTheTexelsItGot) {
  auto t = texture(MTL::PixelFormatRGBA8Unorm, 7, 4);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->width(), 7u);
  EXPECT_EQ(t->height(), 4u);
  EXPECT_EQ(t->textureType(), MTL::TextureType2D);
  std::vector<uint32_t> in(28), out(28);
  std::iota(in.begin(), in.end(), 1);
  t->replaceRegion(MTL::Region::Make2D(0, 0, 7, 4), 0, in.data(), 28);
  t->getBytes(out.data(), 28, MTL::Region::Make2D(0, 0, 7, 4), 0);
  EXPECT_EQ(in, out);
  uint32_t one = 0;
  t->getBytes(&one, 4, MTL::Region::Make2D(2, 3, 1, 1), 0);
  EXPECT_EQ(one, in[3 * 7 + 2]);
}

TEST_P(TextureApi, RefusesRegionsAndRowsThatDoNotFit) {
  auto t = texture(MTL::PixelFormatR8Unorm, 4, 4);
  char bytes[64];
  t->getBytes(bytes, 4, MTL::Region::Make2D(1, 0, 4, 4), 0);
  EXPECT_THAT(takeMisuse(), HasSubstr("ends past the 4 x 4 x 1 texels"));
  t->getBytes(bytes, 3, MTL::Region::Make2D(0, 0, 4, 4), 0);
  EXPECT_THAT(takeMisuse(), HasSubstr("bytesPerRow (3)"));
}

TEST_P(TextureApi, RefusesWhatIsNotSupported) {
  EXPECT_FALSE(texture(MTL::PixelFormatBC1_RGBA, 4, 4));
  EXPECT_THAT(takeMisuse(), HasSubstr("pixel format (130)"));
  EXPECT_FALSE(texture(MTL::PixelFormatR8Unorm, 20000, 4));
  EXPECT_THAT(takeMisuse(), HasSubstr("20000"));
}

TEST_P(TextureApi, SharesTheMemoryOfABuffer) {
  auto b = buffer(64);
  auto *descriptor =
      MTL::TextureDescriptor::texture2DDescriptor(MTL::PixelFormatR32Float, 4, 4, false);
  auto t = NS::TransferPtr(b->newTexture(descriptor, 0, 16));
  ASSERT_TRUE(t);
  EXPECT_EQ(t->buffer(), b.get());
  static_cast<float *>(b->contents())[5] = 2.5f;
  float value = 0;
  t->getBytes(&value, 4, MTL::Region::Make2D(1, 1, 1, 1), 0);
  EXPECT_EQ(value, 2.5f);
  EXPECT_EQ(b->newTexture(descriptor, 16, 16), nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("end past the 64 bytes"));
}

TEST_P(TextureApi, ViewsShareTexelsOfTheSameSize) {
  auto t = texture(MTL::PixelFormatR32Uint, 2, 2);
  auto view = NS::TransferPtr(t->newTextureView(MTL::PixelFormatRGBA8Unorm));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->parentTexture(), t.get());
  uint32_t in = 0x01020304, out = 0;
  t->replaceRegion(MTL::Region::Make2D(1, 0, 1, 1), 0, &in, 4);
  view->getBytes(&out, 4, MTL::Region::Make2D(1, 0, 1, 1), 0);
  EXPECT_EQ(out, in);
  EXPECT_EQ(t->newTextureView(MTL::PixelFormatR8Unorm), nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("texels of 1 bytes"));
}

TEST_P(TextureApi, HeapsHoldTextures) {
  auto descriptor = NS::TransferPtr(MTL::HeapDescriptor::alloc()->init());
  descriptor->setSize(65536);
  descriptor->setStorageMode(MTL::StorageModeShared);
  auto heap = NS::TransferPtr(device->newHeap(descriptor.get()));
  auto *shape = MTL::TextureDescriptor::texture2DDescriptor(MTL::PixelFormatR8Uint, 64, 64, false);
  MTL::SizeAndAlign need = device->heapTextureSizeAndAlign(shape);
  auto t = NS::TransferPtr(heap->newTexture(shape));
  ASSERT_TRUE(t);
  EXPECT_EQ(heap->usedSize(), NS::UInteger(need.size));
}

TEST_P(TextureApi, SamplersKeepTheirLabel) {
  auto descriptor = NS::TransferPtr(MTL::SamplerDescriptor::alloc()->init());
  descriptor->setLabel(MTLSTR("linear"));
  descriptor->setMinFilter(MTL::SamplerMinMagFilterLinear);
  auto sampler = NS::TransferPtr(device->newSamplerState(descriptor.get()));
  ASSERT_TRUE(sampler);
  EXPECT_EQ(text(sampler->label()), "linear");
  descriptor->setMaxAnisotropy(16);
  EXPECT_EQ(device->newSamplerState(descriptor.get()), nullptr);
  EXPECT_THAT(takeMisuse(), HasSubstr("anisotropy (16)"));
}

class ResidencySetApi : public ApiTest {};
PEWTER_EVERY_DEVICE(ResidencySetApi);

TEST_P(ResidencySetApi, ChangesAtCommit) {
  auto descriptor = NS::TransferPtr(MTL::ResidencySetDescriptor::alloc()->init());
  descriptor->setLabel(MTLSTR("weights"));
  NS::Error *error = nullptr;
  auto set = NS::TransferPtr(device->newResidencySet(descriptor.get(), &error));
  ASSERT_TRUE(set);
  EXPECT_EQ(text(set->label()), "weights");
  auto b = buffer(4096);
  set->addAllocation(b.get());
  set->addAllocation(b.get());
  EXPECT_EQ(set->allocationCount(), 0u);
  set->commit();
  EXPECT_EQ(set->allocationCount(), 1u);
  EXPECT_TRUE(set->containsAllocation(b.get()));
  EXPECT_GE(set->allocatedSize(), 4096u);
  EXPECT_EQ(b->retainCount(), 3u);
  set->removeAllAllocations();
  set->commit();
  EXPECT_EQ(set->allocationCount(), 0u);
  EXPECT_EQ(b->retainCount(), 1u);
  queue->addResidencySet(set.get());
  queue->removeResidencySet(set.get());
}

class CaptureApi : public ApiTest {};
PEWTER_EVERY_DEVICE(CaptureApi);

TEST_P(CaptureApi, SaysThatThereIsNoCaptureTool) {
  auto *manager = MTL::CaptureManager::sharedCaptureManager();
  EXPECT_FALSE(manager->supportsDestination(MTL::CaptureDestinationGPUTraceDocument));
  auto descriptor = NS::TransferPtr(MTL::CaptureDescriptor::alloc()->init());
  descriptor->setCaptureObject(device);
  NS::Error *error = nullptr;
  EXPECT_FALSE(manager->startCapture(descriptor.get(), &error));
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->code(), MTL::CaptureErrorNotSupported);
  EXPECT_FALSE(manager->isCapturing());
  manager->startCapture(device);
  EXPECT_THAT(takeMisuse(), HasSubstr("startCapture"));
  auto scope = NS::TransferPtr(manager->newCaptureScope(queue.get()));
  scope->setLabel(MTLSTR("step"));
  scope->beginScope();
  scope->endScope();
  EXPECT_EQ(text(scope->label()), "step");
}

class CountersApi : public ApiTest {};
PEWTER_EVERY_DEVICE(CountersApi);

TEST_P(CountersApi, SamplesThePassAndTheDispatches) {
  if (!device->supportsCounterSampling(MTL::CounterSamplingPointAtStageBoundary)) {
    auto descriptor = NS::TransferPtr(MTL::CounterSampleBufferDescriptor::alloc()->init());
    NS::Error *error = nullptr;
    EXPECT_EQ(device->newCounterSampleBuffer(descriptor.get(), &error), nullptr);
    EXPECT_THAT(text(error), HasSubstr("samples no counters"));
    return;
  }
  auto *set = device->counterSets()->object<MTL::CounterSet>(0);
  EXPECT_TRUE(set->name()->isEqualToString(MTL::CommonCounterSetTimestamp));
  auto descriptor = NS::TransferPtr(MTL::CounterSampleBufferDescriptor::alloc()->init());
  descriptor->setCounterSet(set);
  descriptor->setSampleCount(3);
  NS::Error *error = nullptr;
  auto samples = NS::TransferPtr(device->newCounterSampleBuffer(descriptor.get(), &error));
  ASSERT_TRUE(samples) << text(error);
  auto *pass = MTL::ComputePassDescriptor::computePassDescriptor();
  auto *attachment = pass->sampleBufferAttachments()->object(0);
  attachment->setSampleBuffer(samples.get());
  attachment->setStartOfEncoderSampleIndex(0);
  attachment->setEndOfEncoderSampleIndex(2);
  MTL::CommandBuffer *commands = queue->commandBuffer();
  auto *encoder = commands->computeCommandEncoder(pass);
  encoder->sampleCountersInBuffer(samples.get(), 1, true);
  encoder->sampleCountersInBuffer(samples.get(), 1, false);
  encoder->endEncoding();
  finish(commands);
  auto *data = samples->resolveCounterRange(NS::Range(0, 3));
  ASSERT_EQ(data->length(), 24u);
  auto *stamps = static_cast<const MTL::CounterResultTimestamp *>(data->bytes());
  EXPECT_LE(uint64_t(stamps[0].timestamp), uint64_t(stamps[1].timestamp));
  EXPECT_LE(uint64_t(stamps[1].timestamp), uint64_t(stamps[2].timestamp));
  EXPECT_NE(uint64_t(stamps[2].timestamp), MTL::CounterErrorValue);
}

TEST_P(CountersApi, RefusesSamplesOutsideTheBuffer) {
  MTL::CommandBuffer *commands = queue->commandBuffer();
  auto *encoder = commands->computeCommandEncoder();
  encoder->sampleCountersInBuffer(nullptr, 1, false);
  EXPECT_THAT(takeMisuse(), HasSubstr("sample index (1)"));
  encoder->endEncoding();
}

class LogApi : public ApiTest {};
PEWTER_EVERY_DEVICE(LogApi);

TEST_P(LogApi, AnEmptyLogHasNoEntries) {
  MTL::CommandBuffer *commands = queue->commandBuffer();
  finish(commands);
  NS::FastEnumerationState state{};
  NS::Object *entries[4];
  EXPECT_EQ(commands->logs()->countByEnumerating(&state, entries, 4), 0u);
  auto descriptor = NS::TransferPtr(MTL::LogStateDescriptor::alloc()->init());
  descriptor->setBufferSize(100);
  NS::Error *error = nullptr;
  EXPECT_EQ(device->newLogState(descriptor.get(), &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("bufferSize (100)"));
}

} // namespace
} // namespace pewter::test
