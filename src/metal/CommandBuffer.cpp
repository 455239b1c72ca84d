// SPDX-License-Identifier: Apache-2.0
// Tested by tests/api/CommandBuffer_test.cpp.
#include "metal/CommandBuffer.h"
#include "foundation/Collections.h"
#include "foundation/Error.h"
#include "metal/BlitCommandEncoder.h"
#include "metal/CommandEncoder.h"
#include "metal/ComputeCommandEncoder.h"
#include "metal/Device.h"
#include "metal/ErrorDomain.h"
#include "metal/Event.h"
#include "metal/FunctionLog.h"
#include "metal/Property.h"
#include "metal/Validation.h"
#include <Metal/MTLLogState.hpp>
#include <Metal/MTLResidencySet.hpp>

namespace pewter::metal {
namespace {

class EncoderInfo final : public MTL::CommandBufferEncoderInfo {
public:
  const char *className() const override { return "MTLCommandBufferEncoderInfo"; }
  std::string label;
  std::vector<std::string> signposts;
  MTL::CommandEncoderErrorState state = MTL::CommandEncoderErrorStateUnknown;
};

EncoderInfo *implOf(const MTL::CommandBufferEncoderInfo *info) {
  return static_cast<EncoderInfo *>(const_cast<MTL::CommandBufferEncoderInfo *>(info));
}

uint64_t nextSerial() {
  static std::atomic<uint64_t> serial{0};
  return serial.fetch_add(1, std::memory_order_relaxed) + 1;
}

} // namespace

NS::detail::Root *CommandBufferDescriptor::makeCopy() const {
  auto *copy = new CommandBufferDescriptor();
  copy->retainedReferences = retainedReferences;
  copy->errorOptions = errorOptions;
  copy->logState = logState;
  return copy;
}

void CommandBuffer::begin(CommandQueue *owner) {
  queue = foundation::share(owner);
  references.store(1, std::memory_order_relaxed);
  stream = std::make_unique<device::CommandStream>();
  serial = nextSerial();
  logState = owner->logState;
}

void CommandBuffer::configure(const CommandBufferDescriptor &descriptor) {
  retainsReferences = descriptor.retainedReferences;
  errorOptions = descriptor.errorOptions;
  if (descriptor.logState)
    logState = descriptor.logState;
}

void CommandBuffer::dispose() {
  if (!isCommitted_) {
    if (isEnqueued_)
      queue->abandon(this);
    queue->finished();
  }
  stream.reset();
  label.clear();
  retainsReferences = true;
  errorOptions = MTL::CommandBufferErrorOptionNone;
  openEncoder = nullptr;
  status.store(MTL::CommandBufferStatusNotEnqueued, std::memory_order_relaxed);
  scheduledHandlers.clear();
  completedHandlers.clear();
  error.reset();
  times = {};
  encoderRecords.clear();
  firstMisuse_.reset();
  misuseCount_ = 0;
  isEnqueued_ = isReady_ = false;
  isCommitted_.store(false, std::memory_order_relaxed);
  stage_.store(0, std::memory_order_relaxed);
  // The queue may die with the last reference; it owns this object from the next line on.
  auto owner = std::move(queue);
  owner->commandBuffers.put(this);
}

std::string CommandBuffer::describe() const {
  if (label.empty())
    return fmt::format("command buffer {}", static_cast<const void *>(this));
  return fmt::format("command buffer \"{}\"", label);
}

void CommandBuffer::poison(Error problem) {
  Error named = std::move(problem).whileDoing("encoding " + describe());
  if (misuseCount_ < kReportedMisuses)
    reportMisuse(named);
  else if (misuseCount_ == kReportedMisuses)
    reportMisuse(Error(ErrorKind::Validation,
                       fmt::format("Further misuse of {} is not reported.", describe())));
  ++misuseCount_;
  if (!firstMisuse_)
    firstMisuse_ = std::move(named);
}

bool CommandBuffer::canRecord(const char *call) {
  if (isCommitted_) {
    reportMisuse(Error(ErrorKind::Validation,
                       fmt::format("{}: {} is already committed.", call, describe())));
    return false;
  }
  if (openEncoder) {
    misuse(ErrorKind::Validation,
           "{}: an encoder of {} is still open; endEncoding must be called first.", call,
           describe());
    return false;
  }
  return true;
}

void CommandBuffer::enqueue() {
  if (isEnqueued_ || isCommitted_) {
    metal::misuse("CommandBuffer::enqueue: {} is already {}.", describe(),
                  isCommitted_ ? "committed" : "enqueued");
    return;
  }
  isEnqueued_ = true;
  status.store(MTL::CommandBufferStatusEnqueued, std::memory_order_release);
  queue->enqueue(this);
}

void CommandBuffer::commit() {
  if (isCommitted_) {
    metal::misuse("CommandBuffer::commit: {} is already committed.", describe());
    return;
  }
  if (openEncoder) {
    misuse(
        ErrorKind::Validation,
        "CommandBuffer::commit: an encoder of {} is still open; endEncoding must be called first.",
        describe());
    openEncoder->abandon(); // It must not write into a stream that is handed over.
    openEncoder = nullptr;
  }
  isCommitted_.store(true, std::memory_order_relaxed);
  status.store(MTL::CommandBufferStatusCommitted, std::memory_order_release);
  retain(); // Until completed() has run.
  queue->commit(this);
}

void CommandBuffer::submit() {
  if (firstMisuse_)
    stream = std::make_unique<device::CommandStream>(); // Keeps its place, runs nothing.
  stream->label = label;
  if (logState)
    stream->log = sinkOf(logState.get());
  queue->backend->submit(
      std::move(stream), [this] { scheduled(); },
      [this](const device::Completion &completion) { completed(completion); });
}

void CommandBuffer::advance(uint32_t newStage) {
  stage_.store(newStage, std::memory_order_release);
  stage_.notify_all();
}

void CommandBuffer::scheduled() {
  status.store(MTL::CommandBufferStatusScheduled, std::memory_order_release);
  if (!scheduledHandlers.empty()) {
    handlerThread_.store(std::this_thread::get_id());
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    for (auto &handler : scheduledHandlers)
      handler(this);
    handlerThread_.store({});
  }
  advance(1);
}

void CommandBuffer::completed(const device::Completion &completion) {
  times = completion;
  const std::optional<Error> &problem = firstMisuse_ ? firstMisuse_ : completion.error;
  if (problem) {
    error = NS::TransferPtr(newError(ErrorDomain::CommandBuffer, *problem));
    if (errorOptions & MTL::CommandBufferErrorOptionEncoderExecutionStatus)
      attachEncoderInfo();
  }
  status.store(problem ? MTL::CommandBufferStatusError : MTL::CommandBufferStatusCompleted,
               std::memory_order_release);
  if (!completedHandlers.empty()) {
    handlerThread_.store(std::this_thread::get_id());
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    for (auto &handler : completedHandlers)
      handler(this);
    handlerThread_.store({});
  }
  queue->finished();
  advance(2);
  release(); // Of commit().
}

void CommandBuffer::attachEncoderInfo() {
  std::vector<foundation::Ref<NS::Object>> infos;
  for (auto &record : encoderRecords) {
    auto *info = new EncoderInfo();
    info->label = record.label;
    info->signposts = record.signposts;
    info->state =
        firstMisuse_ ? MTL::CommandEncoderErrorStatePending : MTL::CommandEncoderErrorStateAffected;
    infos.push_back(NS::TransferPtr<NS::Object>(info));
  }
  auto list = NS::TransferPtr(foundation::newArray(std::move(infos)));
  auto *impl = static_cast<foundation::Error *>(error.get());
  const NS::Object *objects[] = {impl->localizedDescription(), list.get()};
  const NS::Object *keys[] = {NS::LocalizedDescriptionKey, MTL::CommandBufferEncoderInfoErrorKey};
  impl->userInfo = NS::TransferPtr(NS::Dictionary::alloc()->init(objects, keys, 2));
}

void CommandBuffer::waitUntil(MTL::CommandBufferStatus wanted, const char *call) {
  if (!isCommitted_) {
    metal::misuse("{}: {} is not committed; the wait would never end.", call, describe());
    return;
  }
  uint32_t stage = wanted == MTL::CommandBufferStatusScheduled ? 1 : 2;
  auto done = [&] { return stage_.load(std::memory_order_acquire) >= stage; };
  // A handler that waits for its own buffer must not wait for itself to end.
  if (done() || (handlerThread_.load() == std::this_thread::get_id() && status.load() >= wanted))
    return;
  queue->backend->help(done);
  for (uint32_t now; (now = stage_.load(std::memory_order_acquire)) < stage;)
    stage_.wait(now, std::memory_order_acquire);
}

void CommandBuffer::addHandler(std::vector<MTL::HandlerFunction> &list,
                               const MTL::HandlerFunction &function, const char *call) {
  if (isCommitted_) {
    metal::misuse("{}: {} is already committed; handlers are added before commit.", call,
                  describe());
    return;
  }
  if (!function) {
    metal::misuse("{}: the function is empty, for {}.", call, describe());
    return;
  }
  list.push_back(function);
}

} // namespace pewter::metal

