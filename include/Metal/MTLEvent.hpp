// SPDX-License-Identifier: Apache-2.0
//
// Event and SharedEvent: counters that order command buffers of different queues, and the host.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "../dispatch/dispatch.h"
#include "MTLDefines.hpp"
#include <cstdint>
#include <functional>

namespace MTL {

class Device;
class Event;
class SharedEvent;
class SharedEventHandle;
class SharedEventListener;

class SharedEvent;
using SharedEventNotificationFunction =
    std::function<void(SharedEvent *pEvent, std::uint64_t value)>;
#ifdef __BLOCKS__
using SharedEventNotificationBlock = void (^)(SharedEvent *pEvent, std::uint64_t value);
#endif

/// A counter that command buffers signal and wait for.
class _MTL_EXPORT Event : public NS::Referencing<Event> {
public:
  Device *device() const;
  NS::String *label() const;
  void setLabel(const NS::String *label);
};

/// Runs notification functions one at a time, in the order their values are reached.
class _MTL_EXPORT SharedEventListener : public NS::Referencing<SharedEventListener> {
public:
  static SharedEventListener *alloc();
  static SharedEventListener *sharedListener();
  SharedEventListener *init();
  SharedEventListener *init(const dispatch_queue_t dispatchQueue);
  dispatch_queue_t dispatchQueue() const;
};

/// An event that the host reads, sets and waits for too.
class _MTL_EXPORT SharedEvent : public NS::Referencing<SharedEvent, Event> {
public:
  SharedEventHandle *newSharedEventHandle();
  void notifyListener(const SharedEventListener *listener, uint64_t value,
                      const SharedEventNotificationFunction &function);
  uint64_t signaledValue() const;
  void setSignaledValue(uint64_t signaledValue);
  bool waitUntilSignaledValue(uint64_t value, uint64_t milliseconds);

#ifdef __BLOCKS__
  void notifyListener(const SharedEventListener *listener, uint64_t value,
                      SharedEventNotificationBlock block) {
    notifyListener(listener, value,
                   SharedEventNotificationFunction(
                       NS::detail::CopiedBlock<void(SharedEvent *, std::uint64_t)>(block)));
  }
#endif
};

/// Names a shared event; newSharedEvent(handle) gives the event back.
class _MTL_EXPORT SharedEventHandle : public NS::SecureCoding<SharedEventHandle> {
public:
  static SharedEventHandle *alloc();
  SharedEventHandle *init();
  NS::String *label() const;
};

} // namespace MTL
