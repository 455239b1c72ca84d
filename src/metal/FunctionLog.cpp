// SPDX-License-Identifier: Apache-2.0
//
// A log state's sink is shared with the command streams that carry it: messages may come after the
// program has let go of the state. Handlers run on the thread of the kernel that logs, one at a time.
// Tested by tests/api/KernelLog_test.cpp.
#include "metal/FunctionLog.h"
#include "foundation/Collections.h"
#include "foundation/String.h"
#include "metal/Device.h"
#include "metal/ErrorDomain.h"
#include "metal/Property.h"
#include <Metal/MTLLogState.hpp>
#include <cstdio>
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

namespace {

struct Handlers {
  std::mutex mutex;
  MTL::LogLevel least = MTL::LogLevelDebug;
  std::vector<MTL::LogHandlerFunction> list;

  void deliver(const device::LogMessage &message) {
    if (message.level < static_cast<uint32_t>(least))
      return;
    std::lock_guard lock(mutex);
    if (list.empty()) {
      std::fprintf(stderr, "pewter: kernel \"%s\": %s\n", message.kernel.c_str(),
                   message.text.c_str());
      return;
    }
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    for (auto &handler : list)
      handler(foundation::makeString(message.subsystem), foundation::makeString(message.category),
              static_cast<MTL::LogLevel>(message.level), foundation::makeString(message.text));
  }
};

class LogState final : public MTL::LogState {
public:
  const char *className() const override { return "MTLLogState"; }
  std::shared_ptr<Handlers> handlers = std::make_shared<Handlers>();
  std::shared_ptr<const device::LogSink> sink = std::make_shared<const device::LogSink>(
      [handlers = handlers](const device::LogMessage &message) { handlers->deliver(message); });
};

class LogContainer final : public MTL::LogContainer, public foundation::EnumerationSource {
public:
  const char *className() const override { return "MTLLogContainer"; }
  NS::Object *next() override { return nullptr; }
};

LogStateDescriptor *implOf(const MTL::LogStateDescriptor *descriptor) {
  return static_cast<LogStateDescriptor *>(const_cast<MTL::LogStateDescriptor *>(descriptor));
}

} // namespace

std::shared_ptr<const device::LogSink> sinkOf(const MTL::LogState *state) {
  return static_cast<const LogState *>(state)->sink;
}

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
  auto *state = new pewter::metal::LogState();
  if (descriptor)
    state->handlers->least = implOf(descriptor)->level;
  return state;
}
void LogState::addLogHandler(const LogHandlerFunction &handler) {
  auto *state = static_cast<pewter::metal::LogState *>(this);
  std::lock_guard lock(state->handlers->mutex);
  state->handlers->list.push_back(handler);
}

} // namespace MTL
