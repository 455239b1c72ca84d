// SPDX-License-Identifier: Apache-2.0
//
// Logs. Kernels write none yet: a LogState keeps its handlers and calls none.
// Tested by tests/api/Log_test.cpp.
#include "metal/FunctionLog.h"
#include "foundation/Collections.h"
#include "metal/Device.h"
#include "metal/ErrorDomain.h"
#include "metal/Property.h"
#include <Metal/MTLLogState.hpp>
#include <mutex>

namespace MTL {
/// Here and not with the others, so that the header need not be included there.
NS::ErrorDomain const LogStateErrorDomain = NS::detail::constantString("MTLLogStateErrorDomain");
} // namespace MTL

namespace pewter::metal {

class LogStateDescriptor final : public MTL::LogStateDescriptor {
public:
  const char *className() const override { return "MTLLogStateDescriptor"; }
  Root *makeCopy() const override {
    auto *copy = new LogStateDescriptor();
    copy->bufferSize = bufferSize;
    copy->level = level;
    return copy;
  }
  NS::Integer bufferSize = 1024;
  MTL::LogLevel level = MTL::LogLevelDebug;
};

class LogState final : public MTL::LogState {
public:
  const char *className() const override { return "MTLLogState"; }
  std::mutex mutex;
  std::vector<MTL::LogHandlerFunction> handlers;
};

namespace {

class LogContainer final : public MTL::LogContainer, public foundation::EnumerationSource {
public:
  const char *className() const override { return "MTLLogContainer"; }
  NS::Object *next() override { return nullptr; }
};

LogStateDescriptor *implOf(const MTL::LogStateDescriptor *descriptor) {
  return static_cast<LogStateDescriptor *>(const_cast<MTL::LogStateDescriptor *>(descriptor));
}

} // namespace

MTL::LogContainer *makeEmptyLog() { return foundation::autoreleased(new LogContainer()); }

} // namespace pewter::metal

using namespace pewter::metal;

PEWTER_ALLOC(LogStateDescriptor)
PEWTER_PLAIN(LogStateDescriptor, NS::Integer, bufferSize, setBufferSize)
PEWTER_VALUE(LogStateDescriptor, LogLevel, level, setLevel)

namespace MTL {

LogState *Device::newLogState(const LogStateDescriptor *descriptor, NS::Error **error) {
  if (descriptor && implOf(descriptor)->bufferSize < 1024) {
    setError(error, ErrorDomain::LogState,
             {pewter::ErrorKind::Validation,
              fmt::format("Device::newLogState: bufferSize ({}) is below 1024.",
                          implOf(descriptor)->bufferSize)});
    return nullptr;
  }
  return new pewter::metal::LogState();
}
void LogState::addLogHandler(const LogHandlerFunction &handler) {
  auto *state = static_cast<pewter::metal::LogState *>(this);
  std::lock_guard lock(state->mutex);
  state->handlers.push_back(handler);
}

} // namespace MTL
