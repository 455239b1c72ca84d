// SPDX-License-Identifier: Apache-2.0
#include "metal/Counters.h"
#include "foundation/Collections.h"
#include "foundation/String.h"
#include "metal/Device.h"
#include "metal/ErrorDomain.h"
#include "metal/Property.h"
#include "metal/Validation.h"
#include <Foundation/NSData.hpp>
#include <chrono>

namespace pewter::metal {
namespace {

class Counter final : public MTL::Counter {
public:
  const char *className() const override { return "MTLCounter"; }
  NS::String *name = nullptr;
};
class CounterSet final : public MTL::CounterSet {
public:
  const char *className() const override { return "MTLCounterSet"; }
  NS::String *name = nullptr;
  foundation::Ref<NS::Array> counters;
};

/// Notes the time at which a queue signals it.
class SampleEvent final : public device::Event {
public:
  SampleEvent(std::shared_ptr<std::vector<std::atomic<uint64_t>>> samples, size_t index)
      : samples_(std::move(samples)), index_(index) {}
  uint64_t value() const override { return 0; }
  void signal(uint64_t) override {
    using namespace std::chrono;
    (*samples_)[index_].store(static_cast<uint64_t>(
        duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count()));
  }
  void notify(uint64_t, std::function<void(uint64_t)>) override {}
  bool wait(uint64_t, uint64_t) override { return true; }

private:
  std::shared_ptr<std::vector<std::atomic<uint64_t>>> samples_;
  size_t index_;
};

MTL::CounterSet *timestampSet() {
  static auto *set = [] {
    auto *made = new CounterSet();
    made->name = MTL::CommonCounterSetTimestamp;
    auto *counter = new Counter();
    counter->name = MTL::CommonCounterTimestamp;
    const NS::Object *object = counter;
    made->counters = NS::TransferPtr(NS::Array::alloc()->init(&object, 1));
    return made;
  }();
  return set;
}

} // namespace

NS::detail::Root *CounterSampleBufferDescriptor::makeCopy() const {
  auto *copy = new CounterSampleBufferDescriptor();
  copy->counterSet = counterSet;
  copy->label = label;
  copy->sampleCount = sampleCount;
  copy->storageMode = storageMode;
  return copy;
}

void CounterSampleBuffer::recordSample(device::CommandStream &stream, NS::UInteger index) {
  auto event = std::make_shared<SampleEvent>(samples, index);
  auto *command = stream.append<device::EventCommand>(device::CommandKind::SignalEvent);
  command->event = event.get();
  command->value = 1;
  stream.keep(std::move(event));
}

} // namespace pewter::metal

using namespace pewter::metal;

PEWTER_ALLOC(CounterSampleBufferDescriptor)
PEWTER_LABEL(CounterSampleBufferDescriptor)
PEWTER_OBJECT(CounterSampleBufferDescriptor, MTL::CounterSet, counterSet, setCounterSet)
PEWTER_PLAIN(CounterSampleBufferDescriptor, NS::UInteger, sampleCount, setSampleCount)
PEWTER_VALUE(CounterSampleBufferDescriptor, StorageMode, storageMode, setStorageMode)

namespace MTL {

NS::String *Counter::name() const {
  return static_cast<const pewter::metal::Counter *>(this)->name;
}
NS::String *CounterSet::name() const {
  return static_cast<const pewter::metal::CounterSet *>(this)->name;
}
NS::Array *CounterSet::counters() const {
  return static_cast<const pewter::metal::CounterSet *>(this)->counters.get();
}

NS::Array *Device::counterSets() const { return NS::Array::array(timestampSet()); }
// A sample is a signal in the stream: a device with a queue of its own would see it at submission.
bool Device::supportsCounterSampling(CounterSamplingPoint samplingPoint) {
  return hasUnifiedMemory() && (samplingPoint == CounterSamplingPointAtStageBoundary ||
                                samplingPoint == CounterSamplingPointAtDispatchBoundary ||
                                samplingPoint == CounterSamplingPointAtBlitBoundary);
}
CounterSampleBuffer *Device::newCounterSampleBuffer(const CounterSampleBufferDescriptor *descriptor,
                                                    NS::Error **error) {
  auto *d = implOf(descriptor);
  auto refuse = [&](std::string text) {
    setError(error, ErrorDomain::Counter, {pewter::ErrorKind::Validation, std::move(text)});
    return nullptr;
  };
  if (!supportsCounterSampling(CounterSamplingPointAtStageBoundary))
    return refuse("Device::newCounterSampleBuffer: this device samples no counters.");
  if (d->counterSet.get() != timestampSet())
    return refuse("Device::newCounterSampleBuffer: counterSet is not the timestamp set of this "
                  "device, which has no other.");
  if (d->sampleCount == 0 || d->sampleCount > 4096)
    return refuse(
        fmt::format("Device::newCounterSampleBuffer: sampleCount ({}) is not between 1 and "
                    "4096.",
                    d->sampleCount));
  auto *buffer = new pewter::metal::CounterSampleBuffer();
  buffer->device = implOf(this);
  buffer->label = d->label;
  buffer->samples = std::make_shared<std::vector<std::atomic<uint64_t>>>(d->sampleCount);
  for (auto &sample : *buffer->samples)
    sample.store(CounterErrorValue, std::memory_order_relaxed);
  return buffer;
}

Device *CounterSampleBuffer::device() const { return implOf(this)->device; }
NS::String *CounterSampleBuffer::label() const {
  auto &text = implOf(this)->label;
  return text.empty() ? nullptr : pewter::foundation::makeString(text);
}
NS::UInteger CounterSampleBuffer::sampleCount() const { return implOf(this)->samples->size(); }
NS::Data *CounterSampleBuffer::resolveCounterRange(NS::Range range) {
  auto &samples = *implOf(this)->samples;
  if (range.Max() > samples.size() || range.Max() < range.location) {
    misuse("CounterSampleBuffer::resolveCounterRange: range ({} + {}) ends past the {} samples.",
           NS::UInteger(range.location), NS::UInteger(range.length), samples.size());
    return nullptr;
  }
  std::vector<uint64_t> values;
  for (NS::UInteger i = 0; i < range.length; ++i)
    values.push_back(samples[range.location + i].load());
  return NS::Data::data(values.data(), values.size() * sizeof(uint64_t));
}

} // namespace MTL
