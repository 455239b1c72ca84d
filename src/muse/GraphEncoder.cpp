// SPDX-License-Identifier: Apache-2.0
// Tested by tests/seed/SeedTable.cpp.
#include "muse/GraphEncoder.h"

namespace pewter::muse {

GraphEncoder::GraphEncoder(const Context &context, GraphOptions options)
    : context_(context), options_(options),
      pool_(NS::TransferPtr(NS::AutoreleasePool::alloc()->init())) {
  begin();
}

GraphEncoder::~GraphEncoder() {
  if (encoder_) // abandoned: an encoder must end before its buffer dies
    encoder_->endEncoding();
}

void GraphEncoder::begin() {
  buffer_ = NS::RetainPtr(context_.queue()->commandBufferWithUnretainedReferences());
  buffer_->setLabel(NS::String::string(options_.label, NS::UTF8StringEncoding));
  encoder_ = buffer_->computeCommandEncoder(options_.concurrent ? MTL::DispatchTypeConcurrent
                                                                : MTL::DispatchTypeSerial);
}

void GraphEncoder::group(const char *label, int layer) {
  if (groups_ > 0) {
    if (options_.profile) {
      endProfiledGroup();
      begin();
    } else if (options_.concurrent) {
      encoder_->memoryBarrier(MTL::BarrierScopeBuffers);
      if (options_.record)
        ++options_.record->bufferBarriers;
    }
  }
  ++groups_;
  groupLabel_ = label;
  groupLayer_ = layer;
  if (options_.record)
    options_.record->groups.push_back({label, layer, {}});
}

void GraphEncoder::barrier(std::initializer_list<MTL::Buffer *> buffers) {
  if (!options_.concurrent)
    return;
  const MTL::Resource *resources[8];
  size_t count = 0;
  for (MTL::Buffer *buffer : buffers)
    resources[count++] = buffer;
  encoder_->memoryBarrier(resources, count);
  if (options_.record) {
    ++options_.record->resourceBarriers;
    auto &labels = options_.record->barrierResources.emplace_back();
    for (MTL::Buffer *buffer : buffers)
      labels.emplace_back(buffer->label() ? buffer->label()->utf8String() : "");
  }
}

void GraphEncoder::bindAll(const Kernel &kernel, std::initializer_list<View> views, const void *constants,
                           size_t size, uint32_t threads, MTL::Size groups) {
  encoder_->setComputePipelineState(kernel.pipeline.get());
  NS::UInteger slot = 0;
  for (const View &view : views)
    encoder_->setBuffer(view.buffer, view.offset, slot++);
  encoder_->setBytes(constants, size, slot);
  if (options_.record) {
    ++options_.record->dispatches;
    options_.record->groups.back().dispatches.push_back({kernel.name, threads, groups.width * groups.height * groups.depth});
  }
}

NS::SharedPtr<MTL::CommandBuffer> GraphEncoder::commit() {
  encoder_->endEncoding();
  encoder_ = nullptr;
  buffer_->commit();
  if (options_.record) {
    ++options_.record->commits;
    options_.record->concurrent = options_.concurrent;
  }
  return buffer_;
}

void GraphEncoder::endProfiledGroup() {
  commit();
  if (auto waited = context_.wait(buffer_.get()); !waited && !profileError_)
    profileError_ = waited.error();
  options_.profile->push_back(
      {groupLabel_, groupLayer_, buffer_->GPUStartTime(), buffer_->GPUEndTime()});
}

Result<void> GraphEncoder::finish() {
  if (options_.profile) {
    endProfiledGroup();
    if (profileError_)
      return std::unexpected(*profileError_);
    return {};
  }
  commit();
  if (options_.record)
    ++options_.record->waits;
  return context_.wait(buffer_.get());
}

} // namespace pewter::muse
