// SPDX-License-Identifier: Apache-2.0
// Tested by tests/api/ComputeEncoder_test.cpp.
#include "metal/CommandEncoder.h"
#include "foundation/String.h"
#include "metal/Counters.h"
#include "metal/Device.h"
#include "metal/Fence.h"
#include "metal/Validation.h"

namespace pewter::metal {

void EncoderBase::open(CommandBuffer *commands, const char *name, device::EncoderKind kind,
                       bool concurrent) {
  buffer = foundation::share(commands);
  stream = commands->stream.get();
  serial_ = commands->serial;
  retains_ = commands->retainsReferences;
  owner = commands->queue->device;
  name_ = name;
  isOpen_ = true;
  debugDepth_ = 0;
  commands->openEncoder = this;
  begin_ = stream->append<device::BeginEncoderCommand>(device::CommandKind::BeginEncoder);
  begin_->encoder = kind;
  begin_->concurrent = concurrent;
  begin_->label = "";
  record_ = commands->encoderRecords.size();
  if (commands->errorOptions & MTL::CommandBufferErrorOptionEncoderExecutionStatus)
    commands->encoderRecords.emplace_back();
}

void EncoderBase::end() {
  if (!isOpen_) {
    reportClosed("endEncoding");
    return;
  }
  for (auto &sample : endSamples_)
    sampleCounters("endEncoding", sample.samples.get(), sample.index);
  endSamples_.clear();
  if (debugDepth_ != 0)
    misuse("endEncoding", "{} debug groups are still open; popDebugGroup must be called for each.",
           debugDepth_);
  if (!label.empty())
    begin_->label = stream->copyText(label.c_str());
  if (record_ < buffer->encoderRecords.size())
    buffer->encoderRecords[record_].label = label;
  stream->append<device::EndEncoderCommand>(device::CommandKind::EndEncoder);
  isOpen_ = false;
  stream = nullptr;
  buffer->encoderEnded();
}

void EncoderBase::close() {
  if (isOpen_) {
    misuse("release", "the encoder is released before endEncoding was called.");
    end();
  }
  label.clear();
  endSamples_.clear();
}

std::string EncoderBase::describe() const {
  if (label.empty())
    return fmt::format("an encoder of kind {}", name_);
  return fmt::format("encoder \"{}\"", label);
}

void EncoderBase::report(ErrorKind kind, const char *call, std::string text) {
  buffer->poison(
      Error(kind, fmt::format("{}::{}: {}", name_, call, text)).whileDoing("using " + describe()));
}

void EncoderBase::reportClosed(const char *call) {
  // The buffer may be committed: it is not changed any more.
  reportMisuse(Error(ErrorKind::Validation,
                     fmt::format("{}::{}: endEncoding was already called.", name_, call))
                   .whileDoing("using " + describe()));
}

void EncoderBase::unsupported(const char *call, const char *why) {
  report(ErrorKind::Unsupported, call, why);
}

void EncoderBase::pushDebugGroup(const NS::String *text) {
  if (!checkOpen("pushDebugGroup"))
    return;
  ++debugDepth_;
  auto *command = stream->append<device::DebugGroupCommand>(device::CommandKind::PushDebugGroup);
  command->label = stream->copyText(foundation::copyText(text).c_str());
  if (record_ < buffer->encoderRecords.size())
    buffer->encoderRecords[record_].signposts.push_back(command->label);
}

void EncoderBase::popDebugGroup() {
  if (!checkOpen("popDebugGroup"))
    return;
  if (debugDepth_ == 0) {
    misuse("popDebugGroup", "no debug group is open.");
    return;
  }
  --debugDepth_;
  stream->append<device::Command>(device::CommandKind::PopDebugGroup);
}

void EncoderBase::fence(device::CommandKind kind, const MTL::Fence *fence) {
  const char *call = kind == device::CommandKind::UpdateFence ? "updateFence" : "waitForFence";
  if (!checkOpen(call))
    return;
  if (!fence) {
    misuse(call, "fence is null.");
    return;
  }
  stream->append<device::FenceCommand>(kind)->fence = reinterpret_cast<uintptr_t>(fence);
}

void EncoderBase::sampleCounters(const char *call, const MTL::CounterSampleBuffer *samples,
                                 NS::UInteger index) {
  if (!checkOpen(call))
    return;
  if (!samples || index >= samples->sampleCount()) {
    misuse(call, "sample index ({}) is not below the sample count ({}).", index,
           samples ? samples->sampleCount() : 0);
    return;
  }
  implOf(samples)->recordSample(*stream, index);
}

void EncoderBase::samplePass(const MTL::CounterSampleBuffer *samples, NS::UInteger start,
                             NS::UInteger end) {
  if (!samples)
    return;
  if (start != MTL::CounterDontSample)
    sampleCounters("sampleBufferAttachments", samples, start);
  if (end != MTL::CounterDontSample)
    endSamples_.push_back({foundation::share(samples), end});
}

} // namespace pewter::metal

using pewter::metal::baseOf;

namespace MTL {

// Encoders of a queue run in order, which is more than any stage barrier asks for.
void CommandEncoder::barrierAfterQueueStages(Stages, Stages) {
  baseOf(this)->checkOpen("barrierAfterQueueStages");
}
Device *CommandEncoder::device() const { return baseOf(this)->buffer->queue->device; }
void CommandEncoder::endEncoding() { baseOf(this)->end(); }
void CommandEncoder::insertDebugSignpost(const NS::String *string) {
  auto *encoder = baseOf(this);
  if (!encoder->checkOpen("insertDebugSignpost"))
    return;
  encoder->pushDebugGroup(string);
  encoder->popDebugGroup();
}
NS::String *CommandEncoder::label() const {
  auto &text = baseOf(this)->label;
  return text.empty() ? nullptr : pewter::foundation::makeString(text);
}
void CommandEncoder::popDebugGroup() { baseOf(this)->popDebugGroup(); }
void CommandEncoder::pushDebugGroup(const NS::String *string) {
  baseOf(this)->pushDebugGroup(string);
}
void CommandEncoder::setLabel(const NS::String *label) {
  baseOf(this)->label = pewter::foundation::textOf(label);
}

} // namespace MTL
