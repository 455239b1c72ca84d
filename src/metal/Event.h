// SPDX-License-Identifier: Apache-2.0
//
// Event: one class behind MTL::Event and MTL::SharedEvent.
#pragma once
#include "device/Device.h"
#include "foundation/Object.h"
#include "metal/Background.h"
#include <Metal/MTLEvent.hpp>
#include <string>

namespace pewter::metal {

class Device;

class Event final : public MTL::SharedEvent {
public:
  Event(Device *device, std::shared_ptr<device::Event> backend)
      : device(device), backend(std::move(backend)) {}
  const char *className() const override { return "MTLSharedEvent"; }

  Device *device;
  std::shared_ptr<device::Event> backend;
  std::string label;
};

class SharedEventListener final : public MTL::SharedEventListener {
public:
  const char *className() const override { return "MTLSharedEventListener"; }
  Executor executor;
  dispatch_queue_t queue = nullptr;
};

class SharedEventHandle final : public MTL::SharedEventHandle {
public:
  const char *className() const override { return "MTLSharedEventHandle"; }
  foundation::Ref<Event> event;
};

inline Event *implOf(const MTL::Event *event) {
  return static_cast<Event *>(static_cast<MTL::SharedEvent *>(const_cast<MTL::Event *>(event)));
}
inline SharedEventListener *implOf(const MTL::SharedEventListener *listener) {
  return static_cast<SharedEventListener *>(const_cast<MTL::SharedEventListener *>(listener));
}
inline SharedEventHandle *implOf(const MTL::SharedEventHandle *handle) {
  return static_cast<SharedEventHandle *>(const_cast<MTL::SharedEventHandle *>(handle));
}

} // namespace pewter::metal