using namespace pewter::metal;
using pewter::foundation::autoreleased;
using pewter::foundation::makeString;

PEWTER_ALLOC(CommandBufferDescriptor)
PEWTER_PLAIN(CommandBufferDescriptor, bool, retainedReferences, setRetainedReferences)
PEWTER_VALUE(CommandBufferDescriptor, CommandBufferErrorOption, errorOptions, setErrorOptions)
PEWTER_OBJECT(CommandBufferDescriptor, MTL::LogState, logState, setLogState)

namespace MTL {

NS::String *CommandBufferEncoderInfo::label() const { return makeString(implOf(this)->label); }
CommandEncoderErrorState CommandBufferEncoderInfo::errorState() const {
  return implOf(this)->state;
}
NS::Array *CommandBufferEncoderInfo::debugSignposts() const {
  std::vector<pewter::foundation::Ref<NS::String>> list;
  for (auto &text : implOf(this)->signposts)
    list.push_back(NS::TransferPtr(pewter::foundation::newString(text)));
  return pewter::foundation::makeArray(std::move(list));
}

CFTimeInterval CommandBuffer::GPUStartTime() const { return implOf(this)->times.gpuStart; }
CFTimeInterval CommandBuffer::GPUEndTime() const { return implOf(this)->times.gpuEnd; }
CFTimeInterval CommandBuffer::kernelStartTime() const { return implOf(this)->times.kernelStart; }
CFTimeInterval CommandBuffer::kernelEndTime() const { return implOf(this)->times.kernelEnd; }

void CommandBuffer::addCompletedHandler(const HandlerFunction &function) {
  auto *buffer = implOf(this);
  buffer->addHandler(buffer->completedHandlers, function, "CommandBuffer::addCompletedHandler");
}
void CommandBuffer::addScheduledHandler(const HandlerFunction &function) {
  auto *buffer = implOf(this);
  buffer->addHandler(buffer->scheduledHandlers, function, "CommandBuffer::addScheduledHandler");
}

BlitCommandEncoder *CommandBuffer::blitCommandEncoder() {
  return pewter::metal::BlitCommandEncoder::make(implOf(this), nullptr);
}
BlitCommandEncoder *CommandBuffer::blitCommandEncoder(const BlitPassDescriptor *descriptor) {
  return pewter::metal::BlitCommandEncoder::make(implOf(this), descriptor);
}
ComputeCommandEncoder *CommandBuffer::computeCommandEncoder() {
  return computeCommandEncoder(DispatchTypeSerial);
}
ComputeCommandEncoder *CommandBuffer::computeCommandEncoder(DispatchType dispatchType) {
  return pewter::metal::ComputeCommandEncoder::make(implOf(this), dispatchType, nullptr);
}
ComputeCommandEncoder *
CommandBuffer::computeCommandEncoder(const ComputePassDescriptor *descriptor) {
  return pewter::metal::ComputeCommandEncoder::make(
      implOf(this), descriptor ? descriptor->dispatchType() : DispatchTypeSerial, descriptor);
}

CommandQueue *CommandBuffer::commandQueue() const { return implOf(this)->queue.get(); }
void CommandBuffer::commit() { implOf(this)->commit(); }
Device *CommandBuffer::device() const { return implOf(this)->queue->device; }

void CommandBuffer::encodeSignalEvent(const Event *event, uint64_t value) {
  auto *buffer = implOf(this);
  if (!buffer->canRecord("CommandBuffer::encodeSignalEvent"))
    return;
  using namespace pewter::device;
  buffer->stream->keep(implOf(event)->backend);
  auto *command = buffer->stream->append<EventCommand>(CommandKind::SignalEvent);
  command->event = implOf(event)->backend.get();
  command->value = value;
}
void CommandBuffer::encodeWait(const Event *event, uint64_t value) {
  auto *buffer = implOf(this);
  if (!buffer->canRecord("CommandBuffer::encodeWait"))
    return;
  using namespace pewter::device;
  buffer->stream->keep(implOf(event)->backend);
  auto *command = buffer->stream->append<EventCommand>(CommandKind::WaitEvent);
  command->event = implOf(event)->backend.get();
  command->value = value;
}

void CommandBuffer::enqueue() { implOf(this)->enqueue(); }
NS::Error *CommandBuffer::error() const {
  return status() == CommandBufferStatusError ? implOf(this)->error.get() : nullptr;
}
CommandBufferErrorOption CommandBuffer::errorOptions() const { return implOf(this)->errorOptions; }
NS::String *CommandBuffer::label() const {
  auto &text = implOf(this)->label;
  return text.empty() ? nullptr : makeString(text);
}
void CommandBuffer::setLabel(const NS::String *label) {
  implOf(this)->label = pewter::foundation::textOf(label);
}
LogContainer *CommandBuffer::logs() const { return makeEmptyLog(); }

void CommandBuffer::pushDebugGroup(const NS::String *string) {
  auto *buffer = implOf(this);
  if (!buffer->canRecord("CommandBuffer::pushDebugGroup"))
    return;
  using namespace pewter::device;
  auto *command = buffer->stream->append<DebugGroupCommand>(CommandKind::PushDebugGroup);
  command->label = buffer->stream->copyText(pewter::foundation::copyText(string).c_str());
}
void CommandBuffer::popDebugGroup() {
  auto *buffer = implOf(this);
  if (!buffer->canRecord("CommandBuffer::popDebugGroup"))
    return;
  using namespace pewter::device;
  buffer->stream->append<Command>(CommandKind::PopDebugGroup);
}

bool CommandBuffer::retainedReferences() const { return implOf(this)->retainsReferences; }
CommandBufferStatus CommandBuffer::status() const {
  return static_cast<CommandBufferStatus>(implOf(this)->status.load(std::memory_order_acquire));
}
void CommandBuffer::useResidencySet(const ResidencySet *) {}
void CommandBuffer::useResidencySets(const ResidencySet *const[], NS::UInteger) {}
void CommandBuffer::waitUntilCompleted() {
  implOf(this)->waitUntil(CommandBufferStatusCompleted, "CommandBuffer::waitUntilCompleted");
}
void CommandBuffer::waitUntilScheduled() {
  implOf(this)->waitUntil(CommandBufferStatusScheduled, "CommandBuffer::waitUntilScheduled");
}

} // namespace MTL
