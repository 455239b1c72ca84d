// SPDX-License-Identifier: Apache-2.0
//
// EncoderBase: what compute and blit encoders have in common: their command buffer, their label,
// and their end. The facet() of every MTL::CommandEncoder. Recycled by the queue, like command
// buffers.
#pragma once
#include "metal/CommandBuffer.h"
#include "metal/Resource.h"
#include <Metal/MTLCommandEncoder.hpp>
#include <Metal/MTLCounters.hpp>
#include <Metal/MTLFence.hpp>
#include <array>

namespace pewter::metal {

class CounterSampleBuffer;

class EncoderBase {
public:
  /// Opens the encoder on a buffer that canRecord().
  void open(CommandBuffer *commands, const char *name, device::EncoderKind kind, bool concurrent);
  void end();
  /// Ends without a trace in the stream: the buffer was committed too early.
  void abandon() {
    isOpen_ = false;
    stream = nullptr;
  }
  /// Gives up the buffer; called when the last reference is gone.
  void close();

  bool isOpen() const { return isOpen_; }
  bool retainsReferences() const { return retains_; }
  /// False, and a misuse, after endEncoding.
  bool checkOpen(const char *call) {
    if (isOpen_) [[likely]]
      return true;
    reportClosed(call);
    return false;
  }
  /// Reports a misuse of this encoder; its command buffer will fail. `call` is the method's name.
  template <class... Args>
  void misuse(const char *call, fmt::format_string<Args...> format, Args &&...args) {
    report(ErrorKind::Validation, call, fmt::format(format, std::forward<Args>(args)...));
  }
  void unsupported(const char *call, const char *why = "is not supported");

  /// Keeps what a recorded command names, unless the buffer is of the unretained kind.
  void keep(ResourceBase &resource) {
    if (retains_)
      resource.keepBy(*stream, serial_);
  }

  void pushDebugGroup(const NS::String *text);
  void popDebugGroup();
  void fence(device::CommandKind kind, const MTL::Fence *fence);
  void sampleCounters(const char *call, const MTL::CounterSampleBuffer *samples,
                      NS::UInteger index);
  /// The samples that a pass descriptor asks for; `end` is taken by end().
  void samplePass(const MTL::CounterSampleBuffer *samples, NS::UInteger start, NS::UInteger end);

  foundation::Ref<CommandBuffer> buffer;
  device::CommandStream *stream = nullptr; ///< The buffer's, while this is open.
  Device *owner = nullptr;                 ///< The buffer's device.
  std::string label;

protected:
  void report(ErrorKind kind, const char *call, std::string text);

private:
  void reportClosed(const char *call);
  std::string describe() const;

  const char *name_ = ""; ///< "ComputeCommandEncoder"
  uint64_t serial_ = 0;
  bool isOpen_ = false, retains_ = true;
  uint32_t debugDepth_ = 0;
  device::BeginEncoderCommand *begin_ = nullptr;
  size_t record_ = 0; ///< Index in the buffer's encoderRecords.

  struct EndSample {
    foundation::Ref<MTL::CounterSampleBuffer> samples;
    NS::UInteger index;
  };
  std::vector<EndSample> endSamples_;
};

inline EncoderBase *baseOf(const MTL::CommandEncoder *encoder) {
  return static_cast<EncoderBase *>(const_cast<MTL::CommandEncoder *>(encoder)->facet());
}

} // namespace pewter::metal
