// SPDX-License-Identifier: Apache-2.0
// Tested by tests/api/Event_test.cpp.
#include "metal/Event.h"
#include "metal/Device.h"
#include "metal/Property.h"
#include "metal/Validation.h"

using namespace pewter::metal;
using pewter::foundation::share;

PEWTER_LABEL(Event)

namespace MTL {

Device *Event::device() const { return implOf(this)->device; }

Event *Device::newEvent() { return newSharedEvent(); }
SharedEvent *Device::newSharedEvent() {
  auto *device = implOf(this);
  return new pewter::metal::Event(device, device->backend->createEvent());
}
SharedEvent *Device::newSharedEvent(const SharedEventHandle *sharedEventHandle) {
  auto &event = implOf(sharedEventHandle)->event;
  if (!event) {
    misuse("Device::newSharedEvent: the handle names no event.");
    return nullptr;
  }
  return event->retain();
}

SharedEventListener *SharedEventListener::alloc() {
  return new pewter::metal::SharedEventListener();
}
SharedEventListener *SharedEventListener::init() { return this; }
SharedEventListener *SharedEventListener::init(const dispatch_queue_t dispatchQueue) {
  implOf(this)->queue = dispatchQueue;
  return this;
}
SharedEventListener *SharedEventListener::sharedListener() {
  static auto *listener = alloc()->init();
  return listener;
}
dispatch_queue_t SharedEventListener::dispatchQueue() const { return implOf(this)->queue; }

SharedEventHandle *SharedEventHandle::alloc() { return new pewter::metal::SharedEventHandle(); }
SharedEventHandle *SharedEventHandle::init() { return this; }
NS::String *SharedEventHandle::label() const {
  auto &event = implOf(this)->event;
  return event ? event->MTL::Event::label() : nullptr;
}

SharedEventHandle *SharedEvent::newSharedEventHandle() {
  auto *handle = new pewter::metal::SharedEventHandle();
  handle->event = share(implOf(this));
  return handle;
}
void SharedEvent::notifyListener(const SharedEventListener *listener, uint64_t value,
                                 const SharedEventNotificationFunction &function) {
  if (!listener || !function) {
    misuse("SharedEvent::notifyListener: {} is null.", listener ? "the function" : "listener");
    return;
  }
  // The event and the listener live until the function has run.
  implOf(this)->backend->notify(value,
                                [event = share(implOf(this)), listener = share(implOf(listener)),
                                 function](uint64_t reached) {
                                  listener->executor.run([event, listener, function, reached] {
                                    function(event.get(), reached);
                                  });
                                });
}
uint64_t SharedEvent::signaledValue() const { return implOf(this)->backend->value(); }
void SharedEvent::setSignaledValue(uint64_t signaledValue) {
  implOf(this)->backend->signal(signaledValue);
}
bool SharedEvent::waitUntilSignaledValue(uint64_t value, uint64_t milliseconds) {
  return implOf(this)->backend->wait(value, milliseconds);
}

} // namespace MTL
