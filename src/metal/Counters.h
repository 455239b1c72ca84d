// SPDX-License-Identifier: Apache-2.0
//
// Counters: the timestamp set. A sample is taken when the stream reaches it: the buffer's samples
// are device events, whose signalling notes the time.
#pragma once
#include "device/Device.h"
#include "foundation/Object.h"
#include <Metal/MTLCounters.hpp>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace pewter::metal {

class Device;

inline constexpr NS::UInteger kPassSampleAttachments = 4;

class CounterSampleBufferDescriptor final : public MTL::CounterSampleBufferDescriptor {
public:
  const char *className() const override { return "MTLCounterSampleBufferDescriptor"; }
  Root *makeCopy() const override;
  foundation::Ref<MTL::CounterSet> counterSet;
  std::string label;
  NS::UInteger sampleCount = 0;
  MTL::StorageMode storageMode = MTL::StorageModeShared;
};

class CounterSampleBuffer final : public MTL::CounterSampleBuffer {
public:
  const char *className() const override { return "MTLCounterSampleBuffer"; }

  /// Records that sample `index` is taken when the stream comes here.
  void recordSample(device::CommandStream &stream, NS::UInteger index);

  Device *device = nullptr;
  std::string label;
  /// Nanoseconds; CounterErrorValue until sampled.
  std::shared_ptr<std::vector<std::atomic<uint64_t>>> samples;
};

inline CounterSampleBuffer *implOf(const MTL::CounterSampleBuffer *buffer) {
  return static_cast<CounterSampleBuffer *>(const_cast<MTL::CounterSampleBuffer *>(buffer));
}
inline CounterSampleBufferDescriptor *implOf(const MTL::CounterSampleBufferDescriptor *d) {
  return static_cast<CounterSampleBufferDescriptor *>(
      const_cast<MTL::CounterSampleBufferDescriptor *>(d));
}

} // namespace pewter::metal
